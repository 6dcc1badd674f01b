//! The members of an event that Karpenter's parsers read, and their shapes.
//!
//! Source: `pkg/controllers/interruption/messages` of aws/karpenter-provider-aws, the same from v0.19 to v1.14.

use serde_json::value::RawValue;

use super::json::{self, Members};
use crate::model::signal::Signal;

/// The shape of a value. Karpenter discards an event in which a value has another shape.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'s> {
    /// A value that the decoder judges by itself.
    Judged,
    /// A string.
    Text,
    /// A list of strings.
    Texts,
    /// A list of objects whose `latestDescription` and `language` are strings.
    Descriptions,
    /// An object that may have these members, and any others.
    Object(&'s [(&'static str, Self)]),
    /// A list of values of one shape.
    List(&'s Self),
}

const HEALTH: &[(&str, Shape<'_>)] = &[
    ("eventArn", Shape::Text),
    ("eventTypeCode", Shape::Text),
    ("service", Shape::Judged),
    ("eventDescription", Shape::Descriptions),
    ("startTime", Shape::Text),
    ("endTime", Shape::Text),
    ("eventTypeCategory", Shape::Judged),
    (
        "affectedEntities",
        Shape::List(&Shape::Object(&[("entityValue", Shape::Judged)])),
    ),
];

/// The members of `detail`.
pub(super) fn detail(signal: Signal) -> &'static [(&'static str, Shape<'static>)] {
    match signal {
        Signal::SpotInterruption | Signal::CapacityReservation => {
            &[("instance-id", Shape::Judged), ("instance-action", Shape::Text)]
        }
        Signal::StateChange => &[("instance-id", Shape::Judged), ("state", Shape::Judged)],
        Signal::ScheduledChange => HEALTH,
        Signal::Rebalance => &[("instance-id", Shape::Judged)],
        Signal::Probe => &[("cluster", Shape::Judged)],
    }
}

/// The members of the envelope; those of `detail` are known only for a signal.
pub(super) fn envelope(signal: Option<Signal>) -> [(&'static str, Shape<'static>); 9] {
    [
        ("account", Shape::Judged),
        ("detail-type", Shape::Judged),
        ("id", Shape::Text),
        ("region", Shape::Judged),
        ("resources", Shape::Texts),
        ("source", Shape::Judged),
        ("time", Shape::Judged),
        ("version", Shape::Judged),
        (
            "detail",
            signal.map_or(Shape::Judged, |signal| Shape::Object(detail(signal))),
        ),
    ]
}

impl Shape<'_> {
    /// Whether Karpenter's parsers accept a value. Go takes `null` as no value.
    pub(super) fn fits(&self, value: &RawValue) -> bool {
        match self {
            Self::Judged | Self::Object(_) | Self::List(_) => true,
            Self::Text => is_text(value),
            Self::Texts => all(value, is_text),
            Self::Descriptions => all(value, |description| {
                is_null(description)
                    || Members::parse(description.get()).is_some_and(|members| {
                        members.iter().all(|member| {
                            let is_read = ["latestDescription", "language"]
                                .iter()
                                .any(|name| member.folds_to(name));
                            !is_read || is_text(member.value)
                        })
                    })
            }),
        }
    }
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

fn is_text(value: &RawValue) -> bool {
    is_null(value) || value.get().starts_with('"')
}

fn all(value: &RawValue, fits: impl Fn(&RawValue) -> bool) -> bool {
    is_null(value) || json::elements(value).is_some_and(|elements| elements.into_iter().all(fits))
}
