//! Clusters in intents and reports.

use std::collections::BTreeMap;

use crate::model::cluster::Cluster;
use crate::model::inventory::Desired;
use crate::model::karpenter::KarpenterVersion;
use crate::model::name::{ClusterName, QueueName, RoleName};
use crate::model::options::{BadSavedOption, ClusterOptions, HubOptions};
use crate::model::scope::Scope;
use crate::model::tags::Tags;
use crate::survey::Survey;

/// A cluster, its queue and its controller role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSummary {
    /// The cluster.
    pub name: ClusterName,
    /// Its queue, the value of Karpenter's `interruptionQueue`.
    pub queue: QueueName,
    /// The ARN of the queue.
    pub queue_arn: String,
    /// The role that its controller runs as, if kibus manages a policy on one.
    pub controller_role: Option<RoleName>,
    /// Whether its queue is being deleted.
    pub being_deleted: bool,
}

/// A Karpenter controller: its cluster, its queue, and its version if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// The cluster.
    pub cluster: ClusterName,
    /// The queue that it should read.
    pub queue: QueueName,
    /// Its version.
    pub version: Option<KarpenterVersion>,
}

impl ClusterSummary {
    pub(super) fn new(scope: &Scope, name: &ClusterName, queue: &QueueName, role: Option<&RoleName>) -> Self {
        Self {
            name: name.clone(),
            queue: queue.clone(),
            queue_arn: scope.queue_arn(queue),
            controller_role: role.cloned(),
            being_deleted: false,
        }
    }

    pub(super) fn of(scope: &Scope, cluster: &Cluster) -> Self {
        Self::new(scope, &cluster.name, &cluster.queue, cluster.controller_role.as_ref())
    }
}

impl Controller {
    pub(super) fn of(cluster: &Cluster) -> Self {
        Self {
            cluster: cluster.name.clone(),
            queue: cluster.queue.clone(),
            version: cluster.options.karpenter_version,
        }
    }
}

/// The clusters as lists show them: the registered ones, and those whose queues are being deleted.
pub(super) fn summaries(survey: &Survey) -> Vec<ClusterSummary> {
    let clusters = survey.clusters().into_iter();
    clusters
        .map(|(name, tags)| {
            let queue = survey.cluster_queue(&name);
            ClusterSummary {
                being_deleted: tags.being_deleted(survey.now),
                ..ClusterSummary::new(&survey.scope, &name, &queue, tags.controller_role().as_ref())
            }
        })
        .collect()
}

/// The controllers of registered clusters. An invalid saved version counts as unknown, because
/// it only affects the printed settings.
pub(super) fn controllers<'a>(
    survey: &Survey,
    clusters: impl IntoIterator<Item = (&'a ClusterName, &'a Tags)>,
) -> Vec<Controller> {
    clusters
        .into_iter()
        .map(|(name, tags)| Controller {
            cluster: name.clone(),
            queue: survey.cluster_queue(name),
            version: ClusterOptions::saved(tags)
                .ok()
                .and_then(|options| options.karpenter_version),
        })
        .collect()
}

/// The desired resources of registered clusters, by the options that their queues have saved.
pub(super) fn desired(
    survey: &Survey,
    clusters: &BTreeMap<ClusterName, &Tags>,
    hub: &HubOptions,
) -> Result<Desired, BadSavedOption> {
    let mut desired = Desired::default();
    for (name, tags) in clusters {
        let cluster = Cluster::new(
            &survey.scope,
            &hub.queue_prefix(),
            name.clone(),
            tags.controller_role(),
            ClusterOptions::saved(tags)?,
        );
        desired.extend(cluster.desired(&survey.scope, hub));
    }
    Ok(desired)
}
