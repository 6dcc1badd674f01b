//! The stages of every command that changes something, for a list of hubs: survey, reconcile, show, confirm, apply,
//! report. All hubs are surveyed at the same time and planned before the first is changed; then all plans are applied at
//! the same time. A hub that fails does not stop the others.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::watch;

use super::hub::{ConnectedHub, Hubs};
use super::router_file::RouterFile;
use super::{Ending, failure};
use crate::apply::{self, Outcome};
use crate::error::{Error, ErrorKind};
use crate::model::{counted, status::PROBE_LIMIT};
use crate::plan::{Action, Plan};
use crate::reconcile::{Intent, Target, reconcile};
use crate::survey::{self, Query, SlowStep, Survey};
use crate::ui::{HubReport, PlanProgress, Report, text};

/// How often a command plans, if a hub is not what it was when the plan was made.
const RACES: usize = 3;

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
        self.dry_run.then_some(if self.detailed_exitcode && changes {
            Ending::With(ErrorKind::Differences)
        } else {
            Ending::Done
        })
    }

    /// An error before the first change. That nothing was changed is said only where something could have been.
    pub(super) fn unchanged(self, error: Error) -> Error {
        if self.dry_run { error } else { error.note("nothing was changed") }
    }
}

/// What became of one hub.
struct Planned {
    intent: Intent,
    /// How long it took to apply the whole plan.
    took: Option<Duration>,
    error: Option<Error>,
    /// Whether the plan was out of date, so a new one is made.
    raced: bool,
}

impl Planned {
    fn failed(error: Error) -> Self {
        Self { intent: Intent::default(), took: None, error: Some(error), raced: false }
    }

    fn is_pending(&self) -> bool {
        self.took.is_none() && self.error.is_none() && !self.intent.plan.is_empty()
    }
}

/// Reads what `pass` asks for about a hub, and gives its result. `guess` is what it will certainly ask for.
pub(super) async fn survey<T>(
    hubs: &Hubs<'_>,
    hub: &ConnectedHub,
    guess: impl FnOnce(&Survey) -> Query,
    pass: impl Fn(&Survey) -> T,
) -> Result<(Survey, T), Error> {
    let survey = Survey::new(hub.scope.clone());
    let guess = guess(&survey);
    extended(hubs, hub, (survey, guess), pass).await
}

/// The same for a survey that knows something already, or what to ask first.
pub(super) async fn extended<T>(
    hubs: &Hubs<'_>,
    hub: &ConnectedHub,
    (survey, guess): (Survey, Query),
    pass: impl Fn(&Survey) -> T,
) -> Result<(Survey, T), Error> {
    let reading = RefCell::new(hub.ui.spinner("reading the hub and its clusters"));
    let report = |step: SlowStep| {
        let text = slow_step(step);
        match step {
            SlowStep::Glance | SlowStep::Watch | SlowStep::Simulate => {}
            SlowStep::QueueLeaves | SlowStep::Probe { .. } | SlowStep::ProbeGoesOn { .. } => hub.ui.slowed(&text),
        }
        drop(reading.replace(hub.ui.spinner(&text)));
    };
    let survey = survey::survey(&hub.cloud, survey, hub.limit, guess, &report, pass);
    let survey = hubs.slowed(hub, |reason| reading.borrow().slowed(reason), survey).await;
    survey.map_err(|endless| Error::failed("this is a bug of kibus").note(endless.to_string()))
}

fn slow_step(step: SlowStep) -> String {
    match step {
        SlowStep::Glance => "messages wait: checking whether they are received".to_owned(),
        SlowStep::Watch => "messages wait: watching for a minute whether they are received".to_owned(),
        SlowStep::QueueLeaves => {
            "a queue that was marked as being deleted still answers: waiting until it is gone".to_owned()
        }
        SlowStep::Simulate => "asking IAM which calls it allows".to_owned(),
        SlowStep::Probe { bus, clusters } => {
            let clusters = (clusters > 0).then(|| counted(clusters, "cluster"));
            let probed: Vec<String> = bus.then(|| "the bus".to_owned()).into_iter().chain(clusters).collect();
            let seconds = PROBE_LIMIT.as_secs();
            format!("probing {}, for at most {seconds} seconds", probed.join(" and "))
        }
        SlowStep::ProbeGoesOn { missing, all, after } => {
            let seconds = after.as_secs();
            format!("still probing: {missing} of {all} results missing after {seconds}s")
        }
    }
}

/// Reads what a target needs.
pub(super) async fn survey_for(hubs: &Hubs<'_>, hub: &ConnectedHub, target: &Target) -> Result<Survey, Error> {
    let begun = target.survey(hub.scope.clone());
    let (survey, _) = extended(hubs, hub, begun, |survey| reconcile(survey, target)).await?;
    Ok(survey)
}

/// Runs the stages with the same target for all hubs.
pub(super) async fn change(hubs: Hubs<'_>, target: Target, consent: Consent) -> Result<Ending, Error> {
    change_with(hubs, target, consent, &RouterFile::default()).await
}

/// The same with this router for the hubs that need one. A router that cannot be used ends the command, because it is not
/// about a hub.
pub(super) async fn change_with(
    mut hubs: Hubs<'_>,
    target: Target,
    consent: Consent,
    router: &RouterFile,
) -> Result<Ending, Error> {
    hubs.stop.before_changes(!consent.dry_run);
    let everything: Vec<usize> = (0..hubs.list.len()).collect();
    let mut results: Vec<Planned> = Vec::new();
    let mut shown = None;
    let mut open = everything;
    for _ in 0..RACES {
        for (place, result) in plan_each(&mut hubs, &open, &target, consent, router).await? {
            match results.get_mut(place) {
                Some(raced) => *raced = result,
                None => results.push(result),
            }
        }
        show(&hubs, &results, consent)?;
        let pending = results.iter().any(Planned::is_pending);
        shown = consent.dry_run(pending);
        if !pending || shown.is_some() {
            break;
        }
        match confirm(&hubs, &results, consent) {
            Ok(()) => apply_all(&hubs, &mut results).await?,
            Err(error) => {
                for result in results.iter_mut().filter(|result| result.is_pending()) {
                    result.error = Some(error.clone());
                }
            }
        }
        open = (0..results.len()).filter(|place| results[*place].raced).collect();
        if open.is_empty() {
            break;
        }
    }
    let mut reports = Vec::new();
    for (hub, result) in hubs.list.iter().zip(&results) {
        conclude(&hubs, hub, result)?;
        reports.push(HubReport {
            applied: result.took.is_some(),
            error: result.error.clone(),
            ..hub.report(&result.intent)
        });
    }
    finish(&hubs, reports, shown.unwrap_or(Ending::Done))
}

/// Surveys these hubs and plans for them.
async fn plan_each(
    hubs: &mut Hubs<'_>,
    places: &[usize],
    target: &Target,
    consent: Consent,
    router: &RouterFile,
) -> Result<Vec<(usize, Planned)>, Error> {
    let of = places.iter().map(|place| survey_for(hubs, &hubs.list[*place], target));
    let surveys = join_all(of).await;
    let mut results = Vec::new();
    for (place, survey) in places.iter().copied().zip(surveys) {
        let hub = &mut hubs.list[place];
        let result = match survey {
            Ok(survey) => {
                let mut target = target.clone();
                let archive = router.complete(&hub.ui, &mut target, &survey);
                if let Some(archive) = archive.map_err(|error| consent.unchanged(error))? {
                    hub.cloud = hub.cloud.clone().with_archive(archive);
                }
                planned(&target, &survey, consent)
            }
            Err(error) => Planned::failed(consent.unchanged(error)),
        };
        results.push((place, result));
    }
    Ok(results)
}

fn planned(target: &Target, survey: &Survey, consent: Consent) -> Planned {
    let (intent, error) = match reconcile(survey, target) {
        // Without a hub, nothing could have been changed.
        Err(blocked) if blocked.is_no_hub() => return Planned::failed(Error::from(blocked)),
        Err(blocked) => return Planned::failed(consent.unchanged(Error::from(blocked))),
        Ok(intent) if intent.refusals.is_empty() => (intent, None),
        Ok(intent) => {
            let error = Error::from(intent.refusals.as_slice());
            // A refused plan is not shown.
            let plan = Plan::default();
            (Intent { plan, ..intent }, Some(consent.unchanged(error)))
        }
    };
    Planned { intent, took: None, error, raced: false }
}

/// Shows the plans, and which hubs have none because of an error, if others are changed without them.
fn show(hubs: &Hubs<'_>, results: &[Planned], consent: Consent) -> Result<(), Error> {
    let asks = !consent.yes && !consent.dry_run;
    let planned = || hubs.list.iter().zip(results);
    for (hub, result) in planned().filter(|(_, result)| result.is_pending()) {
        hub.ui.release_queues(&result.intent.release);
        if asks || !hubs.quiet {
            hubs.part(hub, true)?;
            hub.ui.show_plan(&hub.heading, &result.intent.plan, asks, consent.dry_run)?;
            hub.ui.found_roles(&result.intent.clusters, asks);
        }
    }
    for (hub, result) in planned().filter(|(_, result)| result.error.is_none() && result.took.is_none()) {
        hub.ui.warn_of(&result.intent);
    }
    if results.iter().any(Planned::is_pending) {
        let unplanned = planned().filter_map(|(hub, result)| Some((&hub.heading, result.error.as_ref()?)));
        let unreached = hubs.unreached.iter().filter_map(|report| Some((&report.heading, report.error.as_ref()?)));
        for (heading, error) in unplanned.chain(unreached) {
            hubs.ui.labeled(&heading.label).note(&format!("not planned: {error}"), &[]);
        }
    }
    Ok(())
}

fn confirm(hubs: &Hubs<'_>, results: &[Planned], consent: Consent) -> Result<(), Error> {
    let pending = results.iter().filter(|result| result.is_pending());
    let mut words: Vec<&str> = pending.filter_map(|result| result.intent.confirmed_by.as_deref()).collect();
    words.dedup();
    agree(hubs, consent, &words.join(","))
}

/// Asks a person to agree to what was shown: with yes or no, or by typing `word` if it is not empty.
pub(super) fn agree(hubs: &Hubs<'_>, consent: Consent, word: &str) -> Result<(), Error> {
    let question = match word {
        "" => "Apply?".to_owned(),
        word => format!("This cannot be undone. Type `{word}` to apply"),
    };
    ask(hubs, consent, (&question, word), ("apply these changes", ""))
}

/// Asks this question, as [`agree`] does. Without a terminal, the error tells with which options `what` needs no answer.
pub(super) fn ask(
    hubs: &Hubs<'_>,
    consent: Consent,
    (question, word): (&str, &str),
    (what, options): (&str, &str),
) -> Result<(), Error> {
    if consent.yes {
        return Ok(());
    }
    let not_confirmed = Error::new(ErrorKind::NotConfirmed, "not confirmed; nothing was changed");
    if let Some(why) = hubs.ui.why_no_question {
        return Err(not_confirmed.note(why).hint_command(
            format!("to {what} without confirmation:"),
            format!("{}{options} --yes", hubs.command_line),
        ));
    }
    let yes = match word {
        "" => hubs.ui.confirm(question)?,
        word => hubs.ui.confirm_typed(question, word)?,
    };
    yes.then_some(()).ok_or(not_confirmed)
}

/// Applies the plans of all hubs at the same time. A request to stop stops all of them.
async fn apply_all(hubs: &Hubs<'_>, results: &mut [Planned]) -> Result<(), Error> {
    let planned = hubs.list.iter().zip(results);
    let pending: Vec<_> = planned.filter(|(_, result)| result.is_pending()).collect();
    let plans = pending.iter().map(|(_, result)| &result.intent.plan);
    let mut outcomes: Vec<Outcome> = plans.map(Outcome::of).collect();
    let hubs_and_outcomes = pending.iter().zip(&mut outcomes);
    let applying = |asked: watch::Receiver<bool>| {
        let each = hubs_and_outcomes;
        each.map(|((hub, result), outcome)| apply(hubs, hub, &result.intent.plan, asked.clone(), outcome)).collect()
    };
    let (times, signal) = hubs.stop.during(hubs.ui, applying).await?;
    let interrupted = signal.unwrap_or(ErrorKind::Interrupted);
    for (((hub, result), took), outcome) in pending.into_iter().zip(times).zip(&outcomes) {
        let plan = &result.intent.plan;
        result.raced = apply::race_is_lost(plan, outcome);
        if result.raced {
            hub.ui.note("another run has created what this plan would create meanwhile; planning again", &[]);
        }
        result.error = match took {
            None => Some(failure::abandoned(hub, plan, interrupted, outcome)),
            Some(_) if outcome.is_complete() => None,
            Some(_) => Some(failure::unfinished(hub, plan, outcome, interrupted)),
        };
        result.took = took.filter(|_| outcome.is_complete());
    }
    Ok(())
}

/// Applies the plan of a hub. Returns how long it took.
async fn apply(
    hubs: &Hubs<'_>,
    hub: &ConnectedHub,
    plan: &Plan,
    asked: watch::Receiver<bool>,
    outcome: &mut Outcome,
) -> Duration {
    let began = Instant::now();
    let progress = PlanProgress::new(&hub.ui, plan);
    let cloud = hub.cloud.clone().until(asked.clone());
    let changes = apply::apply(plan, &cloud, hub.limit, asked, &progress, outcome);
    hubs.slowed(hub, |reason| progress.slowed(reason), changes).await;
    began.elapsed()
}

/// Writes what became of a hub, and the next steps.
fn conclude(hubs: &Hubs<'_>, hub: &ConnectedHub, result: &Planned) -> Result<(), Error> {
    let text = match result.took {
        Some(took) => summary(&result.intent.plan, took),
        None if result.error.is_none() && !result.is_pending() => result.intent.unchanged.clone(),
        None => return Ok(()),
    };
    hubs.part(hub, false)?;
    hub.ui.sentence(&text)?;
    hub.ui.next_steps(&result.intent.next)
}

/// Writes the one JSON document and shows the errors, the same error of several hubs once. Gives the worst ending.
pub(super) fn finish(hubs: &Hubs<'_>, mut reports: Vec<HubReport>, ending: Ending) -> Result<Ending, Error> {
    reports.extend(hubs.unreached.iter().cloned());
    let slowdown = hubs.slowdown();
    if hubs.verbose
        && let Some(sentence) = slowdown.sentence()
    {
        hubs.ui.note(&sentence, &[]);
    }
    let report = Report { hubs: reports, throttled_calls: slowdown.throttled, ..Report::default() };
    hubs.ui.report(&report)?;
    let mut errors: Vec<(&Error, Vec<&str>)> = Vec::new();
    for hub in &report.hubs {
        let Some(error) = &hub.error else { continue };
        let label = hub.heading.label.as_str();
        match errors.iter_mut().find(|(other, _)| *other == error) {
            Some((_, labels)) => labels.push(label),
            None => errors.push((error, vec![label])),
        }
    }
    for (error, labels) in &errors {
        hubs.ui.labeled(&labels.join(", ")).show_error(error);
    }
    let kinds = errors.iter().map(|(error, _)| Ending::With(error.kind));
    Ok(kinds.fold(ending, Ending::max))
}

fn summary(plan: &Plan, took: Duration) -> String {
    let done = |action: Action| match plan.count(action) {
        0 => None,
        count => Some(format!("{} {count}", action.words()[2])),
    };
    let counts: Vec<String> = Action::ALL.into_iter().filter_map(done).collect();
    format!("{} in {:.1}s.", text::capitalized(&counts.join(", ")), took.as_secs_f64())
}
