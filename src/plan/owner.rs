//! Which part of a bus owns a resource: the hub, or one cluster.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::inventory::{Desired, Observed};
use crate::model::name::{ClusterName, PolicyName};
use crate::model::resource::Resource;
use crate::model::scope::Scope;

/// The part of a bus that a resource belongs to. The hub sorts before every cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    Hub,
    Cluster(ClusterName),
}

impl Owner {
    /// The cluster; nothing for the hub.
    #[must_use]
    pub fn cluster(&self) -> Option<&ClusterName> {
        match self {
            Self::Hub => None,
            Self::Cluster(name) => Some(name),
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hub => f.write_str("hub"),
            Self::Cluster(name) => write!(f, "cluster {name}"),
        }
    }
}

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

    pub(super) fn of(&self, resource: &Resource) -> Owner {
        let cluster = resource.particulars().cluster(self.scope, &self.policies);
        cluster.map_or(Owner::Hub, Owner::Cluster)
    }
}
