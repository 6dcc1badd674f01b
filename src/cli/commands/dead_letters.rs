use std::collections::BTreeSet;

use tokio::sync::watch;

use crate::cli::hub::{ConnectedHub, Context};
use crate::cli::stages::{Consent, agree};
use crate::cli::{failure, stages};
use crate::dead_letters::{self, DeadLetterReport, LetterStatus, Treated, Treatment, treat};
use crate::error::{Error, ErrorKind, Hint};
use crate::message::Message;
use crate::model::{Depth, Scope, now};
use crate::reconcile::check_dead_letters;
use crate::survey::{Query, Survey};
use crate::ui::{Body, HubReport, Output, text};

/// Show events that reached no cluster; route them again, or delete them.
///
/// Shows the reason for each. Dropped events are not dead letters: they are in the router's log and counted in its metrics.
/// Reads up to 1000 dead letters and makes them visible again; only their receive counts change. --redrive and --purge apply only to the messages that were shown.
#[derive(Debug, clap::Args)]
// Without an action there is nothing to confirm.
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
    /// Delete the messages shown.
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

/// Shows the messages of the dead-letter queue, and redrives or deletes them if asked.
pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    let hub = context.hub().await?;
    let (treatment, consent) = (args.action.treatment(), args.consent);
    hub.stop.before_changes(treatment.is_some() && !consent.dry_run);
    let mut letters = read_letters(hub, &args).await?;
    let ids = show_letters(hub, &args, &letters)?;
    let differs = consent.differs(!ids.is_empty());
    let (mut error, mut applied) = (None, false);
    if let Some(treatment) = treatment
        && !ids.is_empty()
        && !consent.dry_run
    {
        error = treat_shown(hub, consent, treatment, ids, &mut letters).await?;
        applied = error.is_none();
    }
    Ok(HubReport { applied, error, differs, ..HubReport::with(&hub.scope, Body::DeadLetters(letters)) })
}

/// Reads the dead letters, and the router's log about them.
async fn read_letters(hub: &ConnectedHub<'_>, args: &Args) -> Result<DeadLetterReport, Error> {
    let redrive = args.action.redrive;
    let unchanged = |error| match args.action.treatment() {
        Some(_) => args.consent.unchanged(error),
        None => error,
    };
    let pass = |survey: &Survey| check_dead_letters(redrive, survey);
    let (survey, checked) = stages::survey(hub, |_| Query::default(), pass).await?;
    checked.map_err(|blocked| unchanged(Error::from(blocked)))?;
    let _reading = hub.ui.spinner("reading the dead letters");
    let count = survey.depth(&hub.scope.dead_letter_queue()).map_or(0, Depth::messages);
    let letters = dead_letters::read(&hub.cloud, &hub.scope, count, now()).await;
    letters.map_err(|fault| unchanged(Message::unread(&hub.scope, [("the dead letters".into(), &fault)]).into()))
}

/// Shows the dead letters. Returns the ids of those to process.
fn show_letters(hub: &ConnectedHub<'_>, args: &Args, letters: &DeadLetterReport) -> Result<BTreeSet<String>, Error> {
    let shown = text::dead_letters(&hub.scope, letters, hub.ui.result_style());
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
    if !ids.is_empty() && !args.consent.dry_run && hub.ui.output == Output::Json && hub.ui.why_no_question.is_none() {
        hub.ui.say(&shown);
    }
    Ok(ids)
}

/// Redrives or deletes the messages shown, if the user confirms. Returns the error to end with.
async fn treat_shown(
    hub: &ConnectedHub<'_>,
    consent: Consent,
    treatment: Treatment,
    ids: BTreeSet<String>,
    letters: &mut DeadLetterReport,
) -> Result<Option<Error>, Error> {
    let word = match treatment {
        Treatment::Redrive => "",
        Treatment::Purge => hub.scope.bus.as_str(),
    };
    if let Err(error) = agree(hub, consent, word).await {
        return Ok(Some(error));
    }
    let treating = async |stop: watch::Receiver<bool>| {
        let _treating = hub.ui.spinner("processing the dead letters");
        treat(&hub.cloud, &hub.scope, treatment, ids, &stop).await
    };
    let (treated, signal) = hub.stop.during(hub.ui, treating).await?;
    letters.settle(treatment, treated.as_ref());
    let Some(treated) = treated else {
        return Ok(Some(failure::cut_short(hub, signal)));
    };
    hub.ui.result(&text::treated(letters))?;
    Ok(ended(hub, treatment, &treated, signal))
}

/// What the user can do with the dead letters shown.
fn next_steps(scope: &Scope, letters: &DeadLetterReport) -> Vec<Hint> {
    let step = |text: &str, command: &str| Hint::command(text, scope.kibus(command));
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

/// The error to end with, unless every message was processed or is gone.
fn ended(hub: &ConnectedHub<'_>, treatment: Treatment, treated: &Treated, interrupted: ErrorKind) -> Option<Error> {
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
        let error = Error::new(interrupted, "stopped early").note(state);
        return Some(error.hint_command("to continue, run again:", hub.scope.again("")));
    }
    if returned == 0 {
        return None;
    }
    let error = Error::failed(format!("the router could not route {returned} of the dead letters"));
    let error = error.note("they stay in the dead-letter queue");
    Some(error.hint_command("to see the reason for each:", hub.scope.kibus("dead-letters")))
}
