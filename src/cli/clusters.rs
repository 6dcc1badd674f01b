//! Which clusters are registered, and what each consists of.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use super::explain;
use crate::cloud::{self, Fault};
use crate::error::Error;
use crate::model::cluster::Cluster;
use crate::model::hub;
use crate::model::inventory::{Desired, Observed};
use crate::model::karpenter::KarpenterVersion;
use crate::model::name::{ClusterName, KmsKey, QueueName, QueuePrefix, RoleName};
use crate::model::options::{BadSavedOption, ClusterOptions, HubOptions};
use crate::model::resource::{Resource, ResourceId};
use crate::model::tags::Tags;
use crate::ui::json::ClusterReport;

/// What clusters' queues begin with on a hub that chose this.
pub(super) fn prefix(options: &HubOptions) -> QueuePrefix {
    options.queue_prefix.clone().unwrap_or_else(hub::default_queue_prefix)
}

/// The customer key of a hub that chose this.
pub(super) fn key(options: &HubOptions) -> Option<&KmsKey> {
    options.kms_key.as_ref()?.0.as_ref()
}

/// The registered clusters: everything that was read to find them, and what could not be.
#[derive(Default)]
pub(super) struct Registered {
    pub(super) observed: Observed,
    pub(super) faults: Vec<(ResourceId, Fault)>,
    /// The tags of each cluster's queue.
    pub(super) clusters: BTreeMap<ClusterName, Tags>,
}

impl Registered {
    /// Finds all clusters: discovery gives candidates, and reading each says what it is.
    pub(super) async fn find(context: &Context<'_>, options: &HubOptions) -> Result<Self, Fault> {
        let prefix = prefix(options);
        let candidates = {
            let _reading = context.ui.spinner("looking for clusters");
            cloud::Cloud::cluster_queues(&context.cloud, &prefix).await?
        };
        let hub: BTreeSet<QueueName> = context.scope.hub_queues().into();
        let ids = candidates.difference(&hub).cloned().map(ResourceId::Queue);
        let read = cloud::observe(&context.cloud, ids, context.limit).await;
        let mut registered = Self {
            faults: read.faults,
            ..Self::default()
        };
        for (id, seen) in read.observed.iter() {
            let Some(Resource::Queue(queue)) = read.observed.resource(id) else {
                continue;
            };
            // A queue that says it is a cluster's but has another name was not made by kibus.
            if let Some(cluster) = queue.tags.cluster_of(&context.scope.bus)
                && context.scope.cluster_queue(&prefix, &cluster) == queue.name
            {
                registered.clusters.insert(cluster, queue.tags.clone());
                registered.observed.insert(id.clone(), seen.clone());
            }
        }
        Ok(registered)
    }

    /// Reads the policy that each cluster's queue remembers a role for.
    pub(super) async fn read_policies(&mut self, context: &Context<'_>) {
        let ids: Vec<ResourceId> = self
            .clusters
            .iter()
            .filter_map(|(cluster, tags)| saved_policy(context, cluster, tags))
            .collect();
        let read = cloud::observe(&context.cloud, ids, context.limit).await;
        self.observed.extend(read.observed);
        self.faults.extend(read.faults);
    }

    /// What registered clusters should consist of.
    pub(super) fn desired(&self, context: &Context<'_>, options: &HubOptions) -> Result<Desired, BadSavedOption> {
        let mut desired = Desired::default();
        for (name, tags) in &self.clusters {
            let cluster = saved(context, options, name, tags)?;
            desired.extend(cluster.desired(&context.scope, key(options)));
        }
        Ok(desired)
    }

    /// The clusters as JSON output lists them.
    pub(super) fn report(&self, context: &Context<'_>, options: &HubOptions) -> Vec<ClusterReport> {
        let prefix = prefix(options);
        self.clusters
            .iter()
            .map(|(name, tags)| {
                let queue = context.scope.cluster_queue(&prefix, name);
                report(context, name, &queue, tags.controller_role().as_ref())
            })
            .collect()
    }
}

/// A cluster as its queue's tags remember it.
pub(super) fn saved(
    context: &Context<'_>,
    options: &HubOptions,
    name: &ClusterName,
    tags: &Tags,
) -> Result<Cluster, BadSavedOption> {
    let chosen = ClusterOptions::saved(tags)?;
    Ok(Cluster::new(
        &context.scope,
        &prefix(options),
        name.clone(),
        tags.controller_role(),
        chosen,
    ))
}

/// The policy of a cluster on the role that its queue's tags remember.
pub(super) fn saved_policy(context: &Context<'_>, cluster: &ClusterName, tags: &Tags) -> Option<ResourceId> {
    tags.controller_role()
        .map(|role| Cluster::policy_id(&context.scope, cluster, &role))
}

/// The version of Karpenter that a queue's tags remember. For what is only said and not done, a tag that cannot be
/// understood is as good as none.
pub(super) fn karpenter_version(tags: &Tags) -> Option<KarpenterVersion> {
    ClusterOptions::saved(tags).ok()?.karpenter_version
}

/// A cluster as JSON output lists it.
pub(super) fn report(
    context: &Context<'_>,
    name: &ClusterName,
    queue: &QueueName,
    role: Option<&RoleName>,
) -> ClusterReport {
    ClusterReport {
        name: name.clone(),
        queue_name: queue.clone(),
        queue_arn: context.scope.queue_arn(queue),
        controller_role: role.cloned(),
    }
}

impl Context<'_> {
    /// The role names of the account.
    pub(super) async fn role_names(&self) -> Result<BTreeSet<RoleName>, Error> {
        use crate::cloud::Cloud;
        let _reading = self.ui.spinner("listing roles");
        self.cloud
            .role_names()
            .await
            .map_err(|fault| explain::call_failed(self, "list the roles", &fault))
    }
}
