//! The saved prefix of the cluster queues, compared with the one that the router serves. By another prefix, the queues of
//! clusters would not be found: they would stay when the bus is deleted, and a new one would receive nothing.

use super::saved_options::{Difference, SavedOption};
use super::{Blocked, unconfirmed};
use crate::error::Hint;
use crate::model::fault::FaultKind;
use crate::model::inventory::Reading;
use crate::model::name::QueuePrefix;
use crate::model::policy;
use crate::model::resource::ResourceId;
use crate::model::router_handler::RouterHandler;
use crate::plan::Refusal;
use crate::survey::Survey;

/// What must be read next to confirm the prefix: the function, and the router's policy if the function has another prefix.
pub(super) fn to_read(survey: &Survey) -> Option<ResourceId> {
    let confirmed = of_function(survey) == Some(survey.queue_prefix());
    let ids = [Some(function(survey)), (!confirmed).then(|| router_policy(survey))];
    ids.into_iter().flatten().find(|id| survey.observed.get(id).is_none())
}

/// Refuses to look for the queues of clusters by a prefix that only a tag names.
///
/// # Errors
/// When the function or the router's policy was read, and neither has the prefix.
pub(super) fn check(survey: &Survey) -> Result<(), Refusal> {
    difference(survey, &survey.queue_prefix()).map_or(Ok(()), |difference| Err(unconfirmed::refusal(difference, None)))
}

/// A warning if the caller may not read whether the router serves the prefix.
///
/// # Errors
/// When the function could not be read for another reason.
pub(super) fn unread(survey: &Survey) -> Result<Option<Hint>, Blocked> {
    let Some(Reading::Unreadable(fault)) = survey.observed.get(&function(survey)) else {
        return Ok(None);
    };
    if !matches!(fault.kind, FaultKind::Denied { .. }) {
        return Err(Blocked::Unreadable(function(survey), Box::new(fault.clone())));
    }
    let warning = || {
        Hint::text(format!(
            "unknown whether the router serves queues with prefix `{}`: {fault}",
            survey.queue_prefix()
        ))
    };
    Ok(of_policy(survey).is_none().then(warning))
}

/// The difference of a prefix from that of the router. Two resources are asked, so that drift of one is still repaired.
pub(super) fn difference(survey: &Survey, prefix: &QueuePrefix) -> Option<Difference> {
    let (of_function, of_policy) = (of_function(survey), of_policy(survey));
    if [&of_function, &of_policy]
        .into_iter()
        .flatten()
        .any(|live| live == prefix)
    {
        return None;
    }
    let of = match &of_function {
        Some(_) => function(survey),
        None => router_policy(survey),
    };
    let live = of_function.or(of_policy)?;
    let option = |prefix: &QueuePrefix| SavedOption {
        flag: "queue-prefix",
        values: vec![prefix.to_string()],
    };
    Some(Difference {
        saved: option(prefix),
        live: option(&live),
        of,
    })
}

fn of_function(survey: &Survey) -> Option<QueuePrefix> {
    let function = survey.observed.function(survey.scope.router_function())?;
    Some(RouterHandler::of(&function.settings)?.prefix)
}

fn of_policy(survey: &Survey) -> Option<QueuePrefix> {
    let policy = survey.observed.resource(&router_policy(survey))?.as_role_policy()?;
    policy::router_prefix(&survey.scope, &policy.document)
}

fn function(survey: &Survey) -> ResourceId {
    ResourceId::Function(survey.scope.router_function())
}

fn router_policy(survey: &Survey) -> ResourceId {
    ResourceId::RolePolicy(survey.scope.router_role(), survey.scope.router_policy())
}
