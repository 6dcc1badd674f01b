//! One change to one resource, which is one write.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::model::name::ClusterName;
use crate::model::resource::{FieldName, FieldValue, Resource, ResourceId};

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

    /// The words of text for one to come, one that runs, and one that is done.
    pub fn words(self) -> [&'static str; 3] {
        match self {
            Self::Create => ["create", "creating", "created"],
            Self::Update => ["update", "updating", "updated"],
            Self::Delete => ["delete", "deleting", "deleted"],
        }
    }

    /// The word for it: to do.
    pub fn as_str(self) -> &'static str {
        self.words()[0]
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
    pub(super) fn new(path: String, from: FieldValue, to: FieldValue) -> Self {
        Self { path, from, to }
    }

    /// A change of a tag; `None` is no such tag.
    pub(super) fn of_tag(key: &str, from: Option<&str>, to: Option<&str>) -> Self {
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
    /// The changes that must be made before, by their place in the plan; always earlier ones.
    #[serde(skip)]
    pub waits_for: BTreeSet<usize>,
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
        }
    }

    /// The resource: the desired one, or the observed one for a delete.
    pub fn resource(&self) -> &Resource {
        match (&self.after, &self.before) {
            (Some(resource), _) | (None, Some(resource)) => resource,
            (None, None) => unreachable!("a change is of a resource: its constructors see to it"),
        }
    }

    /// Whether this field changes.
    pub fn touches(&self, field: impl FieldName) -> bool {
        self.fields.iter().any(|change| change.is_of(field))
    }
}

fn set_fields(resource: &Resource) -> impl Iterator<Item = (String, FieldValue)> {
    let tags = resource.tags().map(|tags| tags.0.clone()).unwrap_or_default();
    let tags = tags
        .into_iter()
        .map(|(key, value)| (format!("{TAGS}{key}"), value.into()));
    let fields = resource.fields().into_iter().map(|field| (field.path, field.value));
    fields.chain(tags).filter(|(_, value)| *value != FieldValue::Unset)
}
