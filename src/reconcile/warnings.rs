//! What a person should know before the changes are applied, or with the findings of a check. One list, as of the guards.

use super::target::{RoleOption, Wish};
use super::{Case, adoption, clusters, keys, role_policies, roles, router};
use crate::error::Hint;
use crate::iam::grants::other_senders;
use crate::model::answer::Fault;
use crate::model::name::RoleName;
use crate::model::notation::duration_text;
use crate::model::policy::KEPT_DATA_KEY;
use crate::model::resource::{QueueField, Resource};
use crate::model::scope::Scope;
use crate::plan::{Action, Change, finding};

const WARNINGS: &[fn(&Case<'_>) -> Vec<Hint>] = &[
    older_live_version,
    unlocked_queues,
    unknown_concurrency,
    invoke_permissions,
    dropped_events,
    key_of_the_queues,
    skipped_clusters,
    clusters_in_eks,
    controller_roles,
    access_of_controllers,
    permission_taken,
    roles_not_listed,
    not_managed,
    adopted_queues,
    earlier_clusters,
    old_keys,
    expiring_messages,
    stopped_senders,
    other_build,
];

/// The warnings of a plan.
pub(super) fn of_plan(case: &Case<'_>) -> Vec<Hint> {
    WARNINGS.iter().flat_map(|warning| warning(case)).collect()
}

/// Applies if the hub is planned.
fn older_live_version(case: &Case<'_>) -> Vec<Hint> {
    if !case.target.plans_hub() {
        return Vec::new();
    }
    let ends = case.target.bootstraps().is_some_and(|given| given.end_rollback);
    let hint = match router::rolled_back(case.survey) {
        Some(live) if !ends => {
            let from = live
                .later()
                .map(|from| format!(": rolled back from version {from}"))
                .unwrap_or_default();
            let text = format!("{}{from}; to end the rollback:", router::live_sentence(live));
            Some(Hint::command(text, case.survey.scope.kibus(router::END_ROLLBACK)))
        }
        _ => router::not_newest_warning(case.survey).map(Hint::text),
    };
    hint.into_iter().collect()
}

/// Applies to a hub that is set.
fn unlocked_queues(case: &Case<'_>) -> Vec<Hint> {
    if case.target.bootstraps().is_none() || case.after.options.lock_queues != Some(false) {
        return Vec::new();
    }
    vec![Hint::command(
        "the queues of this hub are not locked: anyone with sqs:SendMessage on them can make Karpenter drain nodes. To lock \
         them:",
        case.survey.scope.kibus("bootstrap-hub --lock-queues"),
    )]
}

fn unknown_concurrency(case: &Case<'_>) -> Vec<Hint> {
    let fault = case.survey.known.unreserved_concurrency.fault();
    let text = fault.map(|fault| format!("unknown whether the account has this much concurrency left: {fault}"));
    text.map(Hint::text).into_iter().collect()
}

/// A permission to invoke the router is a warning if the hub is set, and a finding of a check.
fn invoke_permissions(case: &Case<'_>) -> Vec<Hint> {
    let (survey, is_check) = (case.survey, case.target.is_check());
    if !case.target.plans_hub() {
        return Vec::new();
    }
    let permissions = survey.function_permissions().present().into_iter().flatten();
    let added = permissions.filter(|_| !is_check).map(|permission| {
        let finding = finding::invoke_permission(&survey.scope, permission);
        let step = finding.fix.steps().into_iter().next();
        Hint {
            text: format!("{}. Find out who added it, then remove it:", finding.as_warning()),
            command: step.and_then(|step| step.command),
        }
    });
    let fault = survey
        .function_permissions()
        .fault()
        .filter(|fault| fault.is_denied() || !is_check);
    let unknown = fault.map(|fault| unread(&survey.scope, "unknown who else may invoke the router", fault));
    added.chain(unknown).collect()
}

/// Applies to a check of all clusters.
fn dropped_events(case: &Case<'_>) -> Vec<Hint> {
    if !case.target.is_check() || case.target.others != Wish::Keep {
        return Vec::new();
    }
    let dropped = case.survey.dropped_clusters();
    let cut = dropped.present().is_some_and(|dropped| !dropped.complete);
    let cut = cut.then(|| {
        Hint::text(
            "not all of the router's log of the last day was read, so events of further clusters may have been dropped",
        )
    });
    let denied = dropped.fault().filter(|fault| fault.is_denied());
    let denied = denied.map(|fault| {
        unread(
            &case.survey.scope,
            "unknown whether the router dropped events of clusters that are not on this bus",
            fault,
        )
    });
    cut.into_iter().chain(denied).collect()
}

fn unread(scope: &Scope, what: &str, fault: &Fault) -> Hint {
    match fault.is_denied() {
        true => Hint::command(
            format!(
                "{what}: AWS denied {}. Grant the permissions that this command prints:",
                fault.action
            ),
            scope.kibus("policy operator"),
        ),
        false => Hint::text(format!("{what}: {fault}")),
    }
}

/// A key that blocks EventBridge is a warning if the hub is set, and a finding of a check.
fn key_of_the_queues(case: &Case<'_>) -> Vec<Hint> {
    let (survey, new) = (case.survey, case.after.options.key());
    if !case.target.plans_hub() {
        return Vec::new();
    }
    let check = keys::judge_key(survey, new);
    if case.target.is_check() {
        return check.unclear.into_iter().collect();
    }
    let blocks = check.finding.map(|finding| {
        let text = format!(
            "{}. Use another key, or add this statement to its policy:",
            finding.as_warning()
        );
        Hint::command(text, keys::statement(&survey.scope))
    });
    let is_new = case.before.as_ref().and_then(|before| before.options.key()) != new;
    let replaces = is_new && new.is_some() && case.before.is_some();
    let changed = replaces.then(|| {
        Hint::command(
            format!("a check right after this change of the key proves nothing: {KEPT_DATA_KEY}:"),
            survey.scope.kibus("verify --probe"),
        )
    });
    let unclear = check.unclear.filter(|_| is_new);
    let without_role = keys::without_role(survey, &case.after.options);
    blocks
        .into_iter()
        .chain(unclear)
        .chain(without_role)
        .chain(changed)
        .collect()
}

/// Applies to clusters that are removed and do not exist.
fn skipped_clusters(case: &Case<'_>) -> Vec<Hint> {
    let bus = &case.survey.scope.bus;
    let skipped = clusters::never_existed(case.survey, case.target).into_iter();
    let texts = skipped.map(|name| format!("cluster `{name}` is not registered on bus `{bus}` and is skipped"));
    texts.map(Hint::text).collect()
}

/// Applies to clusters that are registered for the first time.
fn clusters_in_eks(case: &Case<'_>) -> Vec<Hint> {
    clusters::eks_warnings(case)
}

/// Applies to clusters that are set or checked.
fn controller_roles(case: &Case<'_>) -> Vec<Hint> {
    let policies = case.desired.resources().filter_map(Resource::as_role_policy);
    let own = case
        .survey
        .caller_role
        .as_ref()
        .filter(|_| case.target.is_check() || !case.set.is_empty());
    let role = own.filter(|role| policies.map(|policy| &policy.role).any(|of| of == *role));
    let text = |role: &RoleName| {
        format!("controller role `{role}` is the role that this command runs as: check that Karpenter runs as it too")
    };
    role.map(|role| Hint::text(text(role))).into_iter().collect()
}

/// Applies to clusters that are set or checked, with a Karpenter that is known to be v1.12 or later.
fn access_of_controllers(case: &Case<'_>) -> Vec<Hint> {
    roles::access_warnings(case.survey, case.target)
}

/// Applies to clusters that are removed.
fn roles_not_listed(case: &Case<'_>) -> Vec<Hint> {
    let unknown = roles::not_listed(case.survey, case.target.removed());
    let text = unknown.map(|(cluster, fault)| {
        format!("the roles could not be listed, so a policy of cluster `{cluster}` may stay on a role: {fault}")
    });
    text.map(Hint::text).into_iter().collect()
}

/// Applies to clusters that are set without a role, and lose the policy of kibus.
fn permission_taken(case: &Case<'_>) -> Vec<Hint> {
    let deleted = case
        .plan
        .changes
        .iter()
        .filter(|change| change.action == Action::Delete);
    let warning = |change: &Change| {
        let cluster = change.cluster.as_ref()?;
        let role = &change.before.as_ref()?.as_role_policy()?.role;
        (case.target.setting(cluster)?.role == RoleOption::Unmanaged).then(|| {
            Hint::command(
                format!(
                    "Karpenter of `{cluster}` loses the permission to read its queue, because its policy on role `{role}` is \
                     deleted, until you attach the policy by other means. Attach it first; to print it:"
                ),
                case.survey.scope.kibus(format!("policy controller {cluster}")),
            )
        })
    };
    deleted.filter_map(warning).collect()
}

/// Applies to what is removed: what has a name of the bus, and is managed by something else, stays.
fn not_managed(case: &Case<'_>) -> Vec<Hint> {
    let bus = &case.survey.scope.bus;
    let ids = case.not_managed.iter();
    let texts = ids.map(|id| format!("{id} is not managed by bus `{bus}` and is not deleted"));
    texts.map(Hint::text).collect()
}

/// Applies to queues that are taken over or handed back.
fn adopted_queues(case: &Case<'_>) -> Vec<Hint> {
    adoption::warnings(case)
}

/// Policies that no cluster explains. Applies if all clusters are removed or checked.
fn earlier_clusters(case: &Case<'_>) -> Vec<Hint> {
    if case.target.others == Wish::Leave {
        return Vec::new();
    }
    let deletes = case.target.others == Wish::Remove;
    let with_queue = role_policies::named_by_policy(case.survey);
    let is_finding = |role: &RoleName| case.target.is_check() && with_queue.values().any(|with| with == role);
    let strays = role_policies::strays(case.survey)
        .into_iter()
        .filter(|stray| stray.orphan.is_none() && !is_finding(&stray.role));
    let unknown = strays.map(|stray| {
        let (role, policy) = (stray.role, stray.policy);
        let ending = if deletes { "; it is not deleted" } else { "" };
        Hint::text(format!(
            "role `{role}` has an inline policy `{policy}` with a name of this bus that belongs to no cluster of it{ending}"
        ))
    });
    role_policies::unread_roles(case.survey)
        .into_iter()
        .chain(unknown)
        .collect()
}

/// Applies if the hub is planned.
fn old_keys(case: &Case<'_>) -> Vec<Hint> {
    match case.target.plans_hub() {
        true => keys::old_key_warnings(case.survey, &case.after),
        false => Vec::new(),
    }
}

/// A queue with messages whose retention is lowered: SQS then deletes those that are older (SQS API reference,
/// `SetQueueAttributes`). Applies if something is changed.
fn expiring_messages(case: &Case<'_>) -> Vec<Hint> {
    let changes = case.plan.changes.iter().filter(|_| !case.target.is_check());
    let updates = changes.filter(|change| change.action == Action::Update);
    let lowered = updates.filter_map(|change| {
        let (before, after) = (change.before.as_ref()?.as_queue()?, change.after.as_ref()?.as_queue()?);
        let count = case.survey.depth(&before.name)?.messages();
        (after.retention < before.retention && count > 0).then(|| {
            let (name, kept) = (&after.name, duration_text(after.retention.into()));
            Hint::text(format!(
                "messages wait in queue `{name}` (about {count}; the count may be stale): SQS deletes those older than \
                 {kept} when the retention is lowered"
            ))
        })
    });
    lowered.collect()
}

/// A queue whose policy lets others send before the plan, and not after it. Applies if something is changed.
fn stopped_senders(case: &Case<'_>) -> Vec<Hint> {
    let scope = &case.survey.scope;
    let warning = |change: &Change| {
        let (before, after) = (change.before.as_ref()?.as_queue()?, change.after.as_ref()?.as_queue()?);
        let mut senders = other_senders(before.policy.as_ref()?);
        let kept = after.policy.as_ref().map(other_senders).unwrap_or_default();
        senders.retain(|sender| !kept.contains(sender));
        if senders.is_empty() || !change.touches(QueueField::Policy) {
            return None;
        }
        let senders: Vec<String> = senders.iter().map(|sender| sender.escape_debug().to_string()).collect();
        let meant = match [scope.hub_queue(), scope.dead_letter_queue()].contains(&after.name) {
            true => "the rules of this bus send",
            false => "the router delivers",
        };
        Some(Hint::text(format!(
            "the policy of queue `{}` lets others send: {}. This plan replaces the policy, and SQS then denies their \
             messages. Remove these senders: only {meant} to this queue",
            after.name,
            senders.join(", "),
        )))
    };
    let changes = case.plan.changes.iter().filter(|_| !case.target.is_check());
    changes.filter_map(warning).collect()
}

/// Applies if the hub is planned.
fn other_build(case: &Case<'_>) -> Vec<Hint> {
    let router = case.target.plans_hub().then_some(&case.target.router);
    let warning = router.and_then(|router| router::build_warning(router, case.survey, &case.desired));
    warning.into_iter().collect()
}
