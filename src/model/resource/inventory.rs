//! Desired resources, and the answers to reading resources.

use std::collections::{BTreeMap, BTreeSet};

use super::{Resource, ResourceId};
use crate::model::fault::Fault;

/// Desired resources, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desired {
    resources: BTreeMap<ResourceId, Resource>,
    /// The keys of the user's tags to remove. Without them, kibus removes no tag of others.
    untagged: BTreeMap<ResourceId, BTreeSet<String>>,
}

impl Desired {
    /// Adds a resource, replacing one of the same id.
    pub fn insert(&mut self, resource: Resource) {
        self.resources.insert(resource.id(), resource);
    }

    /// Removes the tags with these keys from a resource, unless it is desired with them.
    pub fn untag(&mut self, id: ResourceId, keys: impl IntoIterator<Item = String>) {
        self.untagged.entry(id).or_default().extend(keys);
    }

    /// The keys of the tags to remove from a resource.
    pub fn untagged(&self, id: &ResourceId) -> &BTreeSet<String> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.untagged.get(id).unwrap_or(&NONE)
    }

    /// Adds all of another inventory.
    pub fn extend(&mut self, other: Self) {
        self.resources.extend(other.resources);
        for (id, keys) in other.untagged {
            self.untag(id, keys);
        }
    }

    /// The resource of this id, if it is desired.
    pub fn get(&self, id: &ResourceId) -> Option<&Resource> {
        self.resources.get(id)
    }

    /// All ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = &ResourceId> {
        self.resources.keys()
    }

    /// All resources, in the order of their ids.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.resources.values()
    }
}

impl FromIterator<Resource> for Desired {
    fn from_iter<I: IntoIterator<Item = Resource>>(iter: I) -> Self {
        Self {
            resources: iter.into_iter().map(|r| (r.id(), r)).collect(),
            untagged: BTreeMap::new(),
        }
    }
}

/// The answer to reading one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It certainly does not exist.
    Absent,
    /// It exists, with this state.
    Present(Box<Resource>),
    /// It could not be read, so its state is unknown.
    Unreadable(Fault),
}

impl Reading {
    fn present(&self) -> Option<&Resource> {
        match self {
            Self::Present(resource) => Some(resource),
            Self::Absent | Self::Unreadable(_) => None,
        }
    }
}

/// The resources that were read, with the answer for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed(BTreeMap<ResourceId, Reading>);

impl Observed {
    /// Records the answer for one id.
    pub fn insert(&mut self, id: ResourceId, reading: Reading) {
        self.0.insert(id, reading);
    }

    /// Removes an answer.
    pub fn remove(&mut self, id: &ResourceId) {
        self.0.remove(id);
    }

    /// Adds all answers of another one.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The answer for one id; `None` if it was never read.
    pub fn get(&self, id: &ResourceId) -> Option<&Reading> {
        self.0.get(id)
    }

    /// The resource of this id, if it was read and exists.
    pub fn resource(&self, id: &ResourceId) -> Option<&Resource> {
        self.0.get(id)?.present()
    }

    /// Every resource that exists.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.0.values().filter_map(Reading::present)
    }

    /// Every id that was read, with its answer.
    pub fn iter(&self) -> impl Iterator<Item = (&ResourceId, &Reading)> {
        self.0.iter()
    }
}

impl FromIterator<(ResourceId, Reading)> for Observed {
    fn from_iter<I: IntoIterator<Item = (ResourceId, Reading)>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}
