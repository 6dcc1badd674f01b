//! `policy`: what must be read for a document.

use super::role_search;
use crate::survey::{Query, Survey};

/// What must be read for the controller roles of registered clusters.
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
