//! `policy`: what must be read for a document.

use std::collections::BTreeSet;

use super::confirm::in_document;
use super::role_search;
use crate::model::name::ClusterName;
use crate::model::options::{DocumentFor, HubOptions};
use crate::model::resource::ResourceId;
use crate::model::scope::Scope;
use crate::survey::{Query, SavedOptions, Survey};

/// What must be read next for a document about the hub with these given options, or about a cluster of it; an empty query ends
/// the survey.
#[must_use]
pub fn needs(survey: &Survey, document: DocumentFor, given: &HubOptions, cluster: Option<&ClusterName>) -> Query {
    let scope = &survey.scope;
    let mut resources = BTreeSet::new();
    let saved = match &survey.saved {
        _ if !survey.began() => return Query::default(),
        SavedOptions::Damaged(..) => return Query::default(),
        SavedOptions::Unreadable(_) => None,
        saved => {
            let of_options = in_document(document).into_iter();
            resources.extend(of_options.map(|(_, witness)| witness.id(scope)));
            saved.options()
        }
    };
    if saved.is_some_and(|saved| saved.kms_key.is_some()) && document != DocumentFor::ReadingOperator {
        resources.insert(router_policy(scope));
    }
    if let Some(name) = cluster {
        let options = given.clone().or(saved.cloned().unwrap_or_default());
        resources.insert(ResourceId::Queue(scope.cluster_queue(&options.queue_prefix(), name)));
    }
    Query {
        resources,
        ..Query::default()
    }
}

/// What must be read for the controller roles of registered clusters.
#[must_use]
pub fn needs_of_roles(survey: &Survey) -> Query {
    match survey.began() {
        true => role_search::to_read(survey, survey.registered().keys()),
        false => Query {
            all_clusters: true,
            controller_roles: true,
            ..Query::default()
        },
    }
}

/// The policy of the router, which names the old keys that the hub still allows.
#[must_use]
pub fn router_policy(scope: &Scope) -> ResourceId {
    ResourceId::RolePolicy(scope.router_role(), scope.router_policy())
}
