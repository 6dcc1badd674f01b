//! How two resources of the same id differ.

use std::collections::{BTreeMap, BTreeSet};

use super::change::FieldChange;
use crate::model::resource::{FieldValue, Resource};
use crate::model::tags::{NAMESPACE, Tags};

/// The fields whose observed value is not the desired one, in the order of the resource's fields; tags last. Of the tags that
/// kibus did not set, those with the keys `untagged` are removed.
pub fn diff(wanted: &Resource, observed: &Resource, untagged: &BTreeSet<String>) -> Vec<FieldChange> {
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
        changes.extend(tag_changes(wanted, observed, untagged));
    }
    changes
}

/// Desired tags that differ, and tags to remove: those of kibus, and those to be removed. Kibus does not change other tags.
fn tag_changes(wanted: &Tags, observed: &Tags, untagged: &BTreeSet<String>) -> Vec<FieldChange> {
    let leaves =
        |key: &&String| (key.starts_with(NAMESPACE) || untagged.contains(*key)) && !wanted.0.contains_key(*key);
    let keys = wanted.0.keys().chain(observed.0.keys().filter(leaves));
    keys.filter(|key| wanted.get(key) != observed.get(key))
        .map(|key| FieldChange::of_tag(key, observed.get(key), wanted.get(key)))
        .collect()
}
