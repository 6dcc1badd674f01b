//! The search for a cluster's controller role, and whether it confirms a role that only a tag names.

use std::collections::{BTreeMap, BTreeSet};

use super::blocked::RoleSearch;
use super::inventory::{policy, roles_with_policy};
use super::role_evidence::{self, Evidence};
use crate::model::controller_role::{RoleCandidates, is_usual, similar, usual_names};
use crate::model::fact::Fact;
use crate::model::inventory::Reading;
use crate::model::name::{ClusterName, RoleName};
use crate::model::resource::ResourceId;
use crate::model::tags::Tags;
use crate::plan::{Action, Change, Plan, Refusal};
use crate::survey::{Query, Survey};

/// The result of a search.
pub(super) enum Found {
    /// This role.
    One(RoleName),
    /// No role, several, or only roles with a generated suffix, which may be of other clusters.
    NotOne(RoleSearch),
    /// Unknown until the names of all roles are read.
    Open,
}

/// The role that still has the policy of the cluster, else the one that evidence shows, else the one of a usual name that
/// exists.
pub(super) fn find(survey: &Survey, name: &ClusterName) -> Found {
    let holders: Vec<RoleName> = roles_with_policy(survey, name).into_iter().collect();
    if let [one] = holders.as_slice() {
        return Found::One(one.clone());
    }
    match role_evidence::of(survey, name) {
        Evidence::One(role) => return Found::One(role),
        Evidence::Unclear(search) => return Found::NotOne(search),
        Evidence::Nothing => {}
    }
    let exists = |role: &RoleName| {
        let listed = survey.role_names.present().is_some_and(|all| all.contains(role));
        listed || matches!(survey.roles.get(role), Some(Fact::Present(_)))
    };
    let mut found: Vec<RoleName> = usual_names(name).into_iter().filter(exists).collect();
    if let [one] = found.as_slice() {
        return Found::One(one.clone());
    }
    let mut close = Vec::new();
    if found.is_empty() {
        let Some(all) = survey.role_names.present() else {
            return Found::Open;
        };
        found = RoleCandidates::of(name, all).suffixed;
        if found.is_empty() {
            close = similar(name, all).into_iter().cloned().collect();
        }
    }
    Found::NotOne(RoleSearch {
        found,
        similar: close,
        evidence: role_evidence::of_nothing(survey, name),
        ..RoleSearch::nothing(name)
    })
}

/// Whether the names of all roles must be read to confirm the saved roles of these clusters.
pub(super) fn needs_names<'a>(survey: &Survey, clusters: impl IntoIterator<Item = &'a ClusterName>) -> bool {
    clusters
        .into_iter()
        .any(|cluster| saved_without_policy(survey, cluster).is_some())
}

/// The saved role of a cluster, if it exists without the policy of the cluster: only the tag names it.
fn saved_without_policy(survey: &Survey, cluster: &ClusterName) -> Option<RoleName> {
    let saved = survey.saved_tags(cluster).and_then(Tags::controller_role);
    saved.filter(|role| {
        policy(survey, cluster, role) == Some(Reading::Absent) && survey.roles.get(role) != Some(&Fact::Absent)
    })
}

/// Whether only a tag names the role of a cluster, and the search does not find it too.
pub(super) fn is_saved_and_unconfirmed(survey: &Survey, cluster: &ClusterName) -> bool {
    saved_without_policy(survey, cluster)
        .is_some_and(|role| !matches!(find(survey, cluster), Found::One(found) if found == role))
}

/// What to read to find the roles of clusters whose queues name none. Someone may have removed the tag, and a new key would
/// close the queue to the controller.
pub(super) fn of_untagged(survey: &Survey, clusters: &BTreeSet<ClusterName>) -> Query {
    if clusters.is_empty() || !survey.role_names.is_asked() {
        return Query {
            role_names: !clusters.is_empty(),
            ..Query::default()
        };
    }
    let may_be_of = |cluster: &ClusterName| match survey.role_names.present() {
        None => usual_names(cluster),
        Some(all) => {
            let named = |role: &&RoleName| is_usual(role) && role.as_str().contains(cluster.as_str());
            all.iter().filter(named).cloned().collect()
        }
    };
    let roles = clusters.iter().flat_map(may_be_of);
    Query {
        roles: roles.collect(),
        ..Query::default()
    }
}

/// Refuses to grant a queue to a role that only a tag names: someone who may tag the queue could choose the role. A role
/// that has the policy keeps it, so that it can be repaired, also if the tag is missing. A role that the search finds needs
/// no tag. Only clusters for which `applies` holds are judged.
pub(super) fn check(survey: &Survey, plan: &Plan, applies: impl Fn(&ClusterName) -> bool) -> Vec<Refusal> {
    plan.changes
        .iter()
        .filter(|change| change.cluster.as_ref().is_some_and(&applies))
        .filter_map(|change| unconfirmed(survey, change))
        .collect()
}

/// The roles that tags of registered clusters' queues name.
#[derive(Debug, Default)]
pub struct SavedRoles {
    /// Those that have the policy of their cluster, and those that the search finds too.
    pub confirmed: BTreeMap<ClusterName, RoleName>,
    /// Those that only the tag names.
    pub unconfirmed: BTreeMap<ClusterName, RoleName>,
    /// Those whose policies could not be read.
    pub unread: BTreeMap<ClusterName, RoleName>,
}

impl SavedRoles {
    /// The saved roles, in a survey of all clusters, their roles, and the names of all roles.
    #[must_use]
    pub fn of(survey: &Survey) -> Self {
        let mut roles = Self::default();
        for (cluster, tags) in survey.registered() {
            let Some(role) = tags.controller_role() else { continue };
            let part = match policy(survey, &cluster, &role) {
                Some(Reading::Present(_)) => &mut roles.confirmed,
                Some(Reading::Absent) if survey.roles.get(&role) != Some(&Fact::Absent) => {
                    match find(survey, &cluster) {
                        Found::One(found) if found == role => &mut roles.confirmed,
                        _ => &mut roles.unconfirmed,
                    }
                }
                Some(Reading::Absent) => &mut roles.unconfirmed,
                Some(Reading::Unreadable(_)) | None => &mut roles.unread,
            };
            part.insert(cluster, role);
        }
        roles
    }
}

/// The refusal to create the policy of a role that only a tag names, or to delete the policy of a registered cluster whose
/// queue names no role.
fn unconfirmed(survey: &Survey, change: &Change) -> Option<Refusal> {
    let (ResourceId::RolePolicy(role, policy), Some(cluster)) = (&change.id, &change.cluster) else {
        return None;
    };
    let saved = survey.saved_tags(cluster)?.controller_role();
    let (cluster, role, policy) = (cluster.clone(), role.clone(), policy.clone());
    match (change.action, saved) {
        (Action::Create, Some(saved)) if saved == role && survey.roles.get(&role) != Some(&Fact::Absent) => {
            let found = match find(survey, &cluster) {
                Found::One(found) if found == role => return None,
                Found::One(found) => Some(found),
                Found::NotOne(_) | Found::Open => None,
            };
            Some(Refusal::UnconfirmedRole {
                cluster,
                role,
                policy,
                found,
            })
        }
        (Action::Delete, None) => Some(Refusal::UnconfirmedRemoval { cluster, role, policy }),
        _ => None,
    }
}
