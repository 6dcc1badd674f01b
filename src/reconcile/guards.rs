//! All guards: what refuses a target, whichever command made it. A guard that does not apply says so by its condition.

use std::collections::BTreeSet;

use super::target::{HubTarget, Others, RoleOption};
use super::{Case, Request, confirm, hub, role_search, router_code};
use crate::model::fact::Fact;
use crate::model::name::ClusterName;
use crate::model::options::HubOptions;
use crate::plan::{self, Allowed, Refusal};

/// The guards of a request, which need no plan. A request that one of them refuses is not planned, unless it is a check.
const OF_REQUEST: &[fn(&Request<'_>) -> Vec<Refusal>] = &[
    empty_prefix,
    prefix_that_only_a_tag_names,
    prefix_in_use,
    queue_name_of_the_hub,
];

/// The guards of a plan, in the order in which refusals are shown.
const OF_PLAN: &[fn(&Case<'_>) -> Vec<Refusal>] = &[
    key_of_another_region,
    too_little_concurrency,
    old_key_in_use,
    unsafe_changes,
    full_role,
    role_that_only_a_tag_names,
    change_during_a_rollback,
    option_that_only_a_tag_names,
    key_that_only_a_tag_names,
    queues_unlocked_by_a_tag,
];

/// The refusals of a request.
pub(super) fn of_request(request: &Request<'_>) -> Vec<Refusal> {
    OF_REQUEST.iter().flat_map(|guard| guard(request)).collect()
}

/// The refusals of a plan. Empty means that it may be applied.
pub(super) fn of_plan(case: &Case<'_>) -> Vec<Refusal> {
    OF_PLAN.iter().flat_map(|guard| guard(case)).collect()
}

/// An empty prefix where a policy can name queues only by their prefix. Applies if the hub's policies are planned.
fn empty_prefix(request: &Request<'_>) -> Vec<Refusal> {
    let refused = plan::check_empty_prefix(&request.survey.scope, &request.after.queue_prefix());
    refused
        .err()
        .filter(|_| request.target.plans_hub())
        .into_iter()
        .collect()
}

/// Clusters that are looked for by a prefix that the router does not serve. Applies if clusters change and the hub does
/// not: else `option_that_only_a_tag_names` has the prefix with the other options.
fn prefix_that_only_a_tag_names(request: &Request<'_>) -> Vec<Refusal> {
    let target = request.target;
    let clusters = !target.set().is_empty() || !target.removed().is_empty() || target.others == Others::Remove;
    let refused = (clusters && !target.plans_hub()).then(|| confirm::prefix(request.survey).err());
    refused.flatten().into_iter().collect()
}

/// Another prefix than that of registered clusters.
fn prefix_in_use(request: &Request<'_>) -> Vec<Refusal> {
    let Some(before) = &request.before else {
        return Vec::new();
    };
    let mut clusters: BTreeSet<ClusterName> = request.survey.clusters().into_keys().collect();
    clusters.extend(request.target.set().into_keys().cloned());
    plan::check_prefix(before, &request.after, clusters)
        .err()
        .into_iter()
        .collect()
}

/// A cluster whose queue would have the name of a queue of the hub. Applies to clusters that are set.
fn queue_name_of_the_hub(request: &Request<'_>) -> Vec<Refusal> {
    let survey = request.survey;
    let set = request.target.set().into_keys();
    set.filter_map(|name| plan::check_queue_name(&survey.scope, name, &survey.cluster_queue(name)).err())
        .collect()
}

/// A key that SQS does not accept. Applies if the hub is planned.
fn key_of_another_region(case: &Case<'_>) -> Vec<Refusal> {
    let key = case.after.key().filter(|_| case.target.plans_hub());
    let refused = key.and_then(|key| plan::check_key(&case.survey.scope, key).err());
    refused.into_iter().collect()
}

/// More reserved concurrency than the account has left, as far as that was read.
fn too_little_concurrency(case: &Case<'_>) -> Vec<Refusal> {
    let Fact::Present(left) = case.survey.unreserved_concurrency else {
        return Vec::new();
    };
    let refused = plan::check_concurrency(case.after.reserved(), hub::live_reserved(case.survey), left);
    refused.err().into_iter().collect()
}

/// Old keys that leave while messages may be under them.
fn old_key_in_use(case: &Case<'_>) -> Vec<Refusal> {
    case.old_keys.refusals.clone()
}

/// What this bus does not manage, another cluster's resource, a failed function, an older router, other settings.
fn unsafe_changes(case: &Case<'_>) -> Vec<Refusal> {
    let allowed = Allowed {
        downgrade: case.target.setting().is_some_and(|setting| setting.allow_downgrade),
    };
    // Only the function says whether the alias is ours, and a rollback does not compare it.
    let owners = match case.target.hub {
        HubTarget::RollBack(_) => &case.survey.observed,
        _ => &case.observed,
    };
    plan::check_allowing(&case.survey.scope, &case.plan, owners, allowed)
}

/// Roles without space for the policies of their clusters, as far as all their policies were read.
fn full_role(case: &Case<'_>) -> Vec<Refusal> {
    case.roles.refusals.clone()
}

/// A role that only a tag names, for a cluster whose role is not named now.
fn role_that_only_a_tag_names(case: &Case<'_>) -> Vec<Refusal> {
    let set = case.target.set();
    let is_named = |cluster: &ClusterName| {
        set.get(cluster)
            .is_some_and(|setting| setting.role != RoleOption::Search)
    };
    role_search::check(case.survey, &case.plan, |cluster| {
        case.target.wants(cluster) && !is_named(cluster)
    })
}

/// Changes that need a new version of the router while a rollback is kept. Applies to a hub that is set and does not end the
/// rollback.
fn change_during_a_rollback(case: &Case<'_>) -> Vec<Refusal> {
    router_code::change_during_a_rollback(case).into_iter().collect()
}

/// Saved options that no resource confirms, as far as they are not given now. Applies if the hub is planned.
fn option_that_only_a_tag_names(case: &Case<'_>) -> Vec<Refusal> {
    match case.target.plans_hub() {
        true => confirm::check(case.survey, &given(case), &case.after),
        false => Vec::new(),
    }
}

/// Another key for clusters than the hub queue has. Applies if the hub is left as it is.
fn key_that_only_a_tag_names(case: &Case<'_>) -> Vec<Refusal> {
    match case.target.plans_hub() {
        true => Vec::new(),
        false => confirm::key_of_clusters(case.survey, &case.after, &case.plan),
    }
}

/// Queues that a saved option unlocks. Applies if the lock is not given.
fn queues_unlocked_by_a_tag(case: &Case<'_>) -> Vec<Refusal> {
    confirm::locks(case.survey, &given(case), &case.plan)
}

/// The options of the hub that are given.
fn given(case: &Case<'_>) -> HubOptions {
    let setting = case.target.setting();
    setting.map(|setting| setting.options.clone()).unwrap_or_default()
}
