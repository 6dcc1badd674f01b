//! Clusters in intents and reports.

use std::collections::BTreeSet;

use super::blocked::RoleSource;
use super::role_search;
use crate::model::cluster::Cluster;
use crate::model::karpenter::KarpenterVersion;
use crate::model::name::{ClusterName, QueueName, RoleName};
use crate::model::scope::Scope;
use crate::model::tags::Tags;
use crate::survey::Survey;

/// A cluster, its queue and its controller role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSummary {
    pub name: ClusterName,
    /// Its queue, the value of Karpenter's `interruptionQueue`.
    pub queue: QueueName,
    pub queue_arn: String,
    /// The role that its controller runs as, if kibus manages a policy on one.
    pub controller_role: Option<RoleName>,
    /// What that role was found by, if it was searched for.
    pub found_by: BTreeSet<RoleSource>,
    /// Whether its queue is being deleted.
    pub being_deleted: bool,
}

/// A Karpenter controller: its cluster, its queue, and its version if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    pub cluster: ClusterName,
    /// The queue that it should read.
    pub queue: QueueName,
    pub version: Option<KarpenterVersion>,
}

impl ClusterSummary {
    pub(super) fn new(scope: &Scope, name: &ClusterName, queue: &QueueName, role: Option<RoleName>) -> Self {
        Self {
            name: name.clone(),
            queue: queue.clone(),
            queue_arn: scope.queue_arn(queue),
            controller_role: role,
            found_by: BTreeSet::new(),
            being_deleted: false,
        }
    }
}

impl Controller {
    pub(super) fn of(cluster: &Cluster) -> Self {
        Self {
            cluster: cluster.name.clone(),
            queue: cluster.queue.clone(),
            version: cluster.karpenter_version,
        }
    }
}

/// The clusters as lists show them: the registered ones, and those whose queues are being deleted.
pub(super) fn summaries(survey: &Survey) -> Vec<ClusterSummary> {
    let summary = |(name, tags): (ClusterName, &Tags)| ClusterSummary {
        being_deleted: tags.being_deleted(survey.now),
        ..ClusterSummary::new(
            &survey.scope,
            &name,
            &survey.cluster_queue(&name),
            role_search::on_record(survey, &name),
        )
    };
    survey.clusters().into_iter().map(summary).collect()
}
