//! Repairs of shapes that Karpenter's parsers discard silently.

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde_json::value::RawValue;

use super::DecodedEvent;
use crate::router::json::{self, Edit, Members};
use crate::router::shape::Shape;

/// A repaired shape, which Karpenter's parsers are known to discard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Repair {
    /// `version` was not `"0"`.
    Version,
    /// The detail-type was an older name.
    DetailType,
    /// `resources` was not a list of strings.
    Resources,
    /// `time` was not a time of RFC 3339 that Go's parser accepts.
    Time,
    /// A member had its key in another case, or more than once.
    Keys,
    /// A member that Karpenter reads as a string, or as a list of descriptions, was something else.
    Type,
    /// An instance was named by its ARN, or the entities were not in a list.
    Entity,
}

impl<'a> DecodedEvent<'a> {
    /// Repairs the envelope. `arrived` replaces a missing time.
    pub(super) fn repair_envelope(&mut self, envelope: &Members<'a>, detail_type: &str, arrived: i64) {
        if envelope.text("version").as_deref() != Some("0") {
            self.put(envelope, "version", "\"0\"", Repair::Version);
        }
        if detail_type != self.signal.detail_type() {
            let new = json::quoted(self.signal.detail_type());
            self.put(envelope, "detail-type", &new, Repair::DetailType);
        }
        self.time = envelope.get("time").and_then(|time| millis(time.get()));
        if self.time.is_none()
            && let Ok(time) = DateTime::from_secs(arrived.div_euclid(1000)).fmt(Format::DateTime)
        {
            self.put(envelope, "time", &json::quoted(&time), Repair::Time);
        }
    }

    /// Repairs the members that the decoder does not judge, so that Karpenter accepts them: it acts on none of them.
    pub(super) fn repair_types(&mut self, members: &Members<'a>, known: &[(&str, Shape<'_>)]) {
        for (key, shape) in known {
            let Some(value) = members.get(key).filter(|value| !shape.fits(value)) else {
                continue;
            };
            match shape {
                Shape::Text => self.put(members, key, &json::quoted(value.get()), Repair::Type),
                Shape::Texts => self.put(members, key, &strings(value), Repair::Resources),
                Shape::Descriptions => self.put(members, key, "[]", Repair::Type),
                Shape::Judged | Shape::Object(_) | Shape::List(_) => {}
            }
        }
    }

    fn put(&mut self, members: &Members<'a>, key: &str, new: &str, repair: Repair) {
        let edit = match members.written(key) {
            Some(value) => Edit::replace(self.body, value, new.to_owned()),
            None => Edit::add(self.body, members, key, new),
        };
        self.repair(repair, edit);
    }

    pub(super) fn repair(&mut self, repair: Repair, edit: Edit) {
        self.repairs.push(repair);
        self.edits.push(edit);
    }
}

/// A list of the strings in a value.
fn strings(value: &RawValue) -> String {
    let one = || vec![value];
    let strings: Vec<&str> = json::elements(value)
        .unwrap_or_else(one)
        .into_iter()
        .filter(|element| element.get().starts_with('"'))
        .map(RawValue::get)
        .collect();
    format!("[{}]", strings.join(","))
}

/// When it happened, in milliseconds of the Unix epoch, if a time is RFC 3339 and Go's parser accepts it: as it is written,
/// without escapes, with capital letters and without leap seconds.
fn millis(written: &str) -> Option<i64> {
    let time = written.strip_prefix('"')?.strip_suffix('"')?;
    if time.contains(['t', 'z']) || time.get(17..19)? > "59" {
        return None;
    }
    let parsed = DateTime::from_str(time, Format::DateTimeWithOffset);
    parsed.ok()?.to_millis().ok()
}
