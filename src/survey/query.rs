//! What a survey reads next.

use std::collections::BTreeSet;

use super::EksQuery;
use crate::model::name::{ClusterName, KmsKey, QueueName, QueuePrefix, RoleName, RuleName};
use crate::model::resource::ResourceId;

/// A query about one hub. Its settings are always read. Nothing is read twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Every resource of the hub.
    pub hub: bool,
    /// The prefix of cluster queues, if the hub has no settings.
    pub new_prefix: Option<QueuePrefix>,
    /// The queues of these clusters.
    pub clusters: BTreeSet<ClusterName>,
    /// Which queues with a usual name of these clusters' interruption queues exist.
    pub usual_queues: BTreeSet<ClusterName>,
    /// The queues of all registered clusters.
    pub all_clusters: bool,
    /// The policies of this bus on the roles that the clusters' queues have saved.
    pub controller_roles: bool,
    /// The policies of this bus on these roles.
    pub roles: BTreeSet<RoleName>,
    /// All inline policies of these roles, whoever wrote them.
    pub all_policies: BTreeSet<RoleName>,
    /// The names of all roles of the account.
    pub role_names: bool,
    /// The inline policies of this bus on every role that is named like a controller role.
    pub orphans: bool,
    /// What policies decide about the calls of these clusters' controllers, which run as these roles.
    pub controller_access: BTreeSet<(ClusterName, RoleName)>,
    /// These resources.
    pub resources: BTreeSet<ResourceId>,
    /// The policy of this key.
    pub key: Option<KmsKey>,
    /// The concurrency that is left in the account.
    pub concurrency: bool,
    /// Which queues have these as their dead-letter queues.
    pub dead_letter_sources: BTreeSet<QueueName>,
    /// The settings of these published versions of the router.
    pub versions: BTreeSet<u64>,
    /// The event source mappings of the router, its aliases and its versions, whoever created them.
    pub function_mappings: bool,
    /// The statements of the router's resource policies.
    pub function_permissions: bool,
    /// The clusters whose events the router dropped because they are not on its bus.
    pub dropped_clusters: bool,
    /// What EKS knows of clusters.
    pub eks: EksQuery,
    /// All rules of the default event bus, whoever created them.
    pub event_rules: bool,
    /// The targets of these rules.
    pub rule_targets: BTreeSet<RuleName>,
    /// The tags of these rules.
    pub rule_tags: BTreeSet<RuleName>,
    /// What happened on these queues in the last day.
    pub queue_activity: BTreeSet<QueueName>,
}

impl Query {
    /// Whether the query is empty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
