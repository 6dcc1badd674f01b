//! `policy`: what must be read for a document.

use crate::survey::{Policies, Query, Survey};

/// What must be read for the controller roles that the queues of registered clusters name, besides the names of all roles.
#[must_use]
pub fn needs_of_roles(survey: &Survey) -> Query {
    match survey.began() {
        true => Query::default(),
        false => Query {
            all_clusters: true,
            controller_roles: Some(Policies::OfBus),
            ..Query::default()
        },
    }
}
