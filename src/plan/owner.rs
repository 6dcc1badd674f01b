//! Which cluster owns a resource; all others belong to the hub.

use std::collections::BTreeMap;

use crate::model::name::ClusterName;
use crate::model::resource::{Desired, Observed, PolicyName, Resource};
use crate::model::scope::Scope;

/// The owners of the resources of a plan.
pub(super) struct Owners<'a> {
    scope: &'a Scope,
    policies: BTreeMap<PolicyName, ClusterName>,
}

impl<'a> Owners<'a> {
    pub(super) fn new(scope: &'a Scope, desired: &Desired, observed: &Observed) -> Self {
        let queues = desired.resources().chain(observed.resources());
        let clusters = queues.filter_map(|queue| queue.tags()?.cluster_of(&scope.bus));
        let policies = clusters.map(|cluster| (scope.controller_policy(&cluster), cluster));
        Self {
            scope,
            policies: policies.collect(),
        }
    }

    pub(super) fn of(&self, resource: &Resource) -> Option<ClusterName> {
        resource.particulars().cluster(self.scope, &self.policies)
    }

    /// The owner of an update. A queue that leaves the bus is still its cluster's: the order of the steps depends on that.
    pub(super) fn of_update(&self, before: &Resource, after: &Resource) -> Option<ClusterName> {
        let leaves = after.tags().is_some_and(|tags| !tags.belong_to(&self.scope.bus));
        self.of(if leaves { before } else { after })
    }
}
