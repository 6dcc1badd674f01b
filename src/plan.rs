//! From desired and observed resources to a plan: the changes, field by field, their order, and the checks that refuse
//! them. Pure: a plan is a value, complete before the first write.

mod check;
pub mod finding;
mod order;

use std::collections::{BTreeMap, BTreeSet};

pub use check::{check, check_managed, is_ours, rollback_conflicts};
use serde::{Serialize, Serializer};

use crate::model::{
    AliasField, ClusterName, Desired, Fact, FieldName, FieldValue, Observed, PolicyName, Resource, ResourceId, Scope,
    Tags, tags::NAMESPACE,
};

/// Changes, in an order in which they can be applied.
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

    /// The number of changes with this action.
    pub fn count(&self, action: Action) -> usize {
        self.changes.iter().filter(|change| change.action == action).count()
    }

    /// The number of changes for each action: `13 to create, 1 to update`.
    pub fn counts(&self) -> String {
        let counts = Action::ALL.map(|action| (self.count(action), action.words()[0])).into_iter();
        let counts = counts.filter(|(count, _)| *count > 0);
        counts.map(|(count, word)| format!("{count} to {word}")).collect::<Vec<_>>().join(", ")
    }
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Action {
    /// The resource is missing and is created.
    Create,
    /// Some fields change in place.
    Update,
    /// The resource is deleted.
    Delete,
}

impl Action {
    /// All of them, in the order in which text counts them.
    pub const ALL: [Self; 3] = [Self::Create, Self::Update, Self::Delete];

    /// The words for a pending, a running and a finished change.
    pub fn words(self) -> [&'static str; 3] {
        match self {
            Self::Create => ["create", "creating", "created"],
            Self::Update => ["update", "updating", "updated"],
            Self::Delete => ["delete", "deleting", "deleted"],
        }
    }

    /// The word for a pending change.
    pub fn as_str(self) -> &'static str {
        self.words()[0]
    }
}

/// A resource is its kind and its name.
impl Serialize for ResourceId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map([("kind", self.kind()), ("name", self.name().as_str())])
    }
}

impl Serialize for FieldValue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unset => to.serialize_none(),
            Self::Text(text) => text.serialize(to),
            Self::Number(number, _) => number.serialize(to),
            Self::Flag(flag) => flag.serialize(to),
            Self::List(items) => items.serialize(to),
            Self::Document(document) => document.value().serialize(to),
            Self::Code(code) => {
                let version = code.has_version().then_some(&code.version);
                to.collect_map([("version", version), ("sha256", Some(&code.sha256))])
            }
        }
    }
}

/// One field that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "FieldObject"))]
pub struct FieldChange {
    /// For example `redrive.max_receives`. A tag is `tags.` and its key.
    pub path: String,
    pub from: FieldValue,
    pub to: FieldValue,
}

/// The beginning of the path of a tag; its key follows.
const TAGS: &str = "tags.";

impl FieldChange {
    fn new(path: String, from: FieldValue, to: FieldValue) -> Self {
        Self { path, from, to }
    }

    /// A change of a tag; `None` means no such tag.
    fn of_tag(key: &str, from: Option<&str>, to: Option<&str>) -> Self {
        Self::new(format!("{TAGS}{key}"), from.into(), to.into())
    }

    /// Whether it changes this field.
    pub fn is_of(&self, field: impl FieldName) -> bool {
        self.path == field.path()
    }

    /// The key, if a tag changes.
    pub fn tag(&self) -> Option<&str> {
        self.path.strip_prefix(TAGS)
    }
}

/// A change to one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ChangeObject"))]
pub struct Change {
    pub action: Action,
    #[serde(flatten)]
    pub id: ResourceId,
    /// The cluster that the resource belongs to; `None` for the hub.
    #[serde(skip)]
    pub cluster: Option<ClusterName>,
    /// The fields that change. For a create or delete, all fields that are set.
    pub fields: Vec<FieldChange>,
    /// The observed resource; `None` for a create.
    #[serde(skip)]
    pub before: Option<Resource>,
    /// The desired resource; `None` for a delete.
    #[serde(skip)]
    pub after: Option<Resource>,
    /// The changes that must be made before this one, by their place in the plan; always earlier ones.
    #[serde(skip)]
    pub waits_for: BTreeSet<usize>,
    /// Whether it takes away a controller's permission that another resource of the plan grants. AWS may apply that grant late.
    #[serde(skip)]
    pub hands_over: bool,
}

impl Change {
    /// A create.
    pub fn create(cluster: Option<ClusterName>, after: Resource) -> Self {
        let fields = set_fields(&after).map(|(path, to)| FieldChange::new(path, FieldValue::Unset, to));
        Self {
            action: Action::Create,
            id: after.id(),
            cluster,
            fields: fields.collect(),
            before: None,
            after: Some(after),
            waits_for: BTreeSet::new(),
            hands_over: false,
        }
    }

    /// A delete.
    pub fn delete(cluster: Option<ClusterName>, before: Resource) -> Self {
        let fields = set_fields(&before).map(|(path, from)| FieldChange::new(path, from, FieldValue::Unset));
        Self {
            action: Action::Delete,
            id: before.id(),
            cluster,
            fields: fields.collect(),
            before: Some(before),
            after: None,
            waits_for: BTreeSet::new(),
            hands_over: false,
        }
    }

    /// An update of these fields.
    pub fn update(cluster: Option<ClusterName>, before: Resource, after: Resource, fields: Vec<FieldChange>) -> Self {
        Self {
            action: Action::Update,
            id: after.id(),
            cluster,
            fields,
            before: Some(before),
            after: Some(after),
            waits_for: BTreeSet::new(),
            hands_over: false,
        }
    }

    /// The resource: the desired one, or the observed one for a delete.
    pub fn resource(&self) -> &Resource {
        match (&self.after, &self.before) {
            (Some(resource), _) | (None, Some(resource)) => resource,
            (None, None) => unreachable!("every change has a resource: the constructors ensure it"),
        }
    }

    /// Whether this field changes.
    pub fn touches(&self, field: impl FieldName) -> bool {
        self.fields.iter().any(|change| change.is_of(field))
    }
}

fn set_fields(resource: &Resource) -> impl Iterator<Item = (String, FieldValue)> {
    let tags = resource.tags().map(|tags| tags.0.clone()).unwrap_or_default();
    let tags = tags.into_iter().map(|(key, value)| (format!("{TAGS}{key}"), value.into()));
    let fields = resource.fields().into_iter().map(|field| (field.path, field.value));
    fields.chain(tags).filter(|(_, value)| *value != FieldValue::Unset)
}

/// The plan that turns the observed resources into the desired ones, at the time `now` in Unix seconds. A resource that
/// was observed but is not desired is deleted.
///
/// # Panics
/// If a desired resource was never read: only an "absent" answer may lead to a create.
pub fn plan(scope: &Scope, desired: &Desired, observed: &Observed) -> Plan {
    let owners = ClusterOwners::new(scope, desired, observed);
    let mut changes = Vec::new();
    let mut unknown = Vec::new();
    for id in desired.ids() {
        assert!(observed.get(id).is_asked(), "{id} is desired but was never read");
    }
    for (id, seen) in observed.iter() {
        match (desired.get(id), seen) {
            (_, Fact::Unreadable(_)) => unknown.push(id.clone()),
            (None, Fact::Absent) | (_, Fact::NotAsked) => {}
            (Some(wanted), Fact::Absent) => changes.push(Change::create(owners.cluster_of(wanted), wanted.clone())),
            (None, Fact::Present(observed)) => {
                changes.push(Change::delete(owners.cluster_of(observed), observed.clone()));
            }
            (Some(wanted), Fact::Present(observed)) => {
                let mut fields = diff(wanted, observed, desired.untagged(id));
                if !fields.is_empty() {
                    let mut wanted = wanted.clone();
                    keep_versions(observed, &mut wanted, &mut fields);
                    let cluster = owners.cluster_of(&wanted);
                    changes.extend(updates(cluster, observed.clone(), wanted, fields));
                }
            }
        }
    }
    note_hand_overs(&mut changes, &owners, desired);
    order::ordered(scope, changes, unknown)
}

/// Marks changes that remove a cluster's policy from a role while another role of the cluster has it.
fn note_hand_overs(changes: &mut [Change], owners: &ClusterOwners<'_>, desired: &Desired) {
    let policies = desired.resources().filter(|one| one.as_role_policy().is_some());
    let granted: BTreeSet<ClusterName> = policies.filter_map(|one| owners.cluster_of(one)).collect();
    for change in changes {
        let takes = matches!((&change.before, &change.after), (Some(Resource::RolePolicy(_)), None));
        change.hands_over = takes && change.cluster.as_ref().is_some_and(|of| granted.contains(of));
    }
}

/// How many versions before the live one are kept.
const KEPT: usize = 2;

/// Decides which versions are kept when an alias moves to the function's current settings: the live one, which may get
/// a successor, and those before it. A field of the change lists the deleted ones. A move to an existing version
/// deletes none.
fn keep_versions(observed: &Resource, wanted: &mut Resource, fields: &mut Vec<FieldChange>) {
    let (Resource::Alias(from), Resource::Alias(to)) = (observed, wanted) else {
        return;
    };
    to.versions = from.versions.clone();
    // An alias that does not move has no version among its fields.
    for moved in fields.iter_mut().filter(|field| field.is_of(AliasField::Version)) {
        moved.from = from.version.map(|version| version.to_string()).into();
    }
    if to.moves_to.is_some() {
        return;
    }
    let publishes = fields.iter().any(|field| !field.is_of(AliasField::Shares));
    let count = if publishes { KEPT } else { KEPT + 1 };
    let kept: BTreeSet<u64> = from.version.into_iter().chain(from.before()).take(count).collect();
    // After a rollback, the target may be a later version: Lambda does not publish the same code and settings twice.
    let later = |number: &u64| from.version.is_some_and(|live| live < *number);
    to.versions.retain(|number| kept.contains(number) || later(number));
    if to.versions != from.versions {
        let list =
            |versions: &BTreeSet<u64>| FieldValue::from(versions.iter().map(u64::to_string).collect::<BTreeSet<_>>());
        let path = AliasField::Versions.path().to_owned();
        fields.push(FieldChange::new(path, list(&from.versions), list(&to.versions)));
    }
}

/// The changes of an update: usually one. Parts that must be removed last are a separate change, if there are other
/// parts: it follows changes of other resources, which follow the first change.
fn updates(cluster: Option<ClusterName>, before: Resource, after: Resource, fields: Vec<FieldChange>) -> Vec<Change> {
    let between = after.particulars().while_leaving(&before).filter(|between| between.fields() != before.fields());
    let Some(between) = between else {
        return vec![Change::update(cluster, before, after, fields)];
    };
    let removed = fields.iter().filter(|field| field.to == FieldValue::Unset);
    let untagged = removed.filter_map(FieldChange::tag).map(str::to_owned).collect();
    let first = diff(&between, &before, &BTreeSet::new());
    let last = diff(&after, &between, &untagged);
    vec![Change::update(cluster.clone(), before, between.clone(), first), Change::update(cluster, between, after, last)]
}

/// The fields whose observed value differs from the desired one, in the order of the resource's fields, tags last. Tags
/// that kibus did not set are removed only if their keys are in `untagged`.
pub fn diff(wanted: &Resource, observed: &Resource, untagged: &BTreeSet<String>) -> Vec<FieldChange> {
    let comparable = wanted.particulars().comparable(observed);
    let wanted = comparable.as_ref().unwrap_or(wanted);
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

/// Desired tags that differ, and tags to remove: unwanted kibus tags, and those in `untagged`. Kibus does not change other tags.
fn tag_changes(wanted: &Tags, observed: &Tags, untagged: &BTreeSet<String>) -> Vec<FieldChange> {
    let goes = |key: &&String| (key.starts_with(NAMESPACE) || untagged.contains(*key)) && !wanted.0.contains_key(*key);
    let keys = wanted.0.keys().chain(observed.0.keys().filter(goes));
    keys.filter(|key| wanted.get(key) != observed.get(key))
        .map(|key| FieldChange::of_tag(key, observed.get(key), wanted.get(key)))
        .collect()
}

/// The owners of the resources of a plan.
struct ClusterOwners<'a> {
    scope: &'a Scope,
    policies: BTreeMap<PolicyName, ClusterName>,
}

impl<'a> ClusterOwners<'a> {
    fn new(scope: &'a Scope, desired: &Desired, observed: &Observed) -> Self {
        let records = desired.resources().chain(observed.resources()).filter_map(Resource::as_record);
        let clusters = records.filter_map(|record| scope.cluster_of_record(record.name.as_str()));
        let policies = clusters.map(|cluster| (scope.controller_policy(&cluster), cluster));
        Self { scope, policies: policies.collect() }
    }

    fn cluster_of(&self, resource: &Resource) -> Option<ClusterName> {
        resource.particulars().cluster(self.scope, &self.policies)
    }
}

#[cfg(test)]
mod tests;
