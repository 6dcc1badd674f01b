//! The stages of a check before the first change: survey, reconcile, and what the plan needs of AWS; nothing is applied.

use super::commands::OF_OPERATORS;
use super::hub::ConnectedHub;
use super::router_file::RouterFile;
use super::stages;
use crate::error::{Error, ErrorKind, Hint};
use crate::iam::operator_policy;
use crate::message::{Fix, Message, MessageKind};
use crate::model::{HubOptions, Scope, counted};
use crate::plan::Plan;
use crate::preflight::{self, Findings, PlannedCalls, check as check_of, planned_calls};
use crate::reconcile::{Blocked, Intent, Target, options_afterwards, reconcile};
use crate::survey::{Query, Survey};
use crate::ui::{Body, HubReport, text};

/// Checks what the plan needs. Ends with findings if something is missing, and with a failure if something is unknown.
pub(super) async fn check(hub: &ConnectedHub<'_>, target: Target, router: &RouterFile) -> Result<HubReport, Error> {
    let (intent, checks) = checked(hub, target, router).await?;
    show_checks(hub, &intent, &checks)?;
    Ok(HubReport {
        differs: count(&checks, "failed") > 0,
        error: incomplete(count(&checks, "unknown")),
        body: Some(Body::Preflight(checks.into())),
        ..HubReport::new(&hub.scope, &intent)
    })
}

async fn checked(
    hub: &ConnectedHub<'_>,
    mut target: Target,
    router: &RouterFile,
) -> Result<(Intent, Vec<Message>), Error> {
    let pass = |survey: &Survey| {
        survey.unreserved_concurrency();
        survey.event_rules();
        drop(reconcile(survey, &target));
    };
    let (survey, ()) = stages::extended(hub, target.survey(hub.scope.clone()), pass).await?;
    // The code of the router is part of the plan, and the plan says which calls to ask about.
    let router = of_router(hub, router, &mut target, &survey);
    let options = options_afterwards(&survey, &target);
    let document = operator_policy::with_alarms(&hub.scope, &options);
    let pass = |survey: &Survey| {
        let plan = reconcile(survey, &target);
        let calls = match &plan {
            Ok(intent) => planned_calls(&hub.scope, &options, &document, &intent.plan),
            Err(_) => PlannedCalls::default(),
        };
        let answers = preflight::answers(survey, &calls.simulations);
        (plan, calls, answers)
    };
    let (survey, (plan, calls, answers)) = stages::extended(hub, (survey, Query::default()), pass).await?;
    let (planned, plan) = match plan {
        Ok(intent) => (of_plan(&intent), Some(intent)),
        Err(blocked) => (blocked_plan(blocked), None),
    };
    let unread: Vec<_> = survey.observed.faults().map(|(id, fault)| (id.to_string(), fault.clone())).collect();
    let findings = Findings {
        scope: &hub.scope,
        read: survey.observed.iter().count() - unread.len(),
        unread,
        router,
        planned,
        plan: plan.as_ref().map(|intent| &intent.plan),
        calls: &calls,
        concurrency: survey.unreserved_concurrency(),
        policy: policy(&hub.scope, &options),
    };
    let report = preflight::checks(findings, &answers);
    let mut intent = plan.unwrap_or_default();
    if !intent.refusals.is_empty() {
        // A refused plan is not shown.
        intent.plan = Plan::default();
    }
    Ok((intent, report))
}

/// Whether this kibus has a router for the plan.
fn of_router(hub: &ConnectedHub<'_>, router: &RouterFile, target: &mut Target, survey: &Survey) -> Message {
    let architecture = options_afterwards(survey, target).architecture();
    let text = match router.complete(hub.ui, target, survey) {
        Ok(Some(_)) => format!("version {} for {architecture}", env!("CARGO_PKG_VERSION")),
        Ok(None) => format!("the deployed code for {architecture} stays"),
        Err(error) => return of_error("router", MessageKind::Refused, error),
    };
    check_of("router", MessageKind::Passed, text)
}

fn of_plan(intent: &Intent) -> Message {
    if !intent.refusals.is_empty() {
        return of_error("plan", MessageKind::Refused, Error::from(intent.refusals.as_slice()));
    }
    let text = if intent.plan.is_empty() { "no changes".to_owned() } else { intent.plan.counts() };
    check_of("plan", MessageKind::Passed, text)
}

fn blocked_plan(blocked: Blocked) -> Message {
    let error = Error::from(blocked);
    match error.kind {
        // The line about reads has what helps.
        ErrorKind::Failed => {
            let hints = Vec::new();
            of_error("plan", MessageKind::Blocked, Error { hints, ..error })
        }
        _ => of_error("plan", MessageKind::Refused, error),
    }
}

fn of_error(subject: &str, kind: MessageKind, error: Error) -> Message {
    let message = check_of(subject, kind, error.message).notes(error.notes);
    message.fixed_by(Fix::Advice(error.hints))
}

/// The command that prints the policy for this plan.
fn policy(scope: &Scope, options: &HubOptions) -> String {
    let mut named = options.clone();
    named.retain(|flag| OF_OPERATORS.contains(&flag));
    let words = ["policy operator".to_owned()].into_iter().chain(named.typed());
    scope.kibus(words.collect::<Vec<_>>().join(" "))
}

fn show_checks(hub: &ConnectedHub<'_>, intent: &Intent, checks: &[Message]) -> Result<(), Error> {
    let ConnectedHub { ui, scope, .. } = hub;
    ui.warn_of(&intent.warnings);
    ui.result(&text::checks(scope, checks, ui.result_style()))?;
    let open = count(checks, "failed") + count(checks, "unknown");
    if open > 0 || intent.plan.is_empty() {
        return Ok(());
    }
    let command = hub.scope.options.again.replacen(" --check", "", 1);
    ui.next_steps(&[Hint::command("Next:", command)])
}

fn count(checks: &[Message], result: &str) -> usize {
    checks.iter().filter(|check| check.kind.result() == result).count()
}

/// The error to end with where this many questions have no answer.
fn incomplete(unknown: usize) -> Option<Error> {
    let (checks, verb) = (counted(unknown, "check"), if unknown == 1 { "has" } else { "have" });
    let error = Error::failed(format!("{checks} {verb} no result, so it is unknown whether the plan can be applied"));
    (unknown > 0).then_some(error)
}
