//! The parts of a survey that a plan compares.

use std::collections::BTreeSet;

use super::Blocked;
use crate::iam::grants::queues_received_from;
use crate::model::cluster::Cluster;
use crate::model::fact::Fact;
use crate::model::hub;
use crate::model::inventory::{Observed, Reading};
use crate::model::name::{ClusterName, RoleName};
use crate::model::resource::{Resource, ResourceId, RolePolicy};
use crate::model::scope::Scope;
use crate::plan;
use crate::survey::{RolePolicies, Survey};

/// The resources of the hub.
pub(super) fn of_hub(survey: &Survey) -> Observed {
    let ids = hub::ids(&survey.scope).into_iter();
    let reading = |id| survey.observed.get(&id).cloned().map(|reading| (id, reading));
    ids.filter_map(reading).collect()
}

/// The queue of a cluster, and its policy on each role that may have it: the decided one, and those of [`roles_of`].
pub(super) fn of_cluster(survey: &Survey, cluster: &ClusterName, decided: Option<&RoleName>) -> Observed {
    let queue = ResourceId::Queue(survey.cluster_queue(cluster));
    let mut observed = Observed::default();
    if let Some(reading) = survey.observed.get(&queue) {
        observed.insert(queue, reading.clone());
    }
    let mut roles = roles_of(survey, cluster);
    roles.extend(decided.cloned());
    for role in &roles {
        if let Some(reading) = policy(survey, cluster, role) {
            observed.insert(Cluster::policy_id(&survey.scope, cluster, role), reading);
        }
    }
    observed
}

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
    match policy(survey, cluster, role) {
        Some(Reading::Present(policy)) => policy
            .as_role_policy()
            .is_some_and(|policy| queues_received_from(&policy.document).into_iter().eq([arn])),
        _ => false,
    }
}

/// The policy of a cluster on a role; `None` if the role was not read.
pub(super) fn policy(survey: &Survey, cluster: &ClusterName, role: &RoleName) -> Option<Reading> {
    let id = Cluster::policy_id(&survey.scope, cluster, role);
    if let Some(reading) = survey.observed.get(&id) {
        return Some(reading.clone());
    }
    match survey.roles.get(role)? {
        Fact::NotAsked => None,
        Fact::Absent => Some(Reading::Absent),
        Fact::Unreadable(fault) => Some(Reading::Unreadable(fault.clone())),
        Fact::Present(policies) => {
            let name = survey.scope.controller_policy(cluster);
            let found = policies.get(name.as_str());
            Some(found.map_or(Reading::Absent, |found| {
                Reading::Present(Box::new(Resource::RolePolicy(RolePolicy {
                    role: role.clone(),
                    name,
                    document: found.document_or_text(),
                })))
            }))
        }
    }
}

/// The roles that have the policy of a cluster, by its name, which no other policy has.
pub(super) fn roles_with_policy(survey: &Survey, cluster: &ClusterName) -> BTreeSet<RoleName> {
    let name = survey.scope.controller_policy(cluster);
    let has = |policies: &Fact<RolePolicies>| policies.present().is_some_and(|all| all.contains_key(name.as_str()));
    let listed = survey
        .roles
        .iter()
        .filter(|(_, policies)| has(policies))
        .map(|(role, _)| role);
    // Who may not list the policies of a role may still be allowed to read this one.
    let direct = survey.observed.resources().filter_map(Resource::as_role_policy);
    let direct = direct.filter(|policy| policy.name == name).map(|policy| &policy.role);
    listed.chain(direct).cloned().collect()
}

/// The first reading that failed among these.
pub(super) fn readable(observed: &Observed) -> Result<(), Blocked> {
    let unreadable = observed.iter().find_map(|(id, reading)| match reading {
        Reading::Unreadable(fault) => Some(Blocked::unreadable(id.clone(), fault)),
        Reading::Absent | Reading::Present(_) => None,
    });
    unreadable.map_or(Ok(()), Err)
}

/// Takes what this bus does not manage from the readings, and gives it.
pub(super) fn take_not_managed(scope: &Scope, observed: &mut Observed) -> Vec<ResourceId> {
    let foreign = observed
        .resources()
        .filter(|resource| !plan::is_ours(scope, resource, observed));
    let foreign: Vec<ResourceId> = foreign.map(Resource::id).collect();
    for id in &foreign {
        observed.remove(id);
    }
    foreign
}
