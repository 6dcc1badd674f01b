//! The members of an event that the router or Karpenter reads, and the shapes in which Karpenter's parsers accept them.
//!
//! Karpenter's JSON parser takes names in any case, and uses the last of several members with the same name. Other
//! parsers differ, so an event with such a member is ambiguous: the router must not look up one instance but forward
//! another.
//!
//! Source: `pkg/controllers/interruption/messages` of aws/karpenter-provider-aws, the same from v0.19 to v1.14.

use serde_json::value::RawValue;

use super::json::{self, Members};
use crate::model::Signal;

/// The shape of a value. Karpenter discards an event if a value has another shape.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'s> {
    /// A value that the decoder evaluates itself.
    Judged,
    Text,
    Texts,
    /// A list of objects whose `latestDescription` and `language` are strings.
    Descriptions,
    /// An object that can have these members and any others.
    Object(&'s [(&'static str, Self)]),
    List(&'s Self),
}

/// Whether one of these members appears more than once, or with its name in another case, or contains such a member.
pub(super) fn is_ambiguous(members: &Members<'_>, known: &[(&str, Shape<'_>)]) -> bool {
    known.iter().any(|(name, shape)| {
        let mut written = members.iter().filter(|member| member.folds_to(name));
        let first = written.next();
        first.is_some_and(|member| member.name != *name || shape.is_ambiguous(member.value)) || written.next().is_some()
    })
}

const DESCRIPTION: &[(&str, Shape<'_>)] = &[("latestDescription", Shape::Text), ("language", Shape::Text)];

const HEALTH: &[(&str, Shape<'_>)] = &[
    ("eventArn", Shape::Text),
    ("eventTypeCode", Shape::Text),
    ("service", Shape::Judged),
    ("eventDescription", Shape::Descriptions),
    ("startTime", Shape::Text),
    ("endTime", Shape::Text),
    ("eventTypeCategory", Shape::Judged),
    ("affectedEntities", Shape::List(&Shape::Object(&[("entityValue", Shape::Judged)]))),
    ("affectedAccount", Shape::Judged),
    ("eventRegion", Shape::Judged),
];

pub(super) fn members_of_detail(signal: Signal) -> &'static [(&'static str, Shape<'static>)] {
    match signal {
        Signal::SpotInterruption | Signal::CapacityReservation => {
            &[("instance-id", Shape::Judged), ("instance-action", Shape::Text)]
        }
        Signal::StateChange => &[("instance-id", Shape::Judged), ("state", Shape::Judged)],
        Signal::ScheduledChange => HEALTH,
        Signal::Rebalance => &[("instance-id", Shape::Judged)],
        Signal::Probe => &[("cluster", Shape::Judged)],
        Signal::Heartbeat => &[],
    }
}

pub(super) fn members_of_envelope(signal: Signal) -> [(&'static str, Shape<'static>); 9] {
    [
        ("account", Shape::Judged),
        ("detail-type", Shape::Judged),
        ("id", Shape::Text),
        ("region", Shape::Judged),
        ("resources", Shape::Texts),
        ("source", Shape::Judged),
        ("time", Shape::Judged),
        ("version", Shape::Judged),
        ("detail", Shape::Object(members_of_detail(signal))),
    ]
}

impl Shape<'_> {
    fn is_ambiguous(self, value: &RawValue) -> bool {
        let is_ambiguous = |known| Members::parse(value.get()).is_some_and(|members| is_ambiguous(&members, known));
        match self {
            Self::Judged | Self::Text | Self::Texts => false,
            Self::Descriptions => Shape::List(&Shape::Object(DESCRIPTION)).is_ambiguous(value),
            Self::Object(known) => is_ambiguous(known),
            Self::List(element) => json::elements_or_one(value).into_iter().any(|value| element.is_ambiguous(value)),
        }
    }

    /// Whether Karpenter's parsers accept a value. Go treats `null` as no value.
    pub(super) fn fits(self, value: &RawValue) -> bool {
        let fits = |description: &RawValue| {
            let members = Members::parse(description.get());
            let is_text =
                |members: Members<'_>| DESCRIPTION.iter().all(|(name, _)| members.get(name).is_none_or(is_text));
            is_null(description) || members.is_some_and(is_text)
        };
        match self {
            Self::Judged | Self::Object(_) | Self::List(_) => true,
            Self::Text => is_text(value),
            Self::Texts => all(value, is_text),
            Self::Descriptions => all(value, fits),
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
