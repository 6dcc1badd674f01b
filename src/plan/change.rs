//! One change to one resource.

use super::{Owner, replaces};
use crate::model::field::FieldValue;
use crate::model::resource::{Resource, ResourceId};

/// What is done to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// It is not there and will be.
    Create,
    /// It stays and some fields change.
    Update,
    /// It goes, and comes back under the same name.
    Replace,
    /// It is there and will not be.
    Delete,
}

impl Action {
    /// The word that JSON output uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Delete => "delete",
        }
    }
}

/// One field that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// Where it stands.
    pub path: String,
    /// What it is.
    pub from: FieldValue,
    /// What it will be.
    pub to: FieldValue,
}

/// What happens to one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What is done.
    pub action: Action,
    /// To which resource.
    pub id: ResourceId,
    /// The part of the bus that the resource belongs to.
    pub owner: Owner,
    /// Which fields change; for a create and a delete, every field.
    pub fields: Vec<FieldChange>,
    /// What was seen, unless it is created.
    pub before: Option<Resource>,
    /// What is wanted, unless it is deleted.
    pub after: Option<Resource>,
}

impl Change {
    /// A resource that will be there.
    #[must_use]
    pub fn create(owner: Owner, after: Resource) -> Self {
        let fields = all_fields(&after)
            .map(|(path, to)| FieldChange {
                path,
                from: FieldValue::Unset,
                to,
            })
            .filter(|field| field.to != FieldValue::Unset)
            .collect();
        Self {
            action: Action::Create,
            id: after.id(),
            owner,
            fields,
            before: None,
            after: Some(after),
        }
    }

    /// A resource that will be gone.
    #[must_use]
    pub fn delete(owner: Owner, before: Resource) -> Self {
        let fields = all_fields(&before)
            .map(|(path, from)| FieldChange {
                path,
                from,
                to: FieldValue::Unset,
            })
            .filter(|field| field.from != FieldValue::Unset)
            .collect();
        Self {
            action: Action::Delete,
            id: before.id(),
            owner,
            fields,
            before: Some(before),
            after: None,
        }
    }

    /// A resource that will be otherwise in these fields: updated, or replaced where AWS cannot change one of them.
    #[must_use]
    pub fn between(owner: Owner, before: Resource, after: Resource, fields: Vec<FieldChange>) -> Self {
        let id = after.id();
        let action = if fields.iter().any(|field| replaces(&id, &field.path)) {
            Action::Replace
        } else {
            Action::Update
        };
        Self {
            action,
            id,
            owner,
            fields,
            before: Some(before),
            after: Some(after),
        }
    }

    /// Whether this field changes.
    #[must_use]
    pub fn touches(&self, path: &str) -> bool {
        self.fields.iter().any(|field| field.path == path)
    }
}

fn all_fields(resource: &Resource) -> impl Iterator<Item = (String, FieldValue)> {
    let tags = resource.tags().map(|tags| tags.0.clone()).unwrap_or_default();
    resource
        .fields()
        .into_iter()
        .map(|field| (field.path, field.value))
        .chain(
            tags.into_iter()
                .map(|(key, value)| (format!("tags.{key}"), value.into())),
        )
}

/// One thing for a cloud to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Make this, which is not there.
    Create(Resource),
    /// Turn the one into the other, which differ in these fields.
    Update {
        /// What was seen.
        from: Box<Resource>,
        /// What is wanted.
        to: Resource,
        /// Where they differ.
        fields: Vec<FieldChange>,
    },
    /// Remove this, which is there.
    Delete(Resource),
}

impl Op {
    /// The resource that it is about: as it is wanted, or as it was seen if it goes.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        match self {
            Self::Create(resource) | Self::Update { to: resource, .. } | Self::Delete(resource) => resource,
        }
    }

    /// Which resource it is about.
    #[must_use]
    pub fn id(&self) -> ResourceId {
        self.resource().id()
    }
}
