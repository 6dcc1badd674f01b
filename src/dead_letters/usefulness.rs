//! Whether an event is still useful to Karpenter.

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde_json::Value;

use crate::model::signal::Signal;

/// How long a Spot warning is useful, in milliseconds: EC2 sends it two minutes before it reclaims the instance.
const SPOT_WARNING: i64 = 120_000;

/// Whether an event is still useful to Karpenter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Usefulness {
    /// It is, until this time in milliseconds of the Unix epoch.
    Until(i64),
    /// Hardly, or no longer; why.
    Little(&'static str),
    /// Unknown; why.
    Unknown(&'static str),
}

impl Usefulness {
    /// Whether an event of this kind is useful at the time `now`, in milliseconds of the Unix epoch.
    pub(super) fn of(signal: Option<Signal>, event: &Value, now: i64) -> Self {
        let until = |end: Option<i64>, over, unknown| match end {
            Some(end) if end > now => Self::Until(end),
            Some(_) => Self::Little(over),
            None => Self::Unknown(unknown),
        };
        match signal {
            None => Self::Little("Karpenter does not act on this kind of event"),
            Some(Signal::SpotInterruption) => until(
                millis(&event["time"], Format::DateTimeWithOffset).map(|time| time.saturating_add(SPOT_WARNING)),
                "the two minutes of the Spot warning are over",
                "the event has no time",
            ),
            Some(Signal::CapacityReservation) => Self::Unknown("the event does not say when EC2 reclaims the instance"),
            // AWS Health writes `Sat, 05 Dec 2026 05:00:00 GMT`.
            Some(Signal::ScheduledChange) => until(
                ["endTime", "startTime"]
                    .iter()
                    .find_map(|name| millis(&event["detail"][name], Format::HttpDate)),
                "the time of the scheduled change is over",
                "the event does not say when the change happens",
            ),
            Some(Signal::StateChange) => Self::Little("Karpenter also finds a stopped instance without the event"),
            Some(Signal::Rebalance) => Self::Little("Karpenter only reports it"),
            Some(Signal::Probe) => Self::Little("it is a probe of kibus"),
        }
    }
}

fn millis(value: &Value, format: Format) -> Option<i64> {
    DateTime::from_str(value.as_str()?, format).ok()?.to_millis().ok()
}
