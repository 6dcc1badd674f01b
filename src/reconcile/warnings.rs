//! What the user should know before the changes are applied, or with the findings of a check. One list, like the guards.

use super::blocked::{permissions_for_eks, unanswered};
use super::hub::KeyProblem;
use super::roles;
use super::target::{RoleOption, Target};
use super::{Case, Rule, Say, clusters, external, hub, next_steps, router, traffic, unrecorded};
use crate::error::{Hint, listed};
use crate::iam::grants::other_senders;
use crate::model::{
    ClusterName, Depth, Fact, Kind, LogGroup, Queue, Resource, WARM_UP, counted, duration_text,
    hub::MAXIMUM_CONCURRENCY, policy::KEPT_DATA_KEY, rule_limit,
};
use crate::plan::{Action, Change};

/// Each warning with the targets that it applies to, in display order.
pub(super) const WARNINGS: &[Rule] = &[
    (Target::plans_hub, older_live_version),
    (Target::sets_hub, monthly_cost),
    (Target::plans_hub, unknown_concurrency),
    (Target::sets_hub, quotas),
    (Target::plans_hub, invoke_permissions),
    (Target::checks_all, dropped_events),
    (Target::plans_hub, log_retention),
    (Target::is_any, first_minutes_of_alarms),
    (Target::plans_hub, key_of_the_queues),
    (Target::is_any, clusters_in_eks),
    (Target::is_any, own_role),
    (Target::is_any, permission_taken),
    (Target::is_any, not_managed),
    (Target::is_any, clusters::warnings),
    (Target::is_any, external::left),
    (Target::sets_hub, external::left_behind),
    (Target::is_any, unknown_members),
    (Target::is_of_all, unrecorded::unknown),
    (Target::plans_hub, old_keys),
    (Target::is_any, expiring_messages),
    (Target::is_any, stopped_senders),
    (Target::plans_hub, other_build),
    // Next to the question.
    (Target::is_any, deleted_queues),
];

fn older_live_version(case: &Case<'_>, say: &mut Say) {
    let ends = case.target.bootstraps().is_some_and(|given| given.end_rollback);
    match router::rolled_back(case.survey) {
        Some(live) if !ends => {
            let from = live.later().map(|from| format!(": rolled back from version {from}"));
            let text = format!("{}{}; to end the rollback:", router::live_sentence(live), from.unwrap_or_default());
            say.warn(Hint::command(text, case.survey.scope.kibus(router::END_ROLLBACK)));
        }
        _ => say.warn_all(router::not_newest_warning(case.survey).map(Hint::text)),
    }
}

/// The monthly cost that the plan adds, in cents: CloudWatch charges for each metric of an alarm (a cluster's alarm has
/// two), and for dashboards after the first three in an account (Amazon CloudWatch pricing).
fn monthly_cost(case: &Case<'_>, say: &mut Say) {
    let new: Vec<&Change> = case.applied().filter(|change| change.action == Action::Create).collect();
    let alarms = new.iter().filter_map(|change| change.resource().as_alarm());
    let (reader, hub): (Vec<_>, Vec<_>) = alarms.partition(|alarm| alarm.definition.value().get("Metrics").is_some());
    let dashboards = new.iter().filter(|change| change.resource().as_dashboard().is_some()).count();
    let parts = [
        (hub.len() * 10, counted(hub.len(), "alarm")),
        (reader.len() * 20, format!("{} on clusters", counted(reader.len(), "alarm"))),
        (dashboards * 300, "the dashboard, if the account already has three".to_owned()),
    ];
    let dollars = |cents: usize| format!("${}.{:02}", cents / 100, cents % 100);
    let total: usize = parts.iter().map(|(cents, _)| cents).sum();
    let parts = parts.iter().filter(|(cents, _)| *cents > 0);
    let mut parts: Vec<String> = parts.map(|(cents, what)| format!("{} {what}", dollars(*cents))).collect();
    let had = case.before.as_ref().is_some_and(|before| before.options.topic().is_some());
    if case.after.options.topic().is_some() && !had {
        parts.push("$0.50 per million notices, plus their subscriptions".to_owned());
    }
    if !parts.is_empty() {
        let sum = if total > 0 { format!(" about {} a month", dollars(total)) } else { String::new() };
        say.warn(Hint::text(format!("this adds{sum} to the bill: {}", parts.join(", "))));
    }
}

fn unknown_concurrency(case: &Case<'_>, say: &mut Say) {
    let fault = case.survey.known.unreserved_concurrency.fault().filter(|_| hub::reserves_more(case));
    let text = fault.map(|fault| format!("unknown whether the account has enough unreserved concurrency: {fault}"));
    say.warn_all(text.map(Hint::text));
}

/// Quotas that can prevent a new hub, as far as they can be read. The quota for rules may have been raised.
fn quotas(case: &Case<'_>, say: &mut Say) {
    let (survey, scope) = (case.survey, &case.survey.scope);
    let created = |kind| {
        let new = case.applied().filter(|change| change.action == Action::Create);
        new.filter(|change| change.id.of_kind() == kind).count()
    };
    let new = created(Kind::Rule);
    if new > 0
        && let Some(rules) = survey.event_rules().present()
    {
        let (count, most) = (rules.len(), rule_limit(&scope.region));
        let text = format!(
            "the default event bus has {count} rules, and the plan creates {new}; the default quota is {most}. If it \
             was not raised, delete unneeded rules, or request more in Service Quotas (L-244521F2)"
        );
        say.warn_all((count + new > most).then(|| Hint::text(text)));
    }
    if created(Kind::Function) > 0
        && case.after.options.reserved().is_none()
        && let Some(left) = survey.unreserved_concurrency().present().filter(|left| **left < MAXIMUM_CONCURRENCY)
    {
        say.warn(Hint::text(format!(
            "the account has {left} unreserved concurrent invocations, but the router uses up to \
             {MAXIMUM_CONCURRENCY}: request more in Service Quotas, or lower the reservations of other functions"
        )));
    }
}

fn invoke_permissions(case: &Case<'_>, say: &mut Say) {
    let scope = &case.survey.scope;
    match case.survey.function_permissions() {
        Fact::Present(permissions) => {
            for permission in permissions {
                let finding = traffic::invoke_permission(scope, permission);
                let command = finding.fix.steps().into_iter().find_map(|step| step.command);
                say.problem(finding, ". Find out who added it, then remove it:", command);
            }
        }
        Fact::Unreadable(fault) => {
            let without = unanswered(scope, "unknown who else may invoke the router", fault);
            say.unread(scope, "policy of the router", fault, without);
        }
        Fact::Absent | Fact::NotAsked => {}
    }
}

fn dropped_events(case: &Case<'_>, say: &mut Say) {
    let scope = &case.survey.scope;
    match case.survey.dropped_clusters() {
        Fact::Present(dropped) if !dropped.complete => say.warn(Hint::text(
            "the router's log of the last day was read only partly, so events of other clusters may have been dropped",
        )),
        Fact::Unreadable(fault) => {
            let what = "unknown whether the router dropped events of clusters that are not on this bus";
            say.unread(scope, "log of the router", fault, unanswered(scope, what, fault));
        }
        Fact::Present(_) | Fact::Absent | Fact::NotAsked => {}
    }
}

/// A retention policy of the account overrides the setting of a log group.
fn log_retention(case: &Case<'_>, say: &mut Say) {
    let scope = &case.survey.scope;
    let wanted = case.after.options.log_retention().days();
    let group = case.observed.log_group(scope.router_log_group());
    let warning = |group: &LogGroup| {
        let (policy, days) = (group.account_policy.as_ref()?, group.retention_days);
        let kept = days.map_or("without limit".to_owned(), |days| format!("for {days} days"));
        let text = format!(
            "the router's log is kept {kept}, not for {wanted}: retention policy `{policy}` of the account decides"
        );
        (days != Some(wanted)).then(|| Hint::text(text))
    };
    say.warn_all(group.and_then(warning));
}

/// CloudWatch evaluates a new alarm over periods before it existed, unless it supports the warm-up.
fn first_minutes_of_alarms(case: &Case<'_>, say: &mut Say) {
    let mut new = case.applied().filter(|change| change.action == Action::Create);
    let can_fire = new.any(|change| {
        let definition = change.resource().as_alarm().map(|alarm| alarm.definition.value());
        definition.is_some_and(|members| [WARM_UP, "AlarmActions"].iter().all(|member| members.get(member).is_some()))
    });
    let text = "if CloudWatch does not support the warm-up of an alarm on missing data, the alarm may fire once, \
         minutes after it is created";
    say.warn_all(can_fire.then(|| Hint::text(text)));
}

fn key_of_the_queues(case: &Case<'_>, say: &mut Say) {
    let (survey, new) = (case.survey, case.after.options.key());
    let is_new = case.before.as_ref().and_then(|before| before.options.key()) != new;
    match hub::judge_key(survey, &case.after.options) {
        Some(KeyProblem::Blocks(finding)) => say.problem(
            finding,
            ". Use another key, or add this statement to its policy:",
            Some(hub::statement(&survey.scope)),
        ),
        Some(KeyProblem::Unclear(hint)) if is_new || say.checks => say.warn(hint),
        Some(KeyProblem::Unclear(_)) | None => {}
    }
    if say.checks {
        return;
    }
    say.warn_all(hub::without_role(survey, &case.after.options));
    if is_new && new.is_some() && case.before.is_some() {
        say.warn(Hint::command(
            format!("a check right after this key change proves nothing: {KEPT_DATA_KEY}:"),
            survey.scope.kibus("verify --probe"),
        ));
    }
}

/// Failed EKS lookups, and whether EKS lists no clusters at all. Applies to clusters that are recorded for the first time.
fn clusters_in_eks(case: &Case<'_>, say: &mut Say) {
    let survey = case.survey;
    let clusters_of_eks = &survey.known.eks_clusters;
    let asked = roles::first_recorded(survey, case.target);
    let wanted = roles::wanting_evidence(survey, case.target);
    if !asked.is_empty() && clusters_of_eks.present().is_some_and(|all| all.is_empty()) {
        let (region, account) = (&survey.scope.region, &survey.scope.account);
        say.warn(Hint::text(format!(
            "EKS has no clusters in {region} of account {account}: check that {} will be created there",
            named_clusters(&asked)
        )));
    }
    let exists = clusters_of_eks.fault().filter(|_| !asked.is_empty());
    let roles = roles::evidence_fault(survey).filter(|_| !wanted.is_empty());
    let whether = format!("whether it has {}", named_clusters(&asked));
    let for_role = format!("for the controller role of {}, so check it in the plan", named_clusters(&wanted));
    let unknown = match (exists, roles) {
        (Some(fault), None) => Some((fault, whether)),
        (Some(fault), Some(_)) => {
            let and_roles = "nor for controller roles, so check those in the plan";
            Some((fault, format!("{whether}, {and_roles}")))
        }
        (None, Some(fault)) => Some((fault, for_role)),
        (None, None) => None,
    };
    let listed = survey.known.listed_roles.fault().filter(|_| !wanted.is_empty());
    say.warn_all(match (unknown, listed) {
        (Some((fault, what)), _) if fault.is_denied() => Some(permissions_for_eks(
            &survey.scope,
            format!("EKS could not be asked {what}: {fault}. To print the permissions for these reads:"),
        )),
        (Some((fault, what)), _) => Some(Hint::text(format!("EKS could not be asked {what}: {fault}"))),
        (None, Some(fault)) => Some(Hint::text(format!(
            "trust policies could not be read for the controller role of {}, so check it in the plan: {fault}",
            named_clusters(&wanted)
        ))),
        (None, None) => None,
    });
}

fn named_clusters(names: &[&ClusterName]) -> String {
    match names {
        [one] => format!("cluster `{one}`"),
        several => format!("clusters {}", listed(several)),
    }
}

/// A controller role that is also the caller's role. Applies to clusters that are set or checked.
fn own_role(case: &Case<'_>, say: &mut Say) {
    let Some(role) = &case.survey.caller_role else { return };
    let mut policies = case.desired.resources().filter_map(Resource::as_role_policy);
    if (say.checks || !case.set.is_empty()) && policies.any(|policy| policy.role == *role) {
        say.warn(Hint::text(format!(
            "controller role `{role}` is the role that this command runs as: check that Karpenter really runs as this role"
        )));
    }
}

/// Applies to clusters that are set without a role, and lose kibus's policy.
fn permission_taken(case: &Case<'_>, say: &mut Say) {
    let warning = |change: &Change| {
        let cluster = change.cluster.as_ref()?;
        let role = &change.before.as_ref()?.as_role_policy()?.role;
        let setting = case.target.setting(cluster)?;
        let is_taken = change.action == Action::Delete && (setting.role == RoleOption::Unmanaged || setting.external());
        is_taken.then(|| {
            Hint::command(
                format!(
                    "Karpenter in `{cluster}` loses the permission to read its queue, because kibus deletes its policy \
                     on role `{role}`, until you attach the policy by other means. Attach it first; to print it:"
                ),
                case.survey.scope.kibus(format!("policy controller {cluster}")),
            )
        })
    };
    say.warn_all(case.applied().filter_map(warning));
}

/// Resources named after a removed bus or cluster stay if something else manages them.
fn not_managed(case: &Case<'_>, say: &mut Say) {
    let bus = &case.survey.scope.bus;
    let texts = case.not_managed.iter().map(|id| format!("{id} is not managed by bus `{bus}` and is not deleted"));
    say.warn_all(texts.map(Hint::text));
}

/// Document members that a newer kibus has written.
fn unknown_members(case: &Case<'_>, say: &mut Say) {
    let (survey, scope) = (case.survey, &case.survey.scope);
    let hub = survey
        .settings()
        .into_iter()
        .flat_map(|settings| settings.unknown().map(|member| (scope.settings_parameter(), member)));
    let recorded = survey.recorded().into_values();
    let clusters = recorded
        .flat_map(|record| record.unknown.keys().map(|member| (scope.record_parameter(&record.cluster), member)));
    say.warn_all(hub.chain(clusters).map(|(parameter, member)| {
        Hint::text(format!(
            "parameter `{parameter}` has a member `{}`, which this kibus does not know: it stays, but has no effect here",
            member.escape_debug()
        ))
    }));
}

fn old_keys(case: &Case<'_>, say: &mut Say) {
    say.warn_all(hub::old_key_warnings(case.survey, &case.after));
}

/// A queue with messages whose retention is lowered: SQS then deletes older messages (SQS API reference,
/// `SetQueueAttributes`).
fn expiring_messages(case: &Case<'_>, say: &mut Say) {
    for (before, after) in case.updated_queues() {
        let count = case.survey.depth(&before.name).map_or(0, Depth::messages);
        if after.retention < before.retention && count > 0 {
            let (name, kept) = (&after.name, duration_text(after.retention.into()));
            say.warn(Hint::text(format!(
                "messages are waiting in queue `{name}` (about {count}): SQS deletes messages older than {kept} when \
                 the retention is lowered"
            )));
        }
    }
}

/// A queue whose policy lets others send before the plan, but not after it.
fn stopped_senders(case: &Case<'_>, say: &mut Say) {
    let scope = &case.survey.scope;
    for (before, after) in case.updated_queues() {
        let senders = |queue: &Queue| queue.policy.as_ref().map(other_senders).unwrap_or_default();
        let (mut stopped, kept) = (senders(before), senders(after));
        stopped.retain(|sender| !kept.contains(sender));
        if stopped.is_empty() {
            continue;
        }
        let stopped: Vec<String> = stopped.iter().map(|sender| sender.escape_debug().to_string()).collect();
        let meant = if [scope.hub_queue(), scope.dead_letter_queue()].contains(&after.name) {
            "the rules of this bus send"
        } else {
            "the router delivers"
        };
        say.warn(Hint::text(format!(
            "the policy of queue `{}` lets others send: {}. This plan replaces the policy, and SQS then denies their \
             messages. Remove these senders: only {meant} to this queue",
            after.name,
            stopped.join(", "),
        )));
    }
}

fn other_build(case: &Case<'_>, say: &mut Say) {
    say.warn_all(router::build_warning(&case.target.router, case.survey, &case.desired));
}

/// What is deleted with queues: their messages, and what Karpenter needs.
fn deleted_queues(case: &Case<'_>, say: &mut Say) {
    let count = |change: &Change| {
        let queue = change.before.as_ref()?.as_queue()?;
        let count = case.survey.depth(&queue.name).map_or(0, Depth::messages);
        let is_lost = change.action == Action::Delete && queue.name != case.survey.scope.probe_queue() && count > 0;
        is_lost.then(|| format!("about {count} in `{}`", queue.name))
    };
    let counts: Vec<String> = case.applied().filter_map(count).collect();
    if !counts.is_empty() {
        say.warn(Hint::text(format!("messages are deleted with their queues: {}", counts.join(", "))));
    }
    say.warn_all(next_steps::before(case));
}
