//! Observations at one moment, or over the last day. They are shown, but never compared by a plan.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::name::{ClusterName, QueueName};
use super::notation::as_time;
use super::router_line::{DELIVERED, DROPPED, RouterLine};
use super::signal::Signal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Queue(Depth),
    /// The status of an event source mapping.
    Mapping(MappingState),
    /// The status of the version that an alias points to.
    Version(VersionState),
    Alarm(AlarmState),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlarmState {
    pub fires: bool,
    /// Since when it is in its state, in seconds of the Unix epoch.
    pub since: Option<u64>,
}

/// How many messages a queue holds. SQS counts approximately, and does not report their age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Depth {
    // Messages that can be received.
    pub waiting: u64,
    // Messages that were received and not deleted yet.
    pub in_flight: u64,
}

impl Depth {
    pub fn messages(self) -> u64 {
        self.waiting.saturating_add(self.in_flight)
    }
}

/// The event source mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "MappingObject"))]
pub struct MappingState {
    // Its state as Lambda names it, like `Enabled`.
    pub state: String,
    #[serde(skip)]
    pub reason: Option<String>,
}

impl MappingState {
    /// Whether the state is final: `Enabled` and `Disabled` are, all others pass.
    pub fn has_settled(&self) -> bool {
        matches!(self.state.as_str(), "Enabled" | "Disabled")
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionState {
    pub version: Option<u64>,
    /// Its state as Lambda names it, like `Active`.
    pub state: String,
    pub reason: Option<String>,
}

impl VersionState {
    /// Whether it can be invoked. A version that has not been invoked for weeks is `Inactive`, and an invocation activates it.
    pub fn can_run(&self) -> bool {
        matches!(self.state.as_str(), "Active" | "Inactive" | "")
    }
}

/// The activity of a queue in the last day, from the metrics that SQS reports to CloudWatch while a queue is active: for up to six
/// hours after a call or a message (SQS developer guide, "Monitoring queues using CloudWatch").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueActivity {
    pub sent: u64,
    /// Receives with or without messages.
    pub receives: u64,
    pub deleted: u64,
    /// The number of five-minute periods with so many empty receives that something polled the queue continuously.
    pub polled: u64,
    /// The receives since an hour ago; `None` without data for the whole hour.
    pub receives_of_last_hour: Option<u64>,
    /// The start of the newest period with a receive, in seconds of the Unix epoch.
    pub last_receive: Option<u64>,
}

/// The metrics of a hub's last day. Times are in seconds of the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HubActivity {
    /// The last heartbeat that the router counted, in a metric that others may also write.
    pub heartbeat: Option<u64>,
    /// When SQS counted a message sent to the probe queue: only the router can send one.
    pub sent_to_probe_queue: Option<u64>,
    /// The longest time from an event to its delivery, in milliseconds.
    pub slowest: Option<i64>,
}

/// The newest events of each cluster in a router's log: one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastEvents {
    /// The newest first.
    pub clusters: BTreeMap<ClusterName, Vec<LoggedEvent>>,
    /// Whether the page has all events of the last day. If not, a cluster without an event may have had one.
    pub complete: bool,
}

/// An event in the log of the router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "LastEventObject"))]
pub struct LoggedEvent {
    /// When the router wrote it, in UTC.
    // In milliseconds of the Unix epoch.
    #[serde(rename = "time", serialize_with = "as_time")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub logged: i64,
    pub signal: &'static str,
    /// `delivered` or `dropped`.
    pub outcome: &'static str,
    pub instances: Vec<String>,
    /// Milliseconds from the event to its delivery.
    pub delay: Option<i64>,
}

impl LastEvents {
    /// Reads a page of log lines, each with its time in milliseconds. If it is not the whole log, it is used only if
    /// the newest lines come first.
    pub fn read<'a>(lines: impl IntoIterator<Item = (i64, &'a str)>, complete: bool) -> Self {
        let mut all: Vec<(i64, &str)> = lines.into_iter().collect();
        if !complete && !all.is_sorted_by(|one, next| one.0 >= next.0) {
            return Self::default();
        }
        all.sort_by_key(|(logged, _)| std::cmp::Reverse(*logged));
        let mut clusters: BTreeMap<ClusterName, Vec<LoggedEvent>> = BTreeMap::new();
        for (logged, line) in all {
            let Some(line) = RouterLine::read(line) else { continue };
            let outcome = [DELIVERED, DROPPED].into_iter().find(|outcome| line.message == *outcome);
            let signal = Signal::ALL.into_iter().find(|signal| line.signal.as_deref() == Some(signal.slug()));
            let signal = signal.filter(|signal| signal.names_instances());
            if let (Some(outcome), Some(signal), Ok(cluster)) = (outcome, signal, line.cluster.parse()) {
                let instances = line.instances.iter().map(|id| id.to_string()).collect();
                let event = LoggedEvent {
                    logged,
                    signal: signal.slug(),
                    outcome,
                    instances,
                    delay: line.delay.filter(|delay| *delay >= 0),
                };
                clusters.entry(cluster).or_default().push(event);
            }
        }
        Self { clusters, complete }
    }
}

/// Reasons for drops in which a Karpenter may miss an event, as written in the router's log.
pub const REASONS: [&str; 2] = ["unregistered", "queue not ours"];

/// The drops of the last day in a router's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DroppedClusters {
    pub clusters: BTreeMap<ClusterName, DroppedEvents>,
    /// Whether all of the log was read.
    pub complete: bool,
}

/// The events of one cluster that were dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DroppedEvents {
    /// The number; an event about several instances counts once for each.
    pub count: u64,
    /// The reason for the last drop.
    pub reason: &'static str,
}

impl DroppedClusters {
    /// Reads log lines, oldest first. Lines about something else do not count.
    pub fn read<'a>(lines: impl IntoIterator<Item = &'a str>, complete: bool) -> Self {
        let mut clusters: BTreeMap<ClusterName, DroppedEvents> = BTreeMap::new();
        for line in lines {
            let Some(line) = RouterLine::read(line).filter(|line| line.message == DROPPED) else {
                continue;
            };
            let reason = REASONS.into_iter().find(|reason| line.reason.as_deref() == Some(reason));
            if let (Some(reason), Ok(cluster)) = (reason, line.cluster.parse()) {
                let events = clusters.entry(cluster).or_default();
                events.count = events.count.saturating_add(line.items.max(1) as u64);
                events.reason = reason;
            }
        }
        Self { clusters, complete }
    }
}

/// How long all probes of a hub may take.
pub const PROBE_LIMIT: Duration = Duration::from_secs(150);
/// How long a probe of the bus may take: new rules take effect within a minute; then the function starts, and retries.
pub const BUS_LIMIT: Duration = Duration::from_secs(120);
/// The pause before a probe of the bus is sent again: a new rule misses the first events.
pub const RESEND: Duration = Duration::from_secs(10);

/// The maximum number of messages per receive (SQS API reference, `ReceiveMessage`).
pub const RECEIVED_AT_ONCE: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The cluster that was probed; `None` for the bus itself.
    pub cluster: Option<ClusterName>,
    pub queue: QueueName,
    pub took: Duration,
    pub sent: u32,
    pub result: ProbeResult,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    Delivered,
    /// It did not arrive in time.
    Lost,
    /// The router did not deliver it; its reason.
    NotDelivered(String),
    Read,
    NotRead,
    Unknown(String),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_drops_of_clusters_that_are_not_on_the_bus_count_and_none_without_bound() {
        let line = |message: &str, reason: &str, cluster: &str, items: u64| {
            json!({"message": message, "reason": reason, "cluster": cluster, "items": items}).to_string()
        };
        let lines = [
            line("dropped", "unregistered", "lost", 2),
            line("dropped", "queue not ours", "lost", 1),
            line("dropped", "unregistered", "claimed", u64::MAX),
            line("dropped", "unregistered", "claimed", u64::MAX - 2),
            line("retried", "unregistered", "retried", 1),
            line("dropped", "too large", "large", 1),
            line("dropped", "unregistered", "", 1),
            line("dropped", "unregistered", "no/cluster\u{1b}", 1),
            "START RequestId: 1".to_owned(),
        ];
        let read = DroppedClusters::read(lines.iter().map(String::as_str), true);
        let lost = DroppedEvents { count: 3, reason: "queue not ours" };
        let claimed = DroppedEvents { count: 200_000, reason: "unregistered" };
        let expected = [("lost", lost), ("claimed", claimed)].map(|(name, events)| (name.parse().unwrap(), events));
        assert_eq!(read.clusters, expected.into());
    }
}
