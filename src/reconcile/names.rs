//! Names of clusters that are not registered: already removed, mistyped, or unknown.

use std::collections::BTreeSet;

use super::blocked::{Blocked, UnknownCluster};
use super::inventory::roles_with_policy;
use super::target::Target;
use crate::model::controller_role::{RoleCandidates, usual_names};
use crate::model::fact::Fact;
use crate::model::name::{ClusterName, RoleName};
use crate::survey::Survey;

/// A name is close to another if it differs in one edit, or in one edit for this many letters.
const LETTERS_PER_EDIT: usize = 4;

/// What tells whether those of the names that are not registered are of earlier clusters: their usual roles.
pub(super) fn roles(survey: &Survey, names: &BTreeSet<ClusterName>) -> BTreeSet<RoleName> {
    unregistered(survey, names).iter().flat_map(usual_names).collect()
}

/// Fails if a cluster is to be removed that never existed, if something of the others would be removed, or its name is close to
/// that of a registered cluster.
pub(super) fn known(survey: &Survey, target: &Target) -> Result<(), Blocked> {
    let mut never = never_existed(survey, target);
    let mut others: BTreeSet<ClusterName> = target.removed().into_keys().cloned().collect();
    let clusters = survey.clusters();
    others.retain(|name| clusters.contains_key(name) || !roles_with_policy(survey, name).is_empty());
    if others.is_empty() {
        let registered = survey.registered();
        never.retain(|name| !close(name, registered.keys().cloned()).is_empty());
    }
    all_known(survey, &never, others)
}

/// Fails if there are names that no cluster has, beside these others.
pub(super) fn all_known(
    survey: &Survey,
    unknown: &BTreeSet<ClusterName>,
    others: BTreeSet<ClusterName>,
) -> Result<(), Blocked> {
    let unknown = unknown.iter().map(|name| UnknownCluster {
        name: name.clone(),
        similar: close(name, survey.registered().into_keys()),
    });
    match unknown.len() {
        0 => Ok(()),
        _ => Err(Blocked::UnknownClusters(unknown.collect(), others)),
    }
}

/// The clusters to be removed of which nothing exists, unless that is ignored.
pub(super) fn never_existed(survey: &Survey, target: &Target) -> BTreeSet<ClusterName> {
    let removed = target.removed().into_iter().filter(|(_, ignored)| !ignored);
    let mut names = unregistered(survey, &removed.map(|(name, _)| name.clone()).collect());
    names.retain(|name| !leaves_traces(survey, name));
    names
}

/// Those of the names that have no queue.
pub(super) fn unregistered(survey: &Survey, names: &BTreeSet<ClusterName>) -> BTreeSet<ClusterName> {
    let registered = survey.clusters().into_keys().collect();
    names - &registered
}

/// Whether a controller role or a policy of a cluster that has no queue of kibus exists, or a queue of others with the name
/// of its queue: it was registered, or could be.
pub(super) fn leaves_traces(survey: &Survey, name: &ClusterName) -> bool {
    let exists = |role: &RoleName| matches!(survey.roles.get(role), Some(Fact::Present(_)));
    let listed = survey.role_names.present();
    usual_names(name).iter().any(exists)
        || listed.is_some_and(|all| RoleCandidates::of(name, all) != RoleCandidates::default())
        || !roles_with_policy(survey, name).is_empty()
        || survey.queue_tags(name).is_some()
}

/// Those of the clusters whose names are close.
pub(super) fn close(name: &ClusterName, clusters: impl Iterator<Item = ClusterName>) -> BTreeSet<ClusterName> {
    let is_close = |other: &ClusterName| {
        let edits = strsim::osa_distance(name.as_str(), other.as_str());
        edits <= (name.as_str().len() / LETTERS_PER_EDIT).max(1)
    };
    clusters.filter(is_close).collect()
}
