//! The policies of kibus on controller roles: which roles have the policy of a cluster, and policies whose cluster queue is missing.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Hint;
use crate::iam::grants::queues_received_from;
use crate::model::answer::{Fact, Fault};
use crate::model::cluster::Cluster;
use crate::model::karpenter::is_usual_role;
use crate::model::name::{ClusterName, QueueName, RoleName};
use crate::model::notation::first_of;
use crate::model::policy::{self, InlinePolicy};
use crate::model::resource::{Resource, ResourceId, RolePolicy};
use crate::survey::{RolePolicies, Survey};

/// The roles that have the policy of a cluster, and the one that its queue names. Without the queue, only what opens the queue is
/// certainly of the cluster.
pub(super) fn roles_of(survey: &Survey, cluster: &ClusterName) -> BTreeSet<RoleName> {
    let mut roles = roles_with_policy(survey, cluster);
    match survey.queue_tags(cluster) {
        Some(tags) => roles.extend(tags.controller_role()),
        None => roles.retain(|role| opens_queue(survey, cluster, role)),
    }
    roles
}

/// Whether the policy of a cluster on a role opens the cluster's queue and no other.
fn opens_queue(survey: &Survey, cluster: &ClusterName, role: &RoleName) -> bool {
    let arn = survey.scope.queue_arn(&survey.cluster_queue(cluster));
    let policy = policy(survey, cluster, role);
    let policy = policy.present().and_then(Resource::as_role_policy);
    policy.is_some_and(|policy| queues_received_from(&policy.document).into_iter().eq([arn]))
}

/// The policy of a cluster on a role, which is read if it was not.
pub(super) fn read_policy(survey: &Survey, cluster: &ClusterName, role: &RoleName) -> Fact<Resource> {
    // Who may not list the policies of a role may still be allowed to read the one of kibus.
    if let Fact::Unreadable(_) = survey.roles(role) {
        survey.resource(&Cluster::policy_id(&survey.scope, cluster, role));
    }
    policy(survey, cluster, role)
}

/// The policy of a cluster on a role, as far as it was read.
pub(super) fn policy(survey: &Survey, cluster: &ClusterName, role: &RoleName) -> Fact<Resource> {
    let direct = survey.observed.get(&Cluster::policy_id(&survey.scope, cluster, role));
    match survey.known.roles.get(role) {
        _ if direct.is_asked() => direct.clone(),
        Some(Fact::NotAsked) | None => Fact::NotAsked,
        Some(Fact::Absent) => Fact::Absent,
        Some(Fact::Unreadable(fault)) => Fact::Unreadable(fault.clone()),
        Some(Fact::Present(policies)) => {
            let name = survey.scope.controller_policy(cluster);
            let found = policies.get(name.as_str());
            found.map_or(Fact::Absent, |found| {
                Fact::Present(Resource::RolePolicy(RolePolicy {
                    role: role.clone(),
                    name,
                    document: found.document_or_text(),
                }))
            })
        }
    }
}

/// The roles that have the policy of a cluster, by its name, which no other policy has.
pub(super) fn roles_with_policy(survey: &Survey, cluster: &ClusterName) -> BTreeSet<RoleName> {
    let name = survey.scope.controller_policy(cluster);
    let has = |policies: &Fact<RolePolicies>| policies.present().is_some_and(|all| all.contains_key(name.as_str()));
    let listed = survey
        .known
        .roles
        .iter()
        .filter(|(_, policies)| has(policies))
        .map(|(role, _)| role);
    // Who may not list the policies of a role may still be allowed to read this one.
    let direct = survey.observed.resources().filter_map(Resource::as_role_policy);
    let direct = direct.filter(|policy| policy.name == name).map(|policy| &policy.role);
    listed.chain(direct).cloned().collect()
}

/// Reads the policies of every role that is named like a controller role.
pub(super) fn read_usual_roles(survey: &Survey) {
    let all = survey.listed_roles().present().into_iter().flat_map(BTreeMap::keys);
    for role in all.filter(|role| is_usual_role(role)) {
        survey.roles(role);
    }
}

/// A policy with a name of this bus that belongs to no registered cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stray {
    pub(super) role: RoleName,
    /// The name of the policy.
    pub(super) policy: String,
    /// The cluster and the policy, if it is certain that kibus wrote it for a cluster whose queue is missing.
    pub(super) orphan: Option<(ClusterName, Resource)>,
}

/// Where policies of earlier clusters were not looked for, because AWS did not answer.
pub(super) fn unread_roles(survey: &Survey) -> Option<Hint> {
    let unread = |what: &str, fault: &Fault| {
        let text = format!("policies that earlier clusters have left on {what} are not looked for: {fault}");
        Hint::text(text)
    };
    if let Fact::Unreadable(fault) = &survey.known.listed_roles {
        return Some(unread("controller roles", fault));
    }
    let unread_roles = survey
        .known
        .roles
        .iter()
        .filter_map(|(role, policies)| Some((role, policies.fault()?)));
    let (roles, faults): (Vec<_>, Vec<_>) = unread_roles.map(|(role, fault)| (format!("`{role}`"), fault)).unzip();
    let fault = faults.first()?;
    Some(unread(&format!("role {}", first_of(roles, 1)), fault))
}

/// Every policy with a name of this bus, on the roles that were read, that is not one of a cluster with a queue.
pub(super) fn strays(survey: &Survey) -> Vec<Stray> {
    read_usual_roles(survey);
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
    for (role, policies) in &survey.known.roles {
        let documents = policies.present().map(|policies| policies.values());
        for policy in documents.into_iter().flatten() {
            let key = (role.clone(), policy.name.clone());
            if !owned.contains(&key) {
                strays.push(Stray {
                    role: role.clone(),
                    policy: policy.name.clone(),
                    orphan: orphan_of(survey, role, policy),
                });
            }
        }
    }
    strays
}

/// The clusters that a policy of kibus on a role names and that are not registered, although their queues exist.
pub(super) fn named_by_policy(survey: &Survey) -> BTreeMap<ClusterName, RoleName> {
    let clusters = survey.clusters();
    let mut found = BTreeMap::new();
    for (role, policies) in &survey.known.roles {
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
fn orphan_of(survey: &Survey, role: &RoleName, policy: &InlinePolicy) -> Option<(ClusterName, Resource)> {
    let document = policy.document()?;
    let (cluster, queue) = cluster_of(survey, policy)?;
    if !policy::all_ours(&document) || *survey.resource(&ResourceId::Queue(queue)) != Fact::Absent {
        return None;
    }
    let policy = RolePolicy {
        role: role.clone(),
        name: survey.scope.controller_policy(&cluster),
        document,
    };
    Some((cluster, Resource::RolePolicy(policy)))
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
