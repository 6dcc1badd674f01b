//! What EKS knows of clusters.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::fact::Fact;
use crate::model::fault::Fault;
use crate::model::karpenter::Association;
use crate::model::name::ClusterName;

/// What EKS has answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Eks {
    /// The names of the clusters in the account and Region.
    pub clusters: Fact<BTreeSet<ClusterName>>,
    /// The pod identity associations of Karpenter's service account; absent if the cluster does not exist.
    pub associations: BTreeMap<ClusterName, Fact<BTreeSet<Association>>>,
    /// The URLs of the clusters' issuers; absent if a cluster does not exist or has none.
    pub issuers: BTreeMap<ClusterName, Fact<String>>,
}

/// A query to EKS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EksQuery {
    /// The names of the clusters.
    pub clusters: bool,
    /// The pod identity associations of Karpenter's service account in these clusters.
    pub associations: BTreeSet<ClusterName>,
    /// The issuers of these clusters.
    pub issuers: BTreeSet<ClusterName>,
}

impl Eks {
    /// The query without what was read already.
    pub(super) fn unread(&self, mut query: EksQuery) -> EksQuery {
        query.clusters &= !self.clusters.is_asked();
        query
            .associations
            .retain(|cluster| !self.associations.contains_key(cluster));
        query.issuers.retain(|cluster| !self.issuers.contains_key(cluster));
        query
    }

    /// Takes the answers to a query.
    pub(super) fn take(&mut self, answers: Self) {
        if answers.clusters.is_asked() {
            self.clusters = answers.clusters;
        }
        self.associations.extend(answers.associations);
        self.issuers.extend(answers.issuers);
    }

    /// The first of the calls about controller roles that failed.
    pub fn fault_of_roles(&self) -> Option<&Fault> {
        let roles = self.associations.values().filter_map(Fact::fault);
        let issuers = self.issuers.values().filter_map(Fact::fault);
        roles.chain(issuers).next()
    }
}
