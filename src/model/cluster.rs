//! A cluster of a bus: its queue, and the policy on its controller role.

use std::time::Duration;

use serde_json::Value;

use super::hub;
use super::inventory::Desired;
use super::karpenter::KarpenterVersion;
use super::name::{ClusterName, KmsKey, QueueName, QueuePrefix, RoleName};
use super::options::{ClusterOptions, HubOptions, UserTags};
use super::policy;
use super::policy::queue_policy;
use super::resource::{Resource, ResourceId, RolePolicy};
use super::scope::Scope;
use super::tags::{CLUSTER, Tags};

/// How long the router acts on what it last read of a queue's tags, at most.
pub const TAGS_REMEMBERED: Duration = Duration::from_secs(30);

/// A cluster with every option decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub name: ClusterName,
    pub queue: QueueName,
    /// The role that its Karpenter controller runs as; `None` if kibus does not manage a policy on it.
    pub controller_role: Option<RoleName>,
    /// Its other options.
    pub options: ClusterOptions,
    /// The statements by which others may send to its queue: those of an adopted queue that keeps its senders.
    pub old_senders: Vec<Value>,
}

impl Cluster {
    /// A cluster on the hub whose queues begin with this prefix.
    #[must_use]
    pub fn new(
        scope: &Scope,
        prefix: &QueuePrefix,
        name: ClusterName,
        controller_role: Option<RoleName>,
        options: ClusterOptions,
    ) -> Self {
        let queue = scope.cluster_queue(prefix, &name);
        Self {
            name,
            queue,
            controller_role,
            options,
            old_senders: Vec::new(),
        }
    }

    /// Its desired resources, on a hub with these options.
    #[must_use]
    pub fn desired(&self, scope: &Scope, hub: &HubOptions) -> Desired {
        self.with_policy_on(&self.controller_role, scope, hub)
    }

    /// The same with the policy on these roles, whichever role its queue names.
    #[must_use]
    pub fn with_policy_on<'a>(
        &self,
        roles: impl IntoIterator<Item = &'a RoleName>,
        scope: &Scope,
        hub: &HubOptions,
    ) -> Desired {
        let user = self.options.tags.as_ref().map(UserTags::tags).unwrap_or_default();
        let tags = Tags::of(&scope.bus)
            .with(CLUSTER, self.name.as_str())
            .with_all(&user)
            .with_all(&self.options.saved_tags());
        let tags = match &self.controller_role {
            Some(role) => tags.with_controller_role(role),
            None => tags,
        };
        let mut queue = hub::cluster_queue(scope, self.queue.clone(), hub, tags);
        if !self.old_senders.is_empty() {
            queue.policy = Some(queue_policy::with_senders(scope, &self.queue, &self.old_senders));
        }
        let policies = roles.into_iter().map(|role| {
            Resource::RolePolicy(RolePolicy {
                role: role.clone(),
                name: scope.controller_policy(&self.name),
                document: self.controller_document(scope, hub.key()),
            })
        });
        std::iter::once(Resource::Queue(queue)).chain(policies).collect()
    }

    /// The policy of its controller role.
    #[must_use]
    pub fn controller_document(&self, scope: &Scope, key: Option<&KmsKey>) -> super::document::Document {
        let asks = self
            .options
            .karpenter_version
            .is_some_and(KarpenterVersion::asks_queue_attributes);
        policy::controller(scope, &self.queue, asks, key)
    }

    /// The id of the policy on a role.
    #[must_use]
    pub fn policy_id(scope: &Scope, cluster: &ClusterName, role: &RoleName) -> ResourceId {
        ResourceId::RolePolicy(role.clone(), scope.controller_policy(cluster))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    fn cluster(role: Option<&str>, version: Option<&str>) -> Desired {
        let options = ClusterOptions {
            karpenter_version: version.map(|v| v.parse().unwrap()),
            ..ClusterOptions::default()
        };
        let role = role.map(|role| role.parse().unwrap());
        Cluster::new(
            &scope(),
            &hub::default_queue_prefix(),
            "base".parse().unwrap(),
            role,
            options,
        )
        .desired(&scope(), &HubOptions::default())
    }

    #[test]
    fn a_cluster_is_a_queue_and_a_policy() {
        let names = |desired: Desired| desired.ids().map(ResourceId::name).collect::<Vec<_>>();
        assert_eq!(
            names(cluster(Some("r"), None)),
            ["karpenter-base", "r/kibus.us-west-2.base"]
        );
        assert_eq!(names(cluster(None, None)), ["karpenter-base"]);
    }

    #[test]
    fn the_queue_saves_role_and_version() {
        let desired = cluster(Some("a,b"), Some("0.32.1"));
        let tags = desired.resources().find_map(Resource::tags).unwrap();
        assert_eq!(tags.controller_role(), Some("a,b".parse().unwrap()));
        assert_eq!(tags.cluster_of(&scope().bus), Some("base".parse().unwrap()));
        let saved = ClusterOptions::saved(tags).unwrap();
        assert_eq!(saved.karpenter_version, Some("0.32.1".parse().unwrap()));
    }
}
