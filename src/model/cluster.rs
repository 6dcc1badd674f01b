//! A cluster of a bus: its queue, and the policy on its controller role.

use std::collections::BTreeSet;
use std::time::Duration;

use super::document::Document;
use super::hub;
use super::name::{ClusterName, QueueName, QueuePrefix, RoleName};
use super::policy::{self, KeyUse, QueueOrigin};
use super::resource::{Desired, Resource, ResourceId, RolePolicy};
use super::scope::Scope;
use super::settings::Settings;
use super::tags::{CLUSTER, Tags};
use super::watch;

/// How long the router acts on what it last read of a queue's tags, at most.
pub const TAGS_REMEMBERED: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub name: ClusterName,
    pub queue: QueueName,
    /// The role that its Karpenter controller runs as; `None` if kibus does not manage a policy on it.
    pub controller_role: Option<RoleName>,
    /// How kibus came by its queue, or will.
    pub origin: QueueOrigin,
    /// The ARN of the role that the policy of its queue allows, if that is how its controller has access.
    pub granted: Option<String>,
    /// The policy of the owner of an adopted queue, as far as it stays.
    pub owner_policy: Option<Document>,
    /// The user's tags to add to its queue, or to change.
    pub tags: Tags,
    /// The keys of the tags to remove from its queue.
    pub untag: BTreeSet<String>,
}

impl Cluster {
    /// A cluster on the hub whose queues begin with this prefix, with a queue that kibus creates.
    pub fn new(scope: &Scope, prefix: &QueuePrefix, name: ClusterName, controller_role: Option<RoleName>) -> Self {
        let queue = scope.cluster_queue(prefix, &name);
        Self {
            name,
            queue,
            controller_role,
            origin: QueueOrigin::Created,
            granted: None,
            owner_policy: None,
            tags: Tags::default(),
            untag: BTreeSet::new(),
        }
    }

    pub fn desired(&self, scope: &Scope, settings: &Settings) -> Desired {
        let role = self.controller_role.as_ref().filter(|_| self.granted.is_none());
        self.with_policy_on(role, scope, settings)
    }

    /// Its desired resources with the policy on these roles, whichever role its queue names.
    pub fn with_policy_on<'a>(
        &self,
        roles: impl IntoIterator<Item = &'a RoleName>,
        scope: &Scope,
        settings: &Settings,
    ) -> Desired {
        let hub = &settings.options;
        let mut tags = Tags::of(&scope.bus).with(CLUSTER, self.name.as_str()).with_all(&self.tags);
        if let Some(role) = &self.controller_role {
            tags = tags.with_controller_role(role);
        }
        let mut queue = hub::cluster_queue(scope, self.queue.clone(), hub, tags);
        if self.origin == QueueOrigin::Adopted {
            let owner = self.owner_policy.as_ref();
            queue.policy = Some(policy::adopted_queue_policy(scope, &self.queue, hub.senders(), owner));
        }
        if let Some(role_arn) = &self.granted {
            let with = |policy| policy::with_controller(policy, scope, &self.queue, role_arn);
            queue.policy = queue.policy.map(with);
        }
        let policies = roles.into_iter().map(|role| {
            Resource::RolePolicy(RolePolicy {
                role: role.clone(),
                name: scope.controller_policy(&self.name),
                document: policy::with_old_keys(
                    policy::controller_policy(scope, &self.queue, hub.key()),
                    KeyUse::Receive,
                    scope,
                    &settings.old_keys(),
                ),
            })
        });
        let alarm = hub.has_reader_alarms().then(|| watch::reader_alarm(scope, hub, &self.name, &self.queue)).flatten();
        let queue = Resource::Queue(queue);
        let id = queue.id();
        let mut desired: Desired = std::iter::once(queue).chain(policies).chain(alarm.map(Resource::Alarm)).collect();
        desired.untag(id, self.untag.iter().cloned());
        desired
    }

    pub fn alarm_id(scope: &Scope, cluster: &ClusterName) -> ResourceId {
        ResourceId::Alarm(watch::reader_alarm_name(scope, cluster))
    }

    pub fn policy_id(scope: &Scope, cluster: &ClusterName, role: &RoleName) -> ResourceId {
        ResourceId::RolePolicy(role.clone(), scope.controller_policy(cluster))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    fn cluster(role: Option<&str>) -> Desired {
        let role = role.map(|role| role.parse().unwrap());
        let name = "base".parse().unwrap();
        let cluster = Cluster::new(&scope(), &hub::default_queue_prefix(), name, role);
        cluster.desired(&scope(), &Settings::default())
    }

    #[test]
    fn a_cluster_is_a_queue_and_a_policy() {
        let names = |desired: Desired| desired.ids().map(ResourceId::name).collect::<Vec<_>>();
        assert_eq!(names(cluster(Some("r"))), ["karpenter-base", "r/kibus.us-west-2.base"]);
        assert_eq!(names(cluster(None)), ["karpenter-base"]);
    }

    #[test]
    fn the_policy_of_the_queue_can_be_the_only_grant() {
        let mut cluster = Cluster::new(&scope(), &hub::default_queue_prefix(), "base".parse().unwrap(), None);
        let arn = scope().roles_arn("team/r");
        (cluster.controller_role, cluster.granted) = (Some("r".parse().unwrap()), Some(arn.clone()));
        for origin in [QueueOrigin::Created, QueueOrigin::Adopted] {
            cluster.origin = origin;
            let desired = cluster.desired(&scope(), &Settings::default());
            let queue = desired.resources().find_map(Resource::as_queue).unwrap();
            let policy = queue.policy.as_ref().unwrap();
            assert_eq!(desired.ids().count(), 1);
            assert_eq!(policy::controller_of_queue(policy), Some(arn.as_str()));
            assert_eq!(queue.origin(&scope()), Some(origin));
        }
    }

    #[test]
    fn the_queue_saves_the_role() {
        let desired = cluster(Some("a,b"));
        let tags = desired.resources().find_map(Resource::tags).unwrap();
        assert_eq!(tags.controller_role(), Some("a,b".parse().unwrap()));
        assert_eq!(tags.cluster_of(&scope().bus), Some("base".parse().unwrap()));
    }
}
