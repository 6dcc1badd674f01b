//! What a hub's options ask for beyond the hub itself: room in the account, a key that lets the rules in, and clusters
//! that follow.

use super::add_cluster::indented;
use super::clusters::{self, Registered};
use super::context::Context;
use super::explain;
use crate::error::Error;
use crate::model::choice::HubChoices;
use crate::model::policy;
use crate::model::resource::{Resource, ResourceId};
use crate::model::world::{Observed, World};
use crate::plan;
use crate::ui::json::ClusterReport;

/// Whether the account has as much concurrency as is to be set aside. Gives a warning where that cannot be asked.
pub(super) async fn check_concurrency(
    context: &Context<'_>,
    wanted: &World,
    observed: &Observed,
) -> Result<Option<String>, Error> {
    let id = ResourceId::Function(context.scope.router_function());
    let reserved = |resource: Option<&Resource>| match resource {
        Some(Resource::Function(function)) => function.reserved_concurrency,
        _ => None,
    };
    let (wanted, live) = (reserved(wanted.get(&id)), reserved(observed.resource(&id)));
    if wanted.is_none() || wanted <= live {
        return Ok(None);
    }
    match context.cloud.unreserved_concurrency().await {
        Ok(None) => Ok(None),
        Ok(Some(unreserved)) => plan::check_concurrency(wanted, live, unreserved)
            .map(|()| None)
            .map_err(|refusal| explain::refused(context, &[refusal])),
        Err(fault) => Ok(Some(format!(
            "it is not known whether the account has so much concurrency left: {fault}"
        ))),
    }
}

/// What must be so before a key is used or left, if it is another than before. Whether it is so only the key's policy
/// can tell, which is read by whoever looks after the key: kibus asks for no permission on keys that it does not need.
pub(super) fn check_key(
    context: &Context<'_>,
    before: Option<&HubChoices>,
    after: &HubChoices,
) -> Result<Vec<String>, Error> {
    let (before, after) = (before.and_then(clusters::key), clusters::key(after));
    let mut warnings = Vec::new();
    if let Some(key) = after {
        plan::check_key(&context.scope, key).map_err(|refusal| explain::refused(context, &[refusal]))?;
    }
    if before == after {
        return Ok(warnings);
    }
    if let Some(key) = before {
        warnings.push(format!(
            "messages that still wait under key `{key}` cannot be read once the permission to use it is gone: see that \
             the queues are empty, or give the router and the controllers that permission until they are"
        ));
    }
    if after.is_some() {
        warnings.push(format!(
            "events are lost without a trace unless the policy of this key lets EventBridge in; kibus cannot see whether \
             it does. It must be a customer managed key, leave the rest to the account's IAM policies as the default key \
             policy does, and have this statement:\n{}",
            indented(&policy::key_statement(&context.scope).pretty())
        ));
    }
    Ok(warnings)
}

/// Adds the clusters whose queues and policies follow the hub's key. Where no key was ever chosen nothing follows,
/// and nothing is read.
pub(super) async fn with_clusters(
    context: &Context<'_>,
    before: Option<&HubChoices>,
    after: &HubChoices,
    wanted: &mut World,
    observed: &mut Observed,
) -> Result<Vec<ClusterReport>, Error> {
    let Some(before) = before.filter(|before| before.kms_key.is_some() || after.kms_key.is_some()) else {
        return Ok(Vec::new());
    };
    let mut registered = Registered::find(context, before).await?;
    registered.read_policies(context).await;
    if let Some((id, fault)) = registered.faults.first() {
        return Err(explain::unreadable(context, id, fault));
    }
    wanted.extend(registered.world(context, after)?);
    observed.extend(registered.observed.clone());
    Ok(registered.report(context, after))
}
