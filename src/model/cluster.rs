//! The desired resources of a recorded cluster: its record, its queue, the policy on its controller role, and its alarm.

use std::time::Duration;

use super::hub;
use super::name::{ClusterName, RoleName};
use super::policy::{self, KeyUse};
use super::record::ClusterRecord;
use super::resource::{Desired, Record, Resource, ResourceId, RolePolicy};
use super::scope::Scope;
use super::settings::Settings;
use super::watch;

/// The maximum time that the router uses the queue tags that it last read.
pub const TAGS_REMEMBERED: Duration = Duration::from_secs(30);

impl ClusterRecord {
    /// Its desired resources. If another tool manages the queue of the cluster, kibus has only the record and the alarm.
    pub fn desired(&self, scope: &Scope, settings: &Settings) -> Desired {
        let hub = &settings.options;
        let mut desired = Desired::from_iter([Resource::Record(Record::new(scope, self.clone()))]);
        if self.has_own_queue() {
            let queue = hub::cluster_queue(scope, self.queue.clone(), hub, self.queue_tags(scope));
            desired.insert(Resource::Queue(queue));
            if let Some(role) = &self.role {
                desired.insert(self.policy_on(role, scope, settings));
            }
        }
        let alarm = || watch::reader_alarm(scope, hub, &self.cluster, &self.queue);
        if let Some(alarm) = hub.has_reader_alarms().then(alarm).flatten() {
            desired.insert(Resource::Alarm(alarm));
        }
        desired
    }

    /// The policy that lets a role use its queue.
    pub fn policy_on(&self, role: &RoleName, scope: &Scope, settings: &Settings) -> Resource {
        let policy = policy::controller_policy(scope, &self.queue, settings.options.key());
        Resource::RolePolicy(RolePolicy {
            role: role.clone(),
            name: scope.controller_policy(&self.cluster),
            document: policy::with_old_keys(policy, KeyUse::Receive, scope, &settings.old_keys()),
        })
    }
}

impl Scope {
    /// The alarm that fires when nothing reads a cluster's queue.
    pub fn reader_alarm_id(&self, cluster: &ClusterName) -> ResourceId {
        ResourceId::Alarm(watch::reader_alarm_name(self, cluster))
    }

    /// The policy of a cluster on a role.
    pub fn controller_policy_id(&self, cluster: &ClusterName, role: &RoleName) -> ResourceId {
        ResourceId::RolePolicy(role.clone(), self.controller_policy(cluster))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HubOptions, Moment, scope::tests::scope};

    #[test]
    fn a_cluster_is_a_record_a_queue_and_a_policy() {
        let record = ClusterRecord::new(&scope(), &HubOptions::default(), "base".parse().unwrap(), Moment(1));
        let alarms = HubOptions { reader_alarms: Some(true), ..HubOptions::default() };
        let role = Some("r".parse().unwrap());
        for (record, options, names) in [
            (record.clone(), HubOptions::default(), "karpenter-base"),
            (ClusterRecord { role, ..record.clone() }, HubOptions::default(), "karpenter-base r/kibus.us-west-2.base"),
            (ClusterRecord { external: true, ..record }, alarms, "kibus-reader-base"),
        ] {
            let desired = record.desired(&scope(), &options.into());
            let found = desired.ids().map(ResourceId::name).collect::<Vec<_>>().join(" ");
            assert_eq!(found, format!("/kibus/kibus/clusters/base {names}"));
        }
    }
}
