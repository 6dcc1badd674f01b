//! Repairs of shapes that Karpenter's parsers discard silently.

use std::borrow::Cow;

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde_json::value::RawValue;

use super::decode::DecodedEvent;
use super::json::{self, Edit, Members};

/// A repaired shape, which Karpenter's parsers are known to discard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Repair {
    /// `version` was not `"0"`.
    Version,
    /// The detail-type was an older name.
    DetailType,
    /// `resources` was not a list of strings.
    Resources,
    /// `time` was not a time.
    Time,
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
        self.time = envelope
            .text("time")
            .and_then(|time| DateTime::from_str(&time, Format::DateTimeWithOffset).ok())
            .and_then(|time| time.to_millis().ok());
        if self.time.is_none()
            && let Ok(time) = DateTime::from_secs(arrived.div_euclid(1000)).fmt(Format::DateTime)
        {
            self.put(envelope, "time", &json::quoted(&time), Repair::Time);
        }
        if let Some(value) = envelope.get("resources")
            && serde_json::from_str::<Vec<Cow<'_, str>>>(value.get()).is_err()
        {
            let new = strings(value);
            self.put(envelope, "resources", &new, Repair::Resources);
        }
    }

    fn put(&mut self, envelope: &Members<'a>, key: &str, new: &str, repair: Repair) {
        let edit = match envelope.written(key) {
            Some(value) => Edit::replace(self.body, value, new.to_owned()),
            None => Edit::add(self.body, envelope, key, new),
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
        .filter(|element| json::text(element).is_some())
        .map(RawValue::get)
        .collect();
    format!("[{}]", strings.join(","))
}
