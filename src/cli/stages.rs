//! The stages that every command which changes something runs, for a list of hubs: survey, reconcile, show,
//! confirm, apply, report. Every hub is planned before the first is changed.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::deletes::settled_survey;
use super::hub::{ConnectedHub, Hubs};
use super::router_file::RouterFile;
use super::{Ending, failure};
use crate::apply::{self, Outcome};
use crate::error::{Error, ErrorKind};
use crate::model::scope::Scope;
use crate::plan::{Action, Plan};
use crate::reconcile::{Confirmation, Intent, Target, reconcile};
use crate::survey::{self, Endless, Query, Survey};
use crate::ui::{Heading, HubReport, Report};

/// How a person agrees to changes.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Consent {
    /// Apply the changes without confirmation.
    #[arg(long, short = 'y')]
    yes: bool,
    /// Show the plan and change nothing.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// With --dry-run, exit with 2 if there are changes.
    #[arg(long, requires = "dry_run")]
    detailed_exitcode: bool,
}

impl Consent {
    /// How a command ends that only shows these changes; `None` if it makes them.
    pub(super) fn dry_run(self, changes: bool) -> Option<Ending> {
        self.dry_run.then_some(match self.detailed_exitcode && changes {
            true => Ending::Differences,
            false => Ending::Done,
        })
    }
}

/// What became of one hub.
struct Planned {
    scope: Scope,
    intent: Intent,
    applied: bool,
    error: Option<Error>,
}

/// Reads what `needs` asks for about each hub, all at once.
pub(super) async fn survey(hubs: &Hubs<'_>, needs: impl Fn(&Survey) -> Query) -> Result<Vec<Survey>, Error> {
    let reading = hubs.ui.spinner("reading the hub and its clusters");
    let each = hubs.list.iter();
    let surveys = join_all(each.map(|hub| survey::survey(&hub.cloud, hub.scope.clone(), hubs.limit, &needs)));
    let surveys = hubs.slowed(|reason| reading.slowed(reason), surveys).await;
    let surveys: Result<Vec<Survey>, Endless> = surveys.into_iter().collect();
    surveys.map_err(|endless| Error::failed("this is a bug of kibus; nothing was changed").note(endless.to_string()))
}

/// Runs `one` for each hub, one after the other, and writes the one JSON document. Gives the worst ending.
pub(super) async fn report_each(
    hubs: &Hubs<'_>,
    surveys: &[Survey],
    one: impl AsyncFn(&ConnectedHub, &Survey) -> Result<(HubReport, Ending), Error>,
) -> Result<Ending, Error> {
    let mut ended = Vec::new();
    for (hub, survey) in hubs.list.iter().zip(surveys) {
        ended.push(one(hub, survey).await?);
    }
    report_all(hubs, ended)
}

/// Writes the one JSON document. Gives the worst ending.
pub(super) fn report_all(hubs: &Hubs<'_>, ended: Vec<(HubReport, Ending)>) -> Result<Ending, Error> {
    let (reports, endings): (Vec<_>, Vec<_>) = ended.into_iter().unzip();
    write(hubs, reports)?;
    Ok(endings.into_iter().fold(Ending::Done, Ending::or))
}

/// Writes the one JSON document, and gives how the command ends: with the first error, if there is one.
pub(super) fn report(hubs: &Hubs<'_>, reports: Vec<HubReport>) -> Result<Ending, Error> {
    let error = reports.iter().find_map(|report| report.error.clone());
    write(hubs, reports)?;
    Ok(error.map_or(Ending::Done, |error| Ending::Failed(Box::new(error))))
}

fn write(hubs: &Hubs<'_>, reports: Vec<HubReport>) -> Result<(), Error> {
    let slowdown = hubs.slowdown();
    if hubs.verbose
        && let Some(sentence) = slowdown.sentence()
    {
        hubs.ui.note(&sentence, &[]);
    }
    hubs.ui.report(&Report {
        hubs: reports,
        global_options: &hubs.global_options,
        slowdown,
    })
}

/// Runs the stages with one target for all hubs.
pub(super) async fn change(hubs: Hubs<'_>, target: Target, consent: Consent) -> Result<Ending, Error> {
    change_with(hubs, target, consent, &RouterFile::default()).await
}

/// The same with this router, for a target that needs one.
pub(super) async fn change_with(
    mut hubs: Hubs<'_>,
    target: Target,
    consent: Consent,
    router: &RouterFile,
) -> Result<Ending, Error> {
    let surveys = settled_survey(&hubs, &target).await?;
    let mut results = Vec::new();
    for (at, survey) in surveys.iter().enumerate() {
        let mut target = target.clone();
        router.complete(hubs.ui, &mut hubs.list[at], &mut target, survey)?;
        results.push(planned(&hubs, &hubs.list[at], &target, survey));
    }
    // A hub that cannot be planned stops all of them: a plan is complete before the first write.
    if results.iter().any(|result| result.error.is_some()) {
        return report(&hubs, reports_of(&results));
    }
    show(&hubs, &results, consent)?;
    if results.iter().all(|result| result.intent.plan.is_empty()) {
        let ending = report(&hubs, reports_of(&results))?;
        for result in &results {
            hubs.ui.sentence(&result.intent.unchanged)?;
            hubs.ui.next_steps(&result.intent.next, &hubs.global_options)?;
        }
        return Ok(ending);
    }
    if consent.dry_run {
        let ending = report(&hubs, reports_of(&results))?;
        return Ok(match ending {
            Ending::Done if consent.detailed_exitcode => Ending::Differences,
            other => other,
        });
    }
    if let Err(error) = confirm(&hubs, &results, consent) {
        for result in &mut results {
            result.error = Some(error.clone());
        }
        return report(&hubs, reports_of(&results));
    }
    for (hub, result) in hubs.list.iter().zip(&mut results) {
        if result.intent.plan.is_empty() {
            hubs.ui.sentence(&result.intent.unchanged)?;
            continue;
        }
        let began = Instant::now();
        match apply(&hubs, hub, &result.intent.plan).await {
            Ok(()) => {
                result.applied = true;
                hubs.ui.result(&summary(&result.intent.plan, began.elapsed()))?;
                hubs.ui.next_steps(&result.intent.next, &hubs.global_options)?;
            }
            Err(error) => {
                result.error = Some(error);
                break;
            }
        }
    }
    report(&hubs, reports_of(&results))
}

fn planned(hubs: &Hubs<'_>, hub: &ConnectedHub, target: &Target, survey: &Survey) -> Planned {
    let place = hubs.place(hub);
    let (intent, error) = match reconcile(survey, target) {
        Err(blocked) => (Intent::default(), Some(failure::blocked(&place, &blocked))),
        Ok(intent) if intent.refusals.is_empty() => (intent, None),
        Ok(intent) => {
            let removes = intent.plan.changes.iter().all(|change| change.after.is_none());
            let error = failure::refused(&place, &intent.refusals, removes && !intent.plan.is_empty());
            // A refused plan is not shown.
            let plan = Plan::default();
            (Intent { plan, ..intent }, Some(error))
        }
    };
    Planned {
        scope: hub.scope.clone(),
        intent,
        applied: false,
        error: error.map(|error| hubs.complete(error)),
    }
}

fn show(hubs: &Hubs<'_>, results: &[Planned], consent: Consent) -> Result<(), Error> {
    let asks = !consent.yes && !consent.dry_run;
    for result in results.iter().filter(|result| !result.intent.plan.is_empty()) {
        hubs.ui.release_queues(&result.intent.release);
        hubs.ui
            .show_plan(&Heading::from(&result.scope), &result.intent.plan, asks)?;
    }
    for result in results {
        hubs.ui.warn_of(&result.intent, &hubs.global_options);
    }
    Ok(())
}

fn confirm(hubs: &Hubs<'_>, results: &[Planned], consent: Consent) -> Result<(), Error> {
    let words: Vec<&str> = results
        .iter()
        .filter(|result| !result.intent.plan.is_empty())
        .filter_map(|result| match &result.intent.confirmation {
            Confirmation::YesNo => None,
            Confirmation::Typed(word) => Some(word.as_str()),
        })
        .collect();
    agree(hubs, consent, &words.join(","))
}

/// Asks a person to agree to what was shown: with yes or no, or by typing `word` if it is not empty.
pub(super) fn agree(hubs: &Hubs<'_>, consent: Consent, word: &str) -> Result<(), Error> {
    if consent.yes {
        return Ok(());
    }
    let not_confirmed = || Error::new(ErrorKind::NotConfirmed, "not confirmed; nothing was changed");
    if !hubs.ui.can_ask() {
        return Err(not_confirmed()
            .note("no terminal for confirmation; pass `--yes` to apply")
            .hint_command(
                "to apply these changes without confirmation:",
                format!("{} --yes", hubs.command_line),
            ));
    }
    let yes = match word {
        "" => hubs.ui.confirm("Apply?")?,
        word => hubs
            .ui
            .confirm_typed(&format!("This cannot be undone. Type `{word}` to apply"), word)?,
    };
    if yes { Ok(()) } else { Err(not_confirmed()) }
}

async fn apply(hubs: &Hubs<'_>, hub: &ConnectedHub, plan: &Plan) -> Result<(), Error> {
    let progress = hubs.ui.progress(plan);
    let changes = hubs.stop.during(hubs.ui, async |asked| {
        let cloud = hub.cloud.clone().until(asked.clone());
        apply::apply(plan, &cloud, hubs.limit, asked, &progress).await
    });
    let ended = hubs.slowed(|reason| progress.slowed(reason), changes).await;
    progress.finish();
    let (outcome, signal) = ended?;
    let place = hubs.place(hub);
    let interrupted = signal.unwrap_or(ErrorKind::Interrupted);
    let error = match outcome {
        None => failure::cut_short(&place, interrupted),
        Some(outcome) if outcome.is_complete() => return Ok(()),
        Some(outcome) => unfinished(&place, plan, &outcome, interrupted),
    };
    Err(hubs.complete(error))
}

fn unfinished(place: &failure::Place, plan: &Plan, outcome: &Outcome, interrupted: ErrorKind) -> Error {
    match outcome.failed.first() {
        Some((at, fault)) => failure::failed_change(place, &plan.changes[*at], fault, outcome),
        None => failure::stopped(place, plan, interrupted, outcome),
    }
}

fn reports_of(results: &[Planned]) -> Vec<HubReport> {
    let report = |result: &Planned| HubReport {
        applied: result.applied,
        error: result.error.clone(),
        ..HubReport::new(&result.scope, &result.intent)
    };
    results.iter().map(report).collect()
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
    format!("{text} in {:.1}s.", took.as_secs_f64())
}
