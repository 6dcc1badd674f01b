//! How Karpenter's parsers read an event: the members that they read, the shapes of these, and a message as the one reading
//! in which every such member is there once, under its exact name.
//!
//! Karpenter's JSON parser takes keys in any case, and of several members with the same key it uses the last. Other
//! parsers differ, so the router must not look up one instance and forward another.
//!
//! Source: `pkg/controllers/interruption/messages` of aws/karpenter-provider-aws, the same from v0.19 to v1.14.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::json::{self, Members};
use crate::model::Signal;

/// The largest message that SQS takes, in bytes.
pub(super) const LARGEST: usize = 1024 * 1024;

/// The text of an event that has only one reading.
#[derive(Debug)]
pub struct EventText<'a>(Cow<'a, str>);

/// The shape of a value. Karpenter discards an event in which a value has another shape.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'s> {
    /// A value that the decoder judges by itself.
    Judged,
    Text,
    Texts,
    /// A list of objects whose `latestDescription` and `language` are strings.
    Descriptions,
    /// An object that may have these members, and any others.
    Object(&'s [(&'static str, Self)]),
    List(&'s Self),
}

impl<'a> EventText<'a> {
    /// Rewrites a message as Karpenter's parsers read it. What has one reading, or is no JSON object, stays byte for byte.
    pub fn read(body: &'a str) -> Self {
        let rewritten = if body.len() > LARGEST { None } else { rewrite(body) };
        Self(rewritten.map_or(Cow::Borrowed(body), Cow::Owned))
    }

    /// The one reading.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the message had more than one reading.
    pub(super) fn is_rewritten(&self) -> bool {
        matches!(self.0, Cow::Owned(_))
    }
}

fn rewrite(body: &str) -> Option<String> {
    let envelope = Members::parse(body)?;
    let last = |name| {
        let mut members = envelope.iter().rev();
        let member = members.find(|member| member.folds_to(name) && member.value.get() != "null")?;
        json::text(member.value)
    };
    let signal = last("source").and_then(|source| Signal::of(&source, &last("detail-type")?));
    merge(&[body], &Shape::Object(&members_of_envelope(signal)))
}

/// The one value that Karpenter reads of values that were written for the same member; `None` if a single one can stay.
fn merge(written: &[&str], shape: &Shape<'_>) -> Option<String> {
    let merged = match shape {
        Shape::Judged | Shape::Text | Shape::Texts | Shape::Descriptions => None,
        Shape::Object(known) => merge_objects(written, known),
        Shape::List(element) => merge_lists(written, element),
    };
    if merged.is_some() || written.len() == 1 {
        return merged;
    }
    // Go takes `null` as no value.
    let last = written.iter().rfind(|text| **text != "null").or(written.last());
    last.map(|text| (*text).to_owned())
}

/// Go decodes every object into the same struct, so a member that the later one lacks stays.
fn merge_objects(written: &[&str], known: &[(&str, Shape<'_>)]) -> Option<String> {
    let objects: Vec<Members<'_>> = written.iter().filter_map(|text| Members::parse(text)).collect();
    let mut changed = written.len() > 1;
    let mut others = String::new();
    let mut values: Vec<Vec<&str>> = vec![Vec::new(); known.len()];
    for member in objects.iter().flat_map(Members::iter) {
        match known.iter().position(|(key, _)| member.folds_to(key)) {
            Some(place) => {
                changed |= member.name != known[place].0 || !values[place].is_empty();
                values[place].push(member.value.get());
            }
            None => others.push_str(&format!("{}:{},", member.key, member.value.get())),
        }
    }
    let mut read = String::new();
    for ((key, shape), values) in known.iter().zip(values).filter(|(_, values)| !values.is_empty()) {
        let merged = merge(&values, shape);
        changed |= merged.is_some();
        let value = merged.as_deref().unwrap_or(values[0]);
        read.push_str(&format!("{}:{value},", json::quoted(key)));
    }
    let members = others + &read;
    (changed && !objects.is_empty()).then(|| format!("{{{}}}", members.trim_end_matches(',')))
}

/// Go decodes every list into one slice: an element keeps what its place had before, until an empty list or `null`.
fn merge_lists(written: &[&str], element: &Shape<'_>) -> Option<String> {
    let mut changed = written.len() > 1;
    let mut slice: Vec<Vec<&str>> = Vec::new();
    let mut length = None;
    for text in written {
        let elements = match serde_json::from_str::<Option<Vec<&RawValue>>>(text) {
            Ok(Some(elements)) => elements,
            Ok(None) => Vec::new(),
            Err(_) => continue,
        };
        if elements.is_empty() {
            slice.clear();
        }
        length = Some(elements.len());
        slice.resize_with(slice.len().max(elements.len()), Vec::new);
        for (values, value) in slice.iter_mut().zip(elements) {
            values.push(value.get());
        }
    }
    let mut texts = Vec::new();
    for values in slice.iter().take(length?) {
        let merged = merge(values, element);
        changed |= merged.is_some();
        texts.push(merged.unwrap_or_else(|| values[0].to_owned()));
    }
    changed.then(|| format!("[{}]", texts.join(",")))
}

const HEALTH: &[(&str, Shape<'_>)] = &[
    ("eventArn", Shape::Text),
    ("eventTypeCode", Shape::Text),
    ("service", Shape::Judged),
    ("eventDescription", Shape::Descriptions),
    ("startTime", Shape::Text),
    ("endTime", Shape::Text),
    ("eventTypeCategory", Shape::Judged),
    ("affectedEntities", Shape::List(&Shape::Object(&[("entityValue", Shape::Judged)]))),
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

/// The members of the envelope; those of `detail` are known only for a signal.
pub(super) fn members_of_envelope(signal: Option<Signal>) -> [(&'static str, Shape<'static>); 9] {
    [
        ("account", Shape::Judged),
        ("detail-type", Shape::Judged),
        ("id", Shape::Text),
        ("region", Shape::Judged),
        ("resources", Shape::Texts),
        ("source", Shape::Judged),
        ("time", Shape::Judged),
        ("version", Shape::Judged),
        ("detail", signal.map_or(Shape::Judged, |signal| Shape::Object(members_of_detail(signal)))),
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
                            let is_read = member.folds_to("latestDescription") || member.folds_to("language");
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
