//! Policies of kibus on controller roles whose cluster queue is missing.

use std::collections::{BTreeMap, BTreeSet};

use super::inventory::roles_of;
use crate::error::Hint;
use crate::iam::grants::queues_received_from;
use crate::model::fact::Fact;
use crate::model::fault::Fault;
use crate::model::inline_policy::InlinePolicy;
use crate::model::inventory::Reading;
use crate::model::name::{ClusterName, QueueName, RoleName};
use crate::model::policy;
use crate::model::resource::{Resource, ResourceId, RolePolicy};
use crate::survey::Survey;

/// A policy with a name of this bus that belongs to no registered cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stray {
    pub(super) role: RoleName,
    /// The name of the policy.
    pub(super) policy: String,
    /// The orphan that it is, if it is certain that kibus wrote it for a cluster whose queue is missing.
    pub(super) orphan: Option<Orphan>,
}

/// A policy that kibus wrote for a cluster whose queue is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Orphan {
    pub(super) cluster: ClusterName,
    /// The policy.
    pub(super) resource: Resource,
}

/// The clusters whose queues must be read to tell orphans from policies of clusters that exist.
pub(super) fn to_tell(survey: &Survey) -> BTreeSet<ClusterName> {
    let documents = survey.roles.values().filter_map(Fact::present);
    documents
        .flat_map(|policies| policies.values())
        .filter_map(|policy| cluster_of(survey, policy))
        .map(|(cluster, _)| cluster)
        .collect()
}

/// Where policies of earlier clusters were not looked for, because AWS did not answer.
pub(super) fn unread(survey: &Survey) -> Option<Hint> {
    let unread = |what: &str, fault: &Fault| {
        let text = format!("policies that earlier clusters have left on {what} are not looked for: {fault}");
        Hint::text(text)
    };
    if let Fact::Unreadable(fault) = &survey.role_names {
        return Some(unread("controller roles", fault));
    }
    let mut roles = survey
        .roles
        .iter()
        .filter_map(|(role, policies)| Some((role, policies.fault()?)));
    let (role, fault) = roles.next()?;
    Some(match roles.count() {
        0 => unread(&format!("role `{role}`"), fault),
        more => unread(&format!("role `{role}` and {more} more"), fault),
    })
}

/// Every policy with a name of this bus, on the roles that were read, that is not one of a cluster with a queue.
pub(super) fn strays(survey: &Survey) -> Vec<Stray> {
    let clusters = survey.clusters();
    let owned: BTreeSet<(RoleName, String)> = clusters
        .keys()
        .flat_map(|cluster| {
            let name = survey.scope.controller_policy(cluster).to_string();
            let roles = roles_of(survey, cluster).into_iter();
            roles.map(move |role| (role, name.clone()))
        })
        .collect();
    let mut strays = Vec::new();
    for (role, policies) in &survey.roles {
        let documents = policies.present().map(|policies| policies.values());
        for policy in documents.into_iter().flatten() {
            let key = (role.clone(), policy.name.clone());
            if !owned.contains(&key) {
                strays.push(Stray {
                    role: role.clone(),
                    policy: policy.name.clone(),
                    orphan: orphan(survey, role, policy),
                });
            }
        }
    }
    strays
}

/// The clusters that a policy of kibus on a role names and that are not registered, although their queues exist.
pub(super) fn with_queue(survey: &Survey) -> BTreeMap<ClusterName, RoleName> {
    let clusters = survey.clusters();
    let mut found = BTreeMap::new();
    for (role, policies) in &survey.roles {
        for policy in policies.present().into_iter().flat_map(BTreeMap::values) {
            let is_ours = policy.document().is_some_and(|document| policy::all_ours(&document));
            if let Some((cluster, queue)) = cluster_of(survey, policy).filter(|_| is_ours)
                && survey.observed.queue(queue).is_some()
                && !clusters.contains_key(&cluster)
            {
                found.insert(cluster, role.clone());
            }
        }
    }
    found
}

/// The orphan that a policy is: its name is the one computed for the cluster whose queue it opens, the queue is one of
/// this account, Region and prefix, and it is missing.
fn orphan(survey: &Survey, role: &RoleName, policy: &InlinePolicy) -> Option<Orphan> {
    let document = policy.document()?;
    let (cluster, queue) = cluster_of(survey, policy)?;
    let missing = survey.observed.get(&ResourceId::Queue(queue)) == Some(&Reading::Absent);
    if !missing || !policy::all_ours(&document) {
        return None;
    }
    let policy = RolePolicy {
        role: role.clone(),
        name: survey.scope.controller_policy(&cluster),
        document,
    };
    let resource = Resource::RolePolicy(policy);
    Some(Orphan { cluster, resource })
}

/// The cluster that a policy is named after, and its queue, if that is the one queue that the policy opens.
fn cluster_of(survey: &Survey, policy: &InlinePolicy) -> Option<(ClusterName, QueueName)> {
    let cluster = survey.scope.cluster_of_policy(&policy.name.parse().ok()?)?;
    if survey.scope.controller_policy(&cluster).as_str() != policy.name {
        return None;
    }
    let queue = survey.cluster_queue(&cluster);
    let opened = queues_received_from(&policy.document()?);
    opened
        .into_iter()
        .eq([survey.scope.queue_arn(&queue)])
        .then_some((cluster, queue))
}
