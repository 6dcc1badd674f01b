//! What an intent says besides its changes: the message if there are none, the steps before and after, the clusters.

use super::blocked::no_hub;
use super::role_policies::roles_with_policy;
use super::target::{ClusterSetting, HubSetting, RoleOption, Wish};
use super::{Blocked, Case, ClusterSummary, Controller, NextStep, clusters, roles, router};
use crate::error::Hint;
use crate::model::name::ClusterName;
use crate::model::policy::{self, QueueOrigin};
use crate::model::resource::{QueueField, ResourceId};
use crate::model::tags::Tags;
use crate::plan::{Action, Change};

/// How many clusters a command names one by one.
const LISTED: usize = 20;

/// The message if nothing changes; empty for a check. Fails if there is no router to roll back.
pub(super) fn unchanged(case: &Case<'_>) -> Result<String, Blocked> {
    let scope = &case.survey.scope;
    let names: Vec<&str> = case.target.clusters.keys().map(ClusterName::as_str).collect();
    Ok(match &case.target.hub {
        Wish::Keep => String::new(),
        Wish::Set(HubSetting::Bootstrap(_)) => format!("No changes. Hub {} is up to date.", scope.bus),
        Wish::Remove => format!(
            "Nothing to delete: bus `{}` does not exist in {} of account {}.",
            scope.bus, scope.region, scope.account
        ),
        Wish::Set(HubSetting::RollBack(_)) => {
            let live = router::live_alias(scope, &case.survey.observed).ok_or_else(|| no_hub(scope))?;
            let warning = router::not_newest_warning(case.survey);
            format!(
                "No changes. {}.",
                warning.unwrap_or_else(|| router::live_sentence(live))
            )
        }
        Wish::Leave if case.set.is_empty() => {
            let are = if names.len() == 1 { "is" } else { "are" };
            format!(
                "No changes. {} {are} not registered on bus {}.",
                names.join(", "),
                scope.bus
            )
        }
        Wish::Leave => match names.as_slice() {
            [one] => format!("No changes. {one} is up to date."),
            several => format!("No changes. {} clusters are up to date.", several.len()),
        },
    })
}

/// The steps after the changes.
pub(super) fn next(case: &Case<'_>) -> Vec<NextStep> {
    let scope = &case.survey.scope;
    let mut next: Vec<NextStep> = after_hub(case).map(NextStep::Run).into_iter().collect();
    let left: Vec<Controller> = removed(case, |name, _| roles_with_policy(case.survey, name).is_empty());
    next.extend((!left.is_empty()).then_some(NextStep::DetachPolicy(left)));
    if case.set.is_empty() {
        return next;
    }
    let controllers: Vec<Controller> = case.set.iter().map(Controller::of).collect();
    if case.target.set().any(|(_, setting)| changes_settings(case, setting)) {
        next.extend(policy_to_attach(case));
        next.push(NextStep::ConfigureKarpenter {
            check: scope.kibus(match controllers.len() {
                ..=LISTED => {
                    let names: Vec<&str> = controllers.iter().map(|one| one.cluster.as_str()).collect();
                    format!("verify --probe {}", names.join(" "))
                }
                _ => "verify --probe".to_owned(),
            }),
            older: controllers
                .iter()
                .find(|one| one.version.is_none())
                .map(|one| scope.kibus(format!("add-cluster {} --karpenter-version VERSION", one.cluster))),
            controllers,
        });
    } else if let Some(first) = controllers.first() {
        next.push(NextStep::RemindOfSettings {
            show: scope.kibus(format!("add-cluster {} -v", first.cluster)),
            controllers,
        });
    }
    let registered = case.survey.registered();
    if case.set.iter().any(|cluster| !registered.contains_key(&cluster.name)) {
        next.push(NextStep::Run(Hint::command(
            "Rules and queues of an earlier setup stay until you delete them. To find them:",
            scope.kibus("discover"),
        )));
    }
    next
}

fn after_hub(case: &Case<'_>) -> Option<Hint> {
    let scope = &case.survey.scope;
    match &case.target.hub {
        Wish::Set(HubSetting::Bootstrap(_)) if case.before.is_none() && case.set.is_empty() => {
            // The sandbox has neither controller roles nor EKS clusters.
            Some(Hint::command(
                "Next:",
                scope.kibus(match scope.options.sandbox {
                    true => "add-cluster NAME --no-controller-role --no-eks-check",
                    false => "add-cluster NAME",
                }),
            ))
        }
        Wish::Set(HubSetting::Bootstrap(_)) if case.before.is_some() && changes_cluster_queues(case) => {
            Some(Hint::command(
                "The queues of clusters do not have this policy change yet; add-cluster applies it. To find these clusters:",
                scope.kibus("verify"),
            ))
        }
        Wish::Set(HubSetting::RollBack(_)) => Some(Hint::command(
            "bootstrap-hub keeps this version. To end the rollback and upgrade again:",
            scope.kibus(router::END_ROLLBACK),
        )),
        Wish::Set(_) | Wish::Leave | Wish::Keep | Wish::Remove => None,
    }
}

/// Whether the policies of cluster queues change too, as that of the probe queue does.
fn changes_cluster_queues(case: &Case<'_>) -> bool {
    let probe = ResourceId::Queue(case.survey.scope.probe_queue());
    let policies = [QueueField::Policy, QueueField::RedriveAllow];
    let changes = |change: &Change| {
        change.action == Action::Update && change.id == probe && policies.iter().any(|field| change.touches(*field))
    };
    case.plan.changes.iter().any(changes)
}

/// Whether the Karpenter settings are shown: for a new queue, another version, or if that is asked for.
fn changes_settings(case: &Case<'_>, setting: &ClusterSetting) -> bool {
    let new_queue = |change: &Change| {
        change.action == Action::Create && matches!(change.id, ResourceId::Queue(_)) && change.cluster.is_some()
    };
    setting.show_settings
        || setting.karpenter_version.is_some()
        || setting.role == RoleOption::Unmanaged
        || case.plan.changes.iter().any(new_queue)
}

/// The policy that controller roles need where kibus does not manage one. The clusters share it.
fn policy_to_attach(case: &Case<'_>) -> Option<NextStep> {
    let unmanaged = case.set.iter().filter(|cluster| cluster.controller_role.is_none());
    let clusters: Vec<Controller> = unmanaged.map(Controller::of).collect();
    let queue = &clusters.first()?.queue;
    Some(NextStep::AttachPolicy {
        policy: policy::controller_policy(&case.survey.scope, queue, case.after.options.key()),
        clusters,
    })
}

/// The controllers that must stop using their queues first: of the clusters whose queues are deleted.
pub(super) fn release(case: &Case<'_>) -> Vec<Controller> {
    let survey = case.survey;
    let mut removed = removed(case, |_, _| true);
    removed.retain(|controller| {
        let queue = survey.observed.queue(controller.queue.clone());
        queue.is_some_and(|queue| queue.origin(&survey.scope) == Some(QueueOrigin::Created))
    });
    removed
}

/// The controllers of the clusters that are removed and whose queues have such tags.
fn removed(case: &Case<'_>, has: impl Fn(&ClusterName, &Tags) -> bool) -> Vec<Controller> {
    let controller = |(cluster, tags): (ClusterName, &Tags)| Controller {
        queue: case.survey.cluster_queue(&cluster),
        cluster,
        version: tags.karpenter_version(),
    };
    let clusters = case.survey.clusters().into_iter();
    let removed = clusters.filter(|(name, tags)| !case.target.wants(name) && has(name, tags));
    removed.map(controller).collect()
}

/// The clusters of a target, as lists show them.
pub(super) fn clusters(case: &Case<'_>) -> Vec<ClusterSummary> {
    let survey = case.survey;
    let set = case.set.iter().map(|cluster| {
        let role = cluster.controller_role.clone();
        ClusterSummary {
            found_by: roles::found_by(survey, case.target, &cluster.name),
            ..ClusterSummary::new(&survey.scope, &cluster.name, &cluster.queue, role)
        }
    });
    let removed = case.target.removed().map(|name| {
        let role = roles::on_record(survey, name);
        ClusterSummary::new(&survey.scope, name, &survey.cluster_queue(name), role)
    });
    let mut others = match case.follow || case.target.others == Wish::Remove || case.target.is_check() {
        true => clusters::summaries(survey),
        false => Vec::new(),
    };
    others.retain(|cluster| match case.target.is_check() {
        true => case.target.checks(&cluster.name),
        false => !case.target.clusters.contains_key(&cluster.name),
    });
    let mut all: Vec<ClusterSummary> = set.chain(removed).chain(others).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The word that confirms the plan: the deletion of a bus is confirmed by its name.
pub(super) fn confirmed_by(case: &Case<'_>) -> Option<String> {
    matches!(case.target.hub, Wish::Remove).then(|| case.survey.scope.bus.to_string())
}
