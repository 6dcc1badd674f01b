//! `dead-letters`: whether the dead-letter queue, and for a redrive the router, can be used.

use super::{Blocked, router};
use crate::model::resource::{Reading, ResourceId};
use crate::model::scope::Scope;
use crate::plan;
use crate::survey::Survey;

/// Checks that there is a dead-letter queue, and for a redrive also a router, that this bus manages.
///
/// # Errors
/// When there is none, or that is unknown.
pub fn check(redrive: bool, survey: &Survey) -> Result<(), Blocked> {
    let Survey { scope, observed, .. } = survey;
    let id = ResourceId::Queue(scope.dead_letter_queue());
    match survey.resource(&id) {
        Some(Reading::Unreadable(fault)) => return Err(Blocked::unreadable(id, fault)),
        Some(Reading::Present(queue)) if plan::is_ours(scope, queue, observed) => {}
        None | Some(Reading::Absent | Reading::Present(_)) => return Err(Blocked::NoHub),
    }
    for id in router(scope).into_iter().filter(|_| redrive) {
        match survey.resource(&id) {
            Some(Reading::Unreadable(fault)) => return Err(Blocked::unreadable(id, fault)),
            Some(Reading::Present(found)) => plan::check_managed(scope, found, observed)?,
            None | Some(Reading::Absent) => return Err(Blocked::NoRouter(id)),
        }
    }
    Ok(())
}

/// What a redrive invokes.
fn router(scope: &Scope) -> [ResourceId; 2] {
    [ResourceId::Function(scope.router_function()), router::live_id(scope)]
}
