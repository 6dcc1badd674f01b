use std::collections::BTreeSet;

use tokio::sync::watch;

use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::stages::{Consent, agree};
use crate::cli::{Ending, failure, stages};
use crate::dead_letters::{self, DeadLetterReport, LetterStatus, Treated, Treatment, treat};
use crate::error::{Error, ErrorKind, Hint};
use crate::model::{Depth, Scope, now};
use crate::reconcile::check_dead_letters;
use crate::reconcile::{Intent, NextStep};
use crate::survey::{Query, Survey};
use crate::ui::{HubReport, Output, text};

/// Show the events that reached no cluster; route them again, or delete them.
///
/// Shows the reason for each. Events that the router dropped are none of them: they are in its log, and counted in its metrics.
/// Reads up to 1000 dead letters and makes them visible again; only their receive counts
/// change. --redrive and --purge apply only to the messages that were shown.
#[derive(Debug, clap::Args)]
// Without an action there is nothing to agree to.
#[command(mut_args(|arg| if TreatmentOption::has(&arg) { arg } else { arg.requires(TreatmentOption::GROUP) }))]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    action: TreatmentOption,
    #[command(flatten)]
    consent: Consent,
}

/// What is done with the dead letters that are shown.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(id = Self::GROUP, multiple = false)]
struct TreatmentOption {
    /// Route the events again through the live router, and delete those that it routed or dropped.
    #[arg(long)]
    redrive: bool,
    /// Delete the messages that are shown.
    #[arg(long)]
    purge: bool,
}

impl TreatmentOption {
    const GROUP: &str = "action";

    fn has(arg: &clap::Arg) -> bool {
        ["redrive", "purge"].contains(&arg.get_id().as_str())
    }

    fn treatment(self) -> Option<Treatment> {
        match (self.redrive, self.purge) {
            (true, _) => Some(Treatment::Redrive),
            (false, true) => Some(Treatment::Purge),
            (false, false) => None,
        }
    }
}

/// A hub, the dead letters that are to be treated, and what is reported.
struct Shown<'a> {
    hub: &'a ConnectedHub,
    ids: BTreeSet<String>,
    report: HubReport,
}

/// Shows the messages of each dead-letter queue, and redrives or deletes them if asked.
pub(super) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let treatment = args.action.treatment();
    hubs.stop.before_changes(treatment.is_some() && args.consent.dry_run(true).is_none());
    let read = hubs.each(async |hub| read(&hubs, hub, &args).await).await;
    let mut shown = Vec::new();
    for (hub, read) in hubs.list.iter().zip(read) {
        let mut report = hub.report(&Intent::default());
        let mut ids = BTreeSet::new();
        match read {
            Ok(letters) => {
                ids = show(&hubs, hub, &args, &letters)?;
                report.warnings = letters.warnings.iter().map(Hint::text).collect();
                report.dead_letters = Some(letters);
            }
            Err(error) => report.error = Some(error),
        }
        shown.push(Shown { hub, ids, report });
    }
    let some = shown.iter().any(|one| !one.ids.is_empty());
    let dry = args.consent.dry_run(some);
    if let (Some(treatment), true, None) = (treatment, some, dry) {
        treat_all(&hubs, &args, treatment, &mut shown).await?;
    }
    let reports = shown.into_iter().map(|one| one.report).collect();
    stages::finish(&hubs, reports, dry.unwrap_or(Ending::Done))
}

/// Reads the dead letters of a hub, and the router's log about them.
async fn read(hubs: &Hubs<'_>, hub: &ConnectedHub, args: &Args) -> Result<DeadLetterReport, Error> {
    let redrive = args.action.redrive;
    let unchanged = |error| match args.action.treatment() {
        Some(_) => args.consent.unchanged(error),
        None => error,
    };
    let pass = |survey: &Survey| check_dead_letters(redrive, survey);
    let (survey, checked) = stages::survey(hubs, hub, |_| Query::default(), pass).await?;
    checked.map_err(|blocked| unchanged(Error::from(blocked)))?;
    let _reading = hub.ui.spinner("reading the dead letters");
    let count = survey.depth(&hub.scope.dead_letter_queue()).map_or(0, Depth::messages);
    let letters = dead_letters::read(&hub.cloud, &hub.scope, count, now()).await;
    letters.map_err(|fault| unchanged(failure::call_failed(hub, "receive the dead letters", &fault)))
}

/// Shows the dead letters of a hub. Gives the ids of those that are to be treated.
fn show(
    hubs: &Hubs<'_>,
    hub: &ConnectedHub,
    args: &Args,
    letters: &DeadLetterReport,
) -> Result<BTreeSet<String>, Error> {
    hubs.part(hub, !letters.letters.is_empty())?;
    let shown = text::dead_letters(&hub.heading, letters, hub.ui.result_style());
    hub.ui.result(&shown)?;
    for warning in &letters.warnings {
        hub.ui.warn_text(warning);
    }
    let Some(treatment) = args.action.treatment() else {
        hub.ui.next_steps(&next_steps(&hub.scope, letters))?;
        return Ok(BTreeSet::new());
    };
    let ids = ids(treatment, letters);
    if !letters.letters.is_empty() {
        hub.ui.result(&format!("\n{}", text::treatment(treatment, ids.len(), letters)))?;
    }
    if !ids.is_empty()
        && args.consent.dry_run(true).is_none()
        && hub.ui.output == Output::Json
        && hub.ui.why_no_question.is_none()
    {
        hub.ui.say(&shown);
    }
    Ok(ids)
}

/// Redrives or deletes what was shown, of all hubs at the same time, if a person agrees.
async fn treat_all(hubs: &Hubs<'_>, args: &Args, treatment: Treatment, shown: &mut [Shown<'_>]) -> Result<(), Error> {
    let mut asked: Vec<&mut Shown<'_>> = shown.iter_mut().filter(|one| !one.ids.is_empty()).collect();
    let mut words = match treatment {
        Treatment::Redrive => Vec::new(),
        Treatment::Purge => asked.iter().map(|one| one.hub.scope.bus.as_str()).collect(),
    };
    words.dedup();
    if let Err(error) = agree(hubs, args.consent, &words.join(",")) {
        for one in asked {
            one.report.error = Some(error.clone());
        }
        return Ok(());
    }
    let treating = |stop: watch::Receiver<bool>| {
        let parts = asked.iter().map(|one| (one.hub, one.ids.clone(), stop.clone()));
        let treated = parts.map(async |(hub, ids, stop)| {
            let _treating = hub.ui.spinner("processing the dead letters");
            treat(&hub.cloud, &hub.scope, treatment, ids, &stop).await
        });
        treated.collect()
    };
    let (all, signal) = hubs.stop.during(hubs.ui, treating).await?;
    let interrupted = signal.unwrap_or(ErrorKind::Interrupted);
    for (one, treated) in asked.iter_mut().zip(all) {
        if let Some(letters) = &mut one.report.dead_letters {
            letters.settle(treatment, treated.as_ref());
        }
        one.report.error = match &treated {
            None => Some(failure::cut_short(one.hub, interrupted)),
            Some(treated) => {
                hubs.part(one.hub, false)?;
                if let Some(letters) = &one.report.dead_letters {
                    one.hub.ui.result(&text::treated(letters))?;
                }
                ended(one.hub, treatment, treated, interrupted)
            }
        };
        one.report.applied = one.report.error.is_none();
    }
    Ok(())
}

/// What a person can do with the dead letters that were shown.
fn next_steps(scope: &Scope, letters: &DeadLetterReport) -> Vec<NextStep> {
    let step = |text: &str, command: &str| NextStep::Run(Hint::command(text, scope.kibus(command)));
    let redrive = ("When the cause is fixed, route them again:", "dead-letters --redrive");
    let purge = ("To delete them:", "dead-letters --purge");
    let useful = [(Treatment::Redrive, redrive), (Treatment::Purge, purge)]
        .into_iter()
        .filter(|(treatment, _)| !ids(*treatment, letters).is_empty());
    useful.map(|(_, (text, command))| step(text, command)).collect()
}

/// The messages that a treatment is about.
fn ids(treatment: Treatment, report: &DeadLetterReport) -> BTreeSet<String> {
    let letters = report.letters.iter().filter(|letter| letter.suits(treatment));
    letters.map(|letter| letter.id.clone()).collect()
}

/// The error to end with, unless every message was treated or is gone.
fn ended(hub: &ConnectedHub, treatment: Treatment, treated: &Treated, interrupted: ErrorKind) -> Option<Error> {
    let results = treated.results.values();
    let returned = results.filter(|result| result.status == LetterStatus::Returned).count();
    let left = treated.results.len() - treated.done() - returned;
    let state = format!("{} processed, {left} left; no message is lost", treated.done());
    let what = match treatment {
        Treatment::Redrive => "could not redrive all dead letters",
        Treatment::Purge => "could not delete all dead letters",
    };
    let again = "to continue, run again in 30 seconds:";
    if let Some(fault) = &treated.fault {
        let error = failure::because(hub, Error::failed(what), fault).note(state);
        return Some(error.hint_command(again, hub.scope.again("")));
    }
    if treated.stopped {
        let error = Error::new(interrupted, "stopped before the end").note(state);
        return Some(error.hint_command("to continue, run again:", hub.scope.again("")));
    }
    if returned == 0 {
        return None;
    }
    let error = Error::failed(format!("the router could not route {returned} of the dead letters"));
    let error = error.note("they stay in the dead-letter queue");
    Some(error.hint_command("to see the reason of each:", hub.scope.kibus("dead-letters")))
}
