//! The search for a cluster's controller role, and whether it confirms a role that only a tag names.

use super::blocked::RoleSearch;
use super::inventory::{policy, roles_with_policy};
use crate::model::controller_role::{matching, similar, usual_names};
use crate::model::inventory::Reading;
use crate::model::name::{ClusterName, RoleName};
use crate::model::resource::ResourceId;
use crate::model::tags::Tags;
use crate::plan::{Action, Change, Plan, Refusal};
use crate::survey::{Fact, Survey};

/// The result of a search.
pub(super) enum Found {
    /// This role.
    One(RoleName),
    /// No role, or several.
    NotOne(RoleSearch),
    /// Unknown until the names of all roles are read.
    Open,
}

/// The one role of a usual name that exists, else the one with a generated suffix. A role that still has the policy
/// of the cluster takes precedence.
pub(super) fn find(survey: &Survey, name: &ClusterName) -> Found {
    let holders = roles_with_policy(survey, name, &survey.cluster_queue(name));
    let mut found: Vec<RoleName> = if holders.len() == 1 {
        holders.into_iter().collect()
    } else {
        let exists = |role: &RoleName| matches!(survey.roles.get(role), Some(Fact::Present(_)));
        usual_names(name).into_iter().filter(exists).collect()
    };
    let mut close = Vec::new();
    if found.is_empty() {
        let Some(all) = survey.role_names.present() else {
            return Found::Open;
        };
        found = matching(name, all);
        if found.is_empty() {
            close = similar(name, all).into_iter().cloned().collect();
        }
    }
    match found.as_slice() {
        [one] => Found::One(one.clone()),
        _ => Found::NotOne(RoleSearch {
            cluster: name.clone(),
            found,
            similar: close,
        }),
    }
}

/// Whether the names of all roles must be read to confirm the saved roles of these clusters.
pub(super) fn needs_names<'a>(survey: &Survey, clusters: impl IntoIterator<Item = &'a ClusterName>) -> bool {
    let unconfirmed = |cluster: &ClusterName| {
        let Some(role) = survey.saved_tags(cluster).and_then(Tags::controller_role) else {
            return false;
        };
        let lacks_policy = policy(survey, cluster, &role) == Some(Reading::Absent);
        lacks_policy && survey.roles.get(&role) != Some(&Fact::Absent) && matches!(find(survey, cluster), Found::Open)
    };
    matches!(survey.role_names, Fact::NotAsked) && clusters.into_iter().any(unconfirmed)
}

/// Refuses to grant a queue to a role that only a tag names: whoever may tag the queue could choose the role. A role that
/// has the policy keeps it, so that it can be repaired, and a role that the search finds needs no tag.
pub(super) fn check(survey: &Survey, plan: &Plan) -> Vec<Refusal> {
    plan.changes
        .iter()
        .filter_map(|change| unconfirmed(survey, change))
        .collect()
}

fn unconfirmed(survey: &Survey, change: &Change) -> Option<Refusal> {
    let (Action::Create, ResourceId::RolePolicy(role, _), Some(cluster)) =
        (change.action, &change.id, change.owner.cluster())
    else {
        return None;
    };
    let saved = survey.saved_tags(cluster).and_then(Tags::controller_role);
    if saved.as_ref() != Some(role) || survey.roles.get(role) == Some(&Fact::Absent) {
        return None;
    }
    let found = match find(survey, cluster) {
        Found::One(found) if found == *role => return None,
        Found::One(found) => Some(found),
        Found::NotOne(_) | Found::Open => None,
    };
    Some(Refusal::UnconfirmedRole {
        cluster: cluster.clone(),
        queue: survey.cluster_queue(cluster),
        role: role.clone(),
        policy: change.id.clone(),
        found,
    })
}
