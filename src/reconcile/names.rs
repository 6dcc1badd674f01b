//! Names of clusters that are not registered: already removed, mistyped, or unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::blocked::{Blocked, UnknownCluster};
use super::inventory;
use super::target::Target;
use crate::model::controller_role::{RoleCandidates, usual_names};
use crate::model::fact::Fact;
use crate::model::name::{ClusterName, RoleName};
use crate::survey::{Policies, Survey};

/// A name is close to another if it differs in one edit, or in one edit for this many letters.
const LETTERS_PER_EDIT: usize = 4;

/// The evidence for a name that is not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// A controller role or a policy of the cluster exists: it was registered, or could be.
    Exists,
    /// Nothing of it exists.
    Nothing,
}

/// What tells whether those of the names that are not registered are of earlier clusters: their usual roles.
pub(super) fn roles(survey: &Survey, names: &BTreeSet<ClusterName>) -> BTreeMap<RoleName, Policies> {
    let unregistered = unregistered(survey, names);
    let roles = unregistered.iter().flat_map(usual_names);
    roles.map(|role| (role, Policies::OfBus)).collect()
}

/// Fails if a cluster is to be removed that never existed, and its name is close to another.
pub(super) fn known(survey: &Survey, target: &Target) -> Result<(), Blocked> {
    let never = never_existed(survey, target).into_iter();
    let unknown = never
        .map(|name| unknown(survey, &name))
        .filter(|name| !name.similar.is_empty());
    let unknown: Vec<UnknownCluster> = unknown.collect();
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(Blocked::UnknownClusters(unknown)),
    }
}

/// The clusters to be removed of which nothing exists, unless that is ignored.
pub(super) fn never_existed(survey: &Survey, target: &Target) -> BTreeSet<ClusterName> {
    let removed = target.removed().into_iter().filter(|(_, ignored)| !ignored);
    let mut names = unregistered(survey, &removed.map(|(name, _)| name.clone()).collect());
    names.retain(|name| evidence(survey, name) == Evidence::Nothing);
    names
}

/// Those of the names that have no queue.
pub(super) fn unregistered(survey: &Survey, names: &BTreeSet<ClusterName>) -> BTreeSet<ClusterName> {
    let clusters = survey.clusters();
    names
        .iter()
        .filter(|name| !clusters.contains_key(*name))
        .cloned()
        .collect()
}

/// The evidence for a name that is not registered.
pub(super) fn evidence(survey: &Survey, name: &ClusterName) -> Evidence {
    let queue = survey.cluster_queue(name);
    let role_exists = usual_names(name)
        .iter()
        .any(|role| matches!(survey.roles.get(role), Some(Fact::Present(_))));
    let listed = survey.role_names.present();
    let role_listed = listed.is_some_and(|all| RoleCandidates::of(name, all) != RoleCandidates::default());
    if role_exists || role_listed || !inventory::roles_with_policy(survey, name, &queue).is_empty() {
        Evidence::Exists
    } else {
        Evidence::Nothing
    }
}

/// The name of a cluster that does not exist, with the registered clusters whose names are close.
pub(super) fn unknown(survey: &Survey, name: &ClusterName) -> UnknownCluster {
    let close = |other: &&ClusterName| {
        let edits = strsim::osa_distance(name.as_str(), other.as_str());
        edits <= (name.as_str().len() / LETTERS_PER_EDIT).max(1)
    };
    UnknownCluster {
        name: name.clone(),
        similar: survey.registered().keys().filter(close).cloned().collect(),
    }
}
