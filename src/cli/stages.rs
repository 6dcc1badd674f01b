//! The stages of every command that changes something: survey, reconcile, show, confirm, apply, report.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::failure;
use super::hub::ConnectedHub;
use super::router_file::RouterFile;
use crate::apply::{self, Outcome};
use crate::aws::AwsCloud;
use crate::error::{Error, ErrorKind};
use crate::model::{counted, status::PROBE_LIMIT};
use crate::plan::{Action, Plan};
use crate::reconcile::{Intent, Target, reconcile};
use crate::survey::{self, Query, SlowStep, Survey};
use crate::ui::{HubReport, PlanProgress, text};

/// How often a command plans again if the hub has changed since the plan was made.
const ATTEMPTS: usize = 3;

/// How changes are confirmed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Consent {
    /// Apply the changes without confirmation.
    #[arg(long, short = 'y')]
    yes: bool,
    /// Show the plan and change nothing.
    #[arg(long, conflicts_with = "yes")]
    pub(super) dry_run: bool,
    /// With --dry-run, exit with 2 if there are changes.
    #[arg(long, requires = "dry_run")]
    detailed_exitcode: bool,
}

impl Consent {
    /// Whether a dry run with these changes ends with the exit code for differences.
    pub(super) fn differs(self, changes: bool) -> bool {
        self.detailed_exitcode && changes
    }

    /// An error before the first change. It says that nothing was changed only if something could have been.
    pub(super) fn unchanged(self, error: Error) -> Error {
        if self.dry_run { error } else { error.note("nothing was changed") }
    }
}

/// Reads what `pass` requests about a hub, and returns its result. `guess` is what it will certainly request.
pub(super) async fn survey<T>(
    hub: &ConnectedHub<'_>,
    guess: impl FnOnce(&Survey) -> Query,
    pass: impl Fn(&Survey) -> T,
) -> Result<(Survey, T), Error> {
    let survey = Survey::new(hub.scope.clone());
    let guess = guess(&survey);
    extended(hub, (survey, guess), pass).await
}

/// Extends a survey that already has answers or first questions.
pub(super) async fn extended<T>(
    hub: &ConnectedHub<'_>,
    (survey, guess): (Survey, Query),
    pass: impl Fn(&Survey) -> T,
) -> Result<(Survey, T), Error> {
    let reading = RefCell::new(hub.ui.spinner("reading the hub and its clusters"));
    let report = |step: SlowStep| {
        let text = slow_step(step);
        match step {
            SlowStep::QueueLeaves | SlowStep::Probe { .. } => hub.ui.slowed(&text),
            // On a terminal, the live line shows the elapsed time.
            SlowStep::ProbeGoesOn { after, .. } => hub.ui.slowed(&format!("{text} after {}s", after.as_secs())),
        }
        drop(reading.replace(hub.ui.spinner(&text)));
    };
    let survey = survey::survey(&hub.cloud, survey, hub.limit, guess, &report, pass);
    let survey = hub.slowed(|reason| reading.borrow().slowed(reason), survey).await;
    survey.map_err(|endless| Error::failed("this is a bug of kibus").note(endless.to_string()))
}

fn slow_step(step: SlowStep) -> String {
    match step {
        SlowStep::QueueLeaves => "a queue marked for deletion still exists: waiting until it is gone".to_owned(),
        SlowStep::Probe { bus, clusters } => {
            let clusters = (clusters > 0).then(|| counted(clusters, "cluster"));
            let probed: Vec<String> = bus.then(|| "the bus".to_owned()).into_iter().chain(clusters).collect();
            let seconds = PROBE_LIMIT.as_secs();
            format!("probing {}, for up to {seconds} seconds", probed.join(" and "))
        }
        SlowStep::ProbeGoesOn { missing, all, after: _ } => {
            format!("still probing: {missing} of {all} results missing")
        }
    }
}

/// Reads what a target needs.
pub(super) async fn survey_for(hub: &ConnectedHub<'_>, target: &Target) -> Result<Survey, Error> {
    let begun = target.survey(hub.scope.clone());
    let (survey, _) = extended(hub, begun, |survey| reconcile(survey, target)).await?;
    Ok(survey)
}

/// Runs the stages, with a router if the target may upload one.
pub(super) async fn change(
    hub: &ConnectedHub<'_>,
    target: Target,
    consent: Consent,
    router: Option<&RouterFile>,
) -> Result<HubReport, Error> {
    hub.stop.before_changes(!consent.dry_run);
    let mut attempts = ATTEMPTS;
    loop {
        let (intent, cloud) = plan(hub, &target, consent, router).await?;
        if !intent.refusals.is_empty() {
            let error = consent.unchanged(Error::from(intent.refusals.as_slice()));
            // A refused plan is not shown.
            let intent = Intent { plan: Plan::default(), ..intent };
            return Ok(HubReport { error: Some(error), ..HubReport::new(&hub.scope, &intent) });
        }
        show_intent(hub, &intent, consent)?;
        let report = HubReport::new(&hub.scope, &intent);
        if intent.plan.is_empty() {
            conclude(hub, &intent, &intent.unchanged)?;
            return Ok(report);
        }
        if consent.dry_run {
            return Ok(HubReport { differs: consent.differs(true), ..report });
        }
        if let Err(error) = agree(hub, consent, intent.confirmed_by.as_deref().unwrap_or_default()).await {
            return Ok(HubReport { error: Some(error), ..report });
        }
        attempts -= 1;
        match apply(hub, &intent.plan, cloud).await? {
            Applied::Whole(took) => {
                conclude(hub, &intent, &summary(&intent.plan, took))?;
                return Ok(HubReport { applied: true, ..report });
            }
            Applied::Raced(_) if attempts > 0 => {
                hub.ui.note("another run has made changes since this plan was made; planning again", &[]);
            }
            Applied::Raced(error) | Applied::Unfinished(error) => {
                return Ok(HubReport { error: Some(error), ..report });
            }
        }
    }
}

/// Plans, and returns the cloud that applies the plan, with the archive of the router if it may be uploaded.
async fn plan(
    hub: &ConnectedHub<'_>,
    target: &Target,
    consent: Consent,
    router: Option<&RouterFile>,
) -> Result<(Intent, AwsCloud), Error> {
    let unchanged = |error| consent.unchanged(error);
    let survey = survey_for(hub, target).await.map_err(unchanged)?;
    let (mut target, mut cloud) = (target.clone(), hub.cloud.clone());
    if let Some(router) = router
        && let Some(archive) = router.complete(hub.ui, &mut target, &survey).map_err(unchanged)?
    {
        cloud = cloud.with_archive(archive);
    }
    match reconcile(&survey, &target) {
        Ok(intent) => Ok((intent, cloud)),
        // Without a hub, nothing could have been changed.
        Err(blocked) if blocked.is_no_hub() => Err(Error::from(blocked)),
        Err(blocked) => Err(unchanged(Error::from(blocked))),
    }
}

fn show_intent(hub: &ConnectedHub<'_>, intent: &Intent, consent: Consent) -> Result<(), Error> {
    let ConnectedHub { ui, scope, .. } = hub;
    let asks = !consent.yes && !consent.dry_run;
    if !intent.plan.is_empty() && (asks || !ui.quiet) {
        ui.show_plan(scope, intent, asks, consent.dry_run)?;
    }
    ui.warn_of(&intent.warnings);
    Ok(())
}

/// Asks the user to confirm what was shown: with yes or no, or by typing `word` if it is not empty.
pub(super) async fn agree(hub: &ConnectedHub<'_>, consent: Consent, word: &str) -> Result<(), Error> {
    let question = match word {
        "" => "Apply?".to_owned(),
        word => format!("This cannot be undone. Type `{word}` to apply"),
    };
    ask(hub, consent, (&question, word), ("apply these changes", "")).await
}

/// Asks this question, as [`agree`] does. Without a terminal, the error names the options that skip the question.
pub(super) async fn ask(
    hub: &ConnectedHub<'_>,
    consent: Consent,
    (question, word): (&str, &str),
    (what, options): (&str, &str),
) -> Result<(), Error> {
    if consent.yes {
        return Ok(());
    }
    let not_confirmed = Error::new(ErrorKind::NotConfirmed, "not confirmed; nothing was changed");
    if let Some(why) = hub.ui.why_no_question {
        return Err(not_confirmed
            .note(why)
            .hint_command(format!("to {what} without confirmation:"), hub.scope.again(&format!("{options} --yes"))));
    }
    hub.ui.confirm(question, word).await?.then_some(()).ok_or(not_confirmed)
}

/// How the changes of a plan ended.
enum Applied {
    Whole(Duration),
    /// Another run has changed something in the meantime.
    Raced(Error),
    Unfinished(Error),
}

async fn apply(hub: &ConnectedHub<'_>, plan: &Plan, cloud: AwsCloud) -> Result<Applied, Error> {
    let began = Instant::now();
    let mut outcome = Outcome::of(plan);
    let progress = PlanProgress::new(hub.ui, plan);
    let applying = async |asked: watch::Receiver<bool>| {
        let cloud = cloud.until(asked.clone());
        let changes = apply::apply(plan, &cloud, hub.limit, asked, &progress, &mut outcome);
        hub.slowed(|reason| progress.slowed(reason), changes).await;
        outcome.is_complete() && apply::settings_are_lost(plan, &cloud).await
    };
    let (ended, signal) = hub.stop.during(hub.ui, applying).await?;
    drop(progress);
    match ended {
        None => return Ok(Applied::Unfinished(failure::abandoned(hub, plan, signal, &outcome))),
        Some(true) => return Ok(Applied::Unfinished(failure::overwritten(hub, &outcome))),
        Some(false) => {}
    }
    if outcome.is_complete() {
        return Ok(Applied::Whole(began.elapsed()));
    }
    let error = failure::unfinished(hub, plan, &outcome, signal);
    Ok(if apply::is_raced(plan, &outcome) { Applied::Raced(error) } else { Applied::Unfinished(error) })
}

/// Writes the result, and the next steps.
fn conclude(hub: &ConnectedHub<'_>, intent: &Intent, result: &str) -> Result<(), Error> {
    hub.ui.sentence(result)?;
    hub.ui.next_steps(&intent.next)
}

fn summary(plan: &Plan, took: Duration) -> String {
    let done = |action: Action| match plan.count(action) {
        0 => None,
        count => Some(format!("{} {count}", action.words()[2])),
    };
    let counts: Vec<String> = Action::ALL.into_iter().filter_map(done).collect();
    format!("{} in {:.1}s.", text::capitalized(&counts.join(", ")), took.as_secs_f64())
}
