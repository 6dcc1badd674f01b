//! The clusters of a target: the controller role of each, and their desired resources beside those that were read.

use std::collections::{BTreeMap, BTreeSet};

use super::blocked::{MissingRole, RoleSearch, RoleSource};
use super::inventory::{of_cluster, roles_with_policy};
use super::role_search::{self, Found};
use super::target::{ClusterSetting, Others, RoleOption, Target};
use super::{Blocked, adoption, orphan};
use crate::model::cluster::Cluster;
use crate::model::controller_role::similar;
use crate::model::fact::Fact;
use crate::model::inventory::{Desired, Observed, Reading};
use crate::model::name::{ClusterName, QueueName, RoleName};
use crate::model::resource::ResourceId;
use crate::model::settings::Settings;
use crate::model::tags::Tags;
use crate::survey::Survey;

/// Which role a cluster's controller runs as.
pub(super) enum RoleDecision {
    Role(RoleName),
    /// Kibus does not manage a policy on it.
    Unmanaged,
    /// Unknown until more is read.
    Open,
    /// No role is certainly the one.
    NotFound(RoleSearch),
    /// The role does not exist.
    Missing(MissingRole),
}

/// The controller role of a cluster that is set: named now, or found.
pub(super) fn decide(survey: &Survey, name: &ClusterName, setting: &ClusterSetting) -> RoleDecision {
    match &setting.role {
        RoleOption::Unmanaged => RoleDecision::Unmanaged,
        RoleOption::Named(template) => match template.role(name) {
            Ok(role) => existing(survey, name, role, BTreeSet::new()),
            Err(_) => RoleDecision::NotFound(RoleSearch::nothing(name)),
        },
        RoleOption::Search => match role_search::find(survey, name) {
            Found::One(role, sources) => existing(survey, name, role, sources),
            Found::Unmanaged => RoleDecision::Unmanaged,
            Found::NotOne(search) => RoleDecision::NotFound(search),
            Found::Open => RoleDecision::Open,
        },
    }
}

/// Whether a role was found by what may be wrong: only a person who sees it may let it have the policy.
fn is_guess(sources: &BTreeSet<RoleSource>) -> bool {
    let is_record = |source: &RoleSource| matches!(source, RoleSource::Policy | RoleSource::Tag);
    !sources.iter().any(is_record)
}

/// What the role of a cluster that is set was found by; empty if it is named, not managed, or on record.
pub(super) fn found_by(survey: &Survey, target: &Target, name: &ClusterName) -> BTreeSet<RoleSource> {
    let searches = target
        .set()
        .get(name)
        .is_some_and(|setting| setting.role == RoleOption::Search);
    match role_search::find(survey, name) {
        Found::One(_, sources) if searches && !sources.contains(&RoleSource::Policy) => sources,
        _ => BTreeSet::new(),
    }
}

/// The decision for a role that may not exist.
fn existing(survey: &Survey, cluster: &ClusterName, role: RoleName, sources: BTreeSet<RoleSource>) -> RoleDecision {
    let absent = match survey.roles.get(&role) {
        Some(Fact::Absent) => true,
        Some(Fact::Unreadable(_)) => survey.observed.get(&ResourceId::Role(role.clone())) == Some(&Reading::Absent),
        _ => false,
    };
    if !absent {
        return RoleDecision::Role(role);
    }
    let similar = survey.role_names.present().map(|all| similar(cluster, all));
    RoleDecision::Missing(MissingRole {
        cluster: cluster.clone(),
        sources,
        role,
        similar: similar.unwrap_or_default().into_iter().cloned().collect(),
    })
}

/// The registered clusters that a target keeps as they are saved, with the tags of their queues.
pub fn kept<'a>(survey: &'a Survey, target: &Target) -> BTreeMap<ClusterName, &'a Tags> {
    let mut kept = match target.is_check() {
        true => survey.registered(),
        false => BTreeMap::new(),
    };
    kept.retain(|name, _| target.checks(name));
    kept
}

/// The same clusters by their queues.
pub(super) fn kept_by_queue(survey: &Survey, target: &Target) -> BTreeMap<QueueName, ClusterName> {
    let names = kept(survey, target).into_keys();
    names.map(|name| (survey.cluster_queue(&name), name)).collect()
}

/// The clusters that are set, each with its decided role.
pub(super) fn set(survey: &Survey, target: &Target, hub: &Settings) -> Result<Vec<Cluster>, Blocked> {
    let (mut clusters, mut missing, mut not_found) = (Vec::new(), Vec::new(), Vec::new());
    adoption::check_queues(survey, target)?;
    for (name, setting) in target.set() {
        let role = match decide(survey, name, setting) {
            RoleDecision::Role(role) => Some(role),
            RoleDecision::Unmanaged => None,
            RoleDecision::NotFound(search) => {
                not_found.push(search);
                continue;
            }
            RoleDecision::Missing(role) => {
                missing.push(role);
                continue;
            }
            RoleDecision::Open => {
                if let Some(fault) = survey.role_names.fault() {
                    return Err(Blocked::call_failed("list the roles", fault));
                }
                not_found.push(RoleSearch::nothing(name));
                continue;
            }
        };
        clusters.push(adoption::set(survey, hub, name, role, setting));
    }
    if !missing.is_empty() {
        return Err(Blocked::NoSuchRoles(missing));
    }
    if !not_found.is_empty() {
        return Err(Blocked::RolesNotFound(not_found));
    }
    Ok(clusters)
}

/// What is compared of the clusters: those that are set, as decided, and all others that the target is about. `follow` says
/// that all clusters follow a change of the hub.
pub(super) fn compared(
    survey: &Survey,
    target: &Target,
    hub: &Settings,
    set: &[Cluster],
    follow: bool,
) -> (Desired, Observed) {
    let (scope, removes_all) = (&survey.scope, target.others == Others::Remove);
    let (mut desired, mut observed) = (Desired::default(), Observed::default());
    let mut saved = match follow || removes_all {
        true => survey.clusters(),
        false => kept(survey, target),
    };
    saved.retain(|name, _| !target.clusters.contains_key(name) || target.is_check());
    for name in saved.keys().chain(target.removed().into_keys()) {
        observed.extend(of_cluster(survey, name, None));
    }
    if removes_all {
        for name in survey.only_tagged().into_keys() {
            observed.extend(of_cluster(survey, &name, None));
        }
    }
    if !target.is_check() {
        desired.extend(adoption::handed_back(survey, &observed));
    }
    if removes_all {
        for orphan in orphan::strays(survey).into_iter().filter_map(|stray| stray.orphan) {
            let id = orphan.resource.id();
            observed.insert(id, Reading::Present(Box::new(orphan.resource)));
        }
    } else {
        for (name, tags) in saved {
            let role = match role_search::find(survey, &name) {
                Found::One(role, sources) if target.is_check() || !is_guess(&sources) => Some(role),
                Found::Unmanaged => None,
                // Nothing of it changes: neither the tag, nor which roles have the policy.
                Found::One(..) | Found::NotOne(_) | Found::Open => {
                    let holders = roles_with_policy(survey, &name);
                    let gone = role_search::gone(survey, &name).filter(|_| target.is_check() && holders.is_empty());
                    let cluster = adoption::registered(survey, hub, name, tags.controller_role());
                    desired.extend(cluster.with_policy_on(holders.iter().chain(&gone), scope, hub));
                    continue;
                }
            };
            let cluster = adoption::registered(survey, hub, name, role);
            desired.extend(cluster.desired(scope, hub));
        }
    }
    for cluster in set {
        observed.extend(of_cluster(survey, &cluster.name, cluster.controller_role.as_ref()));
        desired.extend(cluster.desired(scope, hub));
    }
    (desired, observed)
}
