//! What every command that changes something does with its plan: check, show, confirm, apply, report.

use std::time::{Duration, Instant};

use super::context::Context;
use super::stop::Stop;
use super::{Ending, explain};
use crate::apply::{self, Outcome};
use crate::error::{Error, ErrorKind};
use crate::model::inventory::Observed;
use crate::plan::{self, Action, Plan};
use crate::ui::json::{ClusterReport, HubReport, Report};

/// What a command wants done, and how it talks about it.
pub(super) struct Intent {
    pub(super) plan: Plan,
    /// Everything that the plan rests on.
    pub(super) observed: Observed,
    /// The clusters that it is about.
    pub(super) clusters: Vec<ClusterReport>,
    /// The steps that somebody must take before the plan is carried out.
    pub(super) first: Vec<String>,
    /// What must be known before saying yes.
    pub(super) warnings: Vec<String>,
    /// What to say when there is nothing to change.
    pub(super) nothing: String,
    /// What to say when it is done, after the count.
    pub(super) next: String,
    /// How the question is asked.
    pub(super) question: Question,
}

/// How the question is asked.
pub(super) enum Question {
    /// Yes or no.
    YesNo,
    /// By typing a word, for what cannot be undone.
    Typed(String),
}

/// Checks, shows, confirms, applies, reports.
pub(super) async fn carry_out(context: &Context<'_>, intent: Intent) -> Result<Ending, Error> {
    let refusals = plan::check_allowing(&context.scope, &intent.plan, &intent.observed, context.allowed);
    if !refusals.is_empty() {
        let removes = intent.plan.changes.iter().all(|change| change.after.is_none());
        let error = explain::refused(context, &refusals, removes);
        // What is refused is not planned any more.
        let plan = Plan::default();
        return report(context, &Intent { plan, ..intent }, false, Err(error));
    }
    if intent.plan.is_empty() {
        let ending = report(context, &intent, false, Ok(Ending::Done))?;
        context.ui.sentences(&intent.nothing)?;
        return Ok(ending);
    }
    for step in &intent.first {
        context.ui.warn(step);
    }
    context.ui.show_plan(&context.heading(), &intent.plan)?;
    for warning in &intent.warnings {
        context.ui.warn(warning);
    }
    if context.dry_run {
        let ending = if context.detailed_exitcode {
            Ending::Differences
        } else {
            Ending::Done
        };
        return report(context, &intent, false, Ok(ending));
    }
    if let Err(error) = confirm(context, &intent.question) {
        return report(context, &intent, false, Err(error));
    }
    let began = Instant::now();
    match run(context, &intent.plan).await {
        Ok(()) => {
            let ending = report(context, &intent, true, Ok(Ending::Done))?;
            context.ui.result(&summary(&intent.plan, began.elapsed()))?;
            if !intent.next.is_empty() {
                context.ui.sentences(&intent.next)?;
            }
            Ok(ending)
        }
        Err(error) => report(context, &intent, false, Err(error)),
    }
}

fn confirm(context: &Context<'_>, question: &Question) -> Result<(), Error> {
    if context.yes {
        return Ok(());
    }
    let not_confirmed = || Error::new(ErrorKind::NotConfirmed, "not confirmed; nothing was changed");
    if !context.ui.can_ask() {
        return Err(not_confirmed().note("there is no terminal to ask on").hint_command(
            "to make these changes without being asked:",
            format!("{} --yes", context.command_line),
        ));
    }
    let yes = match question {
        Question::YesNo => context.ui.confirm("Apply?")?,
        Question::Typed(word) => context
            .ui
            .confirm_typed(&format!("This cannot be undone. Type `{word}` to go on"), word)?,
    };
    if yes { Ok(()) } else { Err(not_confirmed()) }
}

async fn run(context: &Context<'_>, plan: &Plan) -> Result<(), Error> {
    let mut stop = Stop::listen()?;
    let asked = stop.asked();
    let progress = context.ui.progress(plan);
    let work = apply::apply(plan, &context.cloud, context.limit, asked, &progress);
    let (outcome, signal) = stop.during(context.ui, work).await;
    progress.finish();
    let Some(outcome) = outcome else {
        return Err(explain::cut_short(context, signal.unwrap_or(ErrorKind::Interrupted)));
    };
    if outcome.is_complete() {
        return Ok(());
    }
    Err(unfinished(context, plan, &outcome, signal))
}

fn unfinished(context: &Context<'_>, plan: &Plan, outcome: &Outcome, signal: Option<ErrorKind>) -> Error {
    match outcome.failed.first() {
        Some((place, fault)) => explain::failed_change(context, &plan.changes[*place], fault, outcome),
        None => explain::stopped(context, signal.unwrap_or(ErrorKind::Interrupted), outcome),
    }
}

/// Prints the one JSON document, and gives how the command ends.
fn report(
    context: &Context<'_>,
    intent: &Intent,
    applied: bool,
    result: Result<Ending, Error>,
) -> Result<Ending, Error> {
    let heading = context.heading();
    let hub = HubReport {
        bus: heading.bus,
        account: heading.account,
        region: heading.region,
        plan: &intent.plan,
        clusters: intent.clusters.clone(),
        problems: Vec::new(),
        probes: Vec::new(),
        warnings: intent.first.iter().chain(&intent.warnings).cloned().collect(),
        status: None,
        applied,
        error: result.as_ref().err(),
    };
    context.ui.report(&Report { hubs: vec![hub] })?;
    Ok(result.unwrap_or_else(|error| Ending::Failed(Box::new(error))))
}

fn summary(plan: &Plan, took: Duration) -> String {
    let counts: Vec<String> = [
        (Action::Create, "created"),
        (Action::Update, "updated"),
        (Action::Replace, "replaced"),
        (Action::Delete, "deleted"),
    ]
    .into_iter()
    .map(|(action, word)| (plan.count(action), word))
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| format!("{word} {count}"))
    .collect();
    let mut text = counts.join(", ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("{text} in {:.1} s.", took.as_secs_f64())
}
