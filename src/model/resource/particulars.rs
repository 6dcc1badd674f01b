//! What each kind of resource says about itself, in its own file. All else is generic.

use std::collections::BTreeMap;

use super::edge::{Edge, Effect};
use super::{PolicyName, Resource, ResourceId};
use crate::model::finding_code::FindingCode;
use crate::model::name::ClusterName;
use crate::model::scope::Scope;

/// All that is particular to a kind of resource, beside its line in the table of kinds.
pub trait Particulars {
    /// Whether AWS can change this field only by deleting and creating the resource.
    fn is_fixed(&self, _path: &str) -> bool {
        false
    }

    /// How it is known which bus manages it.
    fn ownership(&self, _scope: &Scope) -> Ownership {
        Ownership::Tags
    }

    /// The cluster that it belongs to; `None` for the hub. `policies` are the names of the clusters' controller policies.
    fn cluster(&self, _scope: &Scope, _policies: &BTreeMap<PolicyName, ClusterName>) -> Option<ClusterName> {
        None
    }

    /// What its steps have an order with, beside the dead-letter queue, which every resource follows from.
    fn edges(&self, _scope: &Scope) -> Vec<Edge> {
        Vec::new()
    }

    /// The effects that matter to the order when it is written. `before` is the resource that it replaces or changes.
    fn effects(&self, _before: Option<&Resource>) -> Vec<Effect> {
        Vec::new()
    }

    /// What is more urgent about an observed one than that its fields differ, with the message of the finding. `now` is the
    /// time of the survey in Unix seconds.
    fn trouble(&self, _now: u64) -> Option<(FindingCode, String)> {
        None
    }

    /// Its main properties in a few words. Texts from outside are not escaped.
    fn summary(&self) -> String;
}

/// How it is known which bus manages a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// By its own tags.
    Tags,
    /// By the tags of any of these, which name it or which it names.
    TagsOf(Vec<ResourceId>),
    /// By its content: whether kibus wrote it.
    Content(bool),
}
