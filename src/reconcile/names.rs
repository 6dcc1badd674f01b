//! Names of clusters that are not registered: already removed, mistyped, or unknown.

use std::collections::BTreeSet;

use super::blocked::UnknownCluster;
use super::inventory;
use crate::model::controller_role::{RoleCandidates, usual_names};
use crate::model::fact::Fact;
use crate::model::name::ClusterName;
use crate::survey::{Policies, Query, Survey};

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

/// The query for names that are not registered: their usual roles, and the registered clusters.
pub(super) fn query(survey: &Survey, names: &BTreeSet<ClusterName>) -> Query {
    let unregistered = unregistered(survey, names);
    if unregistered.is_empty() {
        return Query::default();
    }
    let roles = unregistered.iter().flat_map(usual_names);
    Query {
        roles: roles.map(|role| (role, Policies::OfBus)).collect(),
        all_clusters: true,
        orphans: true,
        ..Query::default()
    }
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
