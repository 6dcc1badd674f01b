//! How two resources of the same id differ.

use std::collections::{BTreeMap, BTreeSet};

use super::change::FieldChange;
use crate::model::field::FieldValue;
use crate::model::resource::Resource;
use crate::model::tags::{NAMESPACE, Tags};

/// The fields whose observed value is not the desired one, in the order of the resource's fields; tags last.
#[must_use]
pub fn diff(wanted: &Resource, observed: &Resource) -> Vec<FieldChange> {
    let observed_fields = observed.fields().into_iter();
    let mut left: BTreeMap<String, FieldValue> = observed_fields.map(|field| (field.path, field.value)).collect();
    let mut changes = Vec::new();
    for field in wanted.fields() {
        let from = left.remove(&field.path).unwrap_or(FieldValue::Unset);
        if field.value != from {
            changes.push(FieldChange::new(field.path, from, field.value));
        }
    }
    let only_observed = left.into_iter().filter(|(_, from)| *from != FieldValue::Unset);
    changes.extend(only_observed.map(|(path, from)| FieldChange::new(path, from, FieldValue::Unset)));
    if let (Some(wanted), Some(observed)) = (wanted.tags(), observed.tags()) {
        changes.extend(tag_changes(wanted, observed));
    }
    changes
}

/// Desired tags that differ, and tags to remove: those of kibus, and those that are saved as the user's. Kibus does not
/// change other tags.
fn tag_changes(wanted: &Tags, observed: &Tags) -> Vec<FieldChange> {
    let chosen: BTreeSet<&str> = observed.option("tag").unwrap_or_default().split_whitespace().collect();
    let ours = |key: &str| key.starts_with(NAMESPACE) || chosen.contains(key);
    let mut keys: Vec<&String> = wanted.0.keys().collect();
    keys.extend(
        observed
            .0
            .keys()
            .filter(|key| ours(key) && !wanted.0.contains_key(*key)),
    );
    keys.into_iter()
        .filter(|key| wanted.get(key) != observed.get(key))
        .map(|key| FieldChange::of_tag(key, observed.get(key), wanted.get(key)))
        .collect()
}

/// The tags among these keys that are removed.
pub(super) fn untagged<'a>(
    wanted: &Resource,
    observed: &Resource,
    keys: impl Iterator<Item = &'a str>,
) -> Vec<FieldChange> {
    let value = |resource: &Resource, key: &str| resource.tags().and_then(|tags| tags.get(key)).map(str::to_owned);
    let removed = keys.filter(|key| value(wanted, key).is_none());
    let removed = removed.filter_map(|key| Some((key, value(observed, key)?)));
    removed
        .map(|(key, from)| FieldChange::of_tag(key, Some(&from), None))
        .collect()
}
