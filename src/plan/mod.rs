//! From desired and observed resources to a plan: the changes, field by field, their order, and the checks that refuse
//! them. Pure: a plan is a value, complete before the first write.

mod change;
mod check;
mod diff;
pub mod finding;
mod order;
mod owner;

use std::collections::BTreeSet;

pub use change::{Action, Change, FieldChange};
pub use check::{check, check_managed, is_ours, rollback_conflicts};
pub use diff::diff;

use crate::model::answer::Fact;
use crate::model::name::ClusterName;
use crate::model::policy::QueueOrigin;
use crate::model::resource::{AliasField, Desired, FieldName, FieldValue, Observed, Queue, Resource, ResourceId};
use crate::model::scope::Scope;
use crate::model::tags::{BUS, CLUSTER};

/// Changes, in an order in which they can be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub changes: Vec<Change>,
    /// The resources that could not be read: nothing is planned for them.
    pub unknown: Vec<ResourceId>,
}

impl Plan {
    /// Whether there is nothing to change.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// How many changes have this action.
    pub fn count(&self, action: Action) -> usize {
        self.changes.iter().filter(|change| change.action == action).count()
    }

    /// How many changes it has of each action: `13 to create, 1 to update`.
    pub fn counts(&self) -> String {
        let counts = Action::ALL
            .map(|action| (self.count(action), action.words()[0]))
            .into_iter();
        let counts = counts.filter(|(count, _)| *count > 0);
        counts
            .map(|(count, word)| format!("{count} to {word}"))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// The plan that turns the observed resources into the desired ones, at the time `now` in Unix seconds. A resource that was
/// observed and is not desired is deleted.
///
/// # Panics
/// When a desired resource was never read: only "absent" may plan a create.
pub fn plan(scope: &Scope, desired: &Desired, observed: &Observed, now: u64) -> Plan {
    let owners = owner::Owners::new(scope, desired, observed);
    let mut changes = Vec::new();
    let mut unknown = Vec::new();
    for id in desired.ids() {
        assert!(observed.get(id).is_asked(), "{id} is desired and was never read");
    }
    for (id, seen) in observed.iter() {
        match (desired.get(id), seen) {
            (_, Fact::Unreadable(_)) => unknown.push(id.clone()),
            (None, Fact::Absent) | (_, Fact::NotAsked) => {}
            (Some(wanted), Fact::Absent) => changes.push(Change::create(owners.of(wanted), wanted.clone())),
            (Some(wanted), Fact::Present(observed)) if is_being_deleted(observed, wanted, now) => {
                changes.push(Change::create(owners.of(wanted), wanted.clone()));
            }
            (None, Fact::Present(observed)) => {
                changes.push(Change::delete(owners.of(observed), observed.clone()));
            }
            (Some(wanted), Fact::Present(observed)) => {
                let mut fields = diff(wanted, observed, desired.untagged(id));
                if !fields.is_empty() {
                    let mut wanted = wanted.clone();
                    keep_versions(observed, &mut wanted, &mut fields);
                    let cluster = owners.of_update(observed, &wanted);
                    changes.extend(updates(cluster, observed.clone(), wanted, fields));
                }
            }
        }
    }
    order::ordered(scope, changes, unknown)
}

/// Whether SQS only still answers for a queue that a run of kibus has deleted. A create waits until it is gone; if it stays
/// after all, it is planned again.
fn is_being_deleted(observed: &Resource, wanted: &Resource, now: u64) -> bool {
    let (Some(observed), Some(wanted)) = (observed.as_queue(), wanted.as_queue()) else {
        return false;
    };
    let created = |queue: &Queue| queue.policy.as_ref().and_then(QueueOrigin::of) == Some(QueueOrigin::Created);
    let is_same = [BUS, CLUSTER]
        .iter()
        .all(|key| observed.tags.get(key) == wanted.tags.get(key));
    observed.tags.being_deleted(now) && is_same && created(observed) && created(wanted)
}

/// How many versions before the live one are kept.
const KEPT: usize = 2;

/// Decides which versions are kept when an alias moves to the function's current settings: the live one, which may get a
/// successor, and those before it. A field of the change says which are deleted. A move to an existing version deletes none.
fn keep_versions(observed: &Resource, wanted: &mut Resource, fields: &mut Vec<FieldChange>) {
    let (Resource::Alias(from), Resource::Alias(to)) = (observed, wanted) else {
        return;
    };
    to.versions = from.versions.clone();
    // An alias that is left where it is has no version among its fields.
    for moved in fields.iter_mut().filter(|field| field.is_of(AliasField::Version)) {
        moved.from = from.version.map(|version| version.to_string()).into();
    }
    if to.moves_to.is_some() {
        return;
    }
    let publishes = fields.iter().any(|field| !field.is_of(AliasField::Shares));
    let count = if publishes { KEPT } else { KEPT + 1 };
    let kept: BTreeSet<u64> = from.version.into_iter().chain(from.before()).take(count).collect();
    // A later version may be the one to move to, after a rollback: Lambda does not publish the same twice.
    let later = |number: &u64| from.version.is_some_and(|live| live < *number);
    to.versions.retain(|number| kept.contains(number) || later(number));
    if to.versions != from.versions {
        let list =
            |versions: &BTreeSet<u64>| FieldValue::from(versions.iter().map(u64::to_string).collect::<BTreeSet<_>>());
        let path = AliasField::Versions.path().to_owned();
        fields.push(FieldChange::new(path, list(&from.versions), list(&to.versions)));
    }
}

/// The changes of an update: most are one. What must go last is a change of its own, if there are others: it follows changes
/// of other resources, which follow the first.
fn updates(cluster: Option<ClusterName>, before: Resource, after: Resource, fields: Vec<FieldChange>) -> Vec<Change> {
    let Some(between) = after.particulars().before_the_last(&before) else {
        return vec![Change::update(cluster, before, after, fields)];
    };
    let removed = fields.iter().filter(|field| field.to == FieldValue::Unset);
    let untagged = removed.filter_map(FieldChange::tag).map(str::to_owned).collect();
    let first = diff(&between, &before, &BTreeSet::new());
    let last = diff(&after, &between, &untagged);
    vec![
        Change::update(cluster.clone(), before, between.clone(), first),
        Change::update(cluster, between, after, last),
    ]
}

#[cfg(test)]
mod tests;
