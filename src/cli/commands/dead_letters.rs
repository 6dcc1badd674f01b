//! `kibus dead-letters`.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::stages::{Consent, agree};
use crate::cli::{Ending, failure, stages};
use crate::dead_letters::read as dead_letters;
use crate::dead_letters::report::{DeadLetterReport, report};
use crate::dead_letters::treat::{LetterOutcome, Treated, Treatment, treat};
use crate::error::{Error, ErrorKind, Hint, Invocation};
use crate::model::status::Depth;
use crate::reconcile::NextStep;
use crate::reconcile::dead_letters::{check, needs};
use crate::survey::Survey;
use crate::ui::{Heading, HubReport, Output, text};

/// Show the events that reached no cluster; route them again, or delete them.
///
/// Shows the reason for each. Reads up to 1000 dead letters and makes them visible again; only their receive counts
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
    /// Route the events again through the live router, and delete those that it routed.
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

/// Shows the messages of each dead-letter queue, and redrives or deletes them if asked.
pub(in crate::cli) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let redrive = args.action.redrive;
    let surveys = stages::survey(&hubs, |survey| needs(redrive, survey)).await?;
    stages::report_each(&hubs, &surveys, async |hub, survey| {
        let mut report = HubReport::of(&hub.scope);
        let ended = match read(&hubs, hub, redrive, survey).await {
            Ok(letters) => {
                let ended = one(&hubs, hub, &args, &letters, &mut report).await?;
                report.warnings = letters.warnings.iter().map(Hint::text).collect();
                report.dead_letters = Some(letters);
                ended
            }
            Err(error) => Ending::Failed(Box::new(error)),
        };
        if let Ending::Failed(error) = &ended {
            report.error = Some((**error).clone());
        }
        Ok((report, ended))
    })
    .await
}

/// Reads the dead letters of a hub, and the router's log about them.
async fn read(hubs: &Hubs<'_>, hub: &ConnectedHub, redrive: bool, survey: &Survey) -> Result<DeadLetterReport, Error> {
    let place = hubs.place(hub);
    let checked = check(redrive, survey);
    checked.map_err(|blocked| hubs.complete(failure::blocked(&place, &blocked)))?;
    let _reading = hubs.ui.spinner("reading the dead letters");
    let queue = hub.scope.dead_letter_queue();
    let seen = dead_letters::look(&hub.cloud, &queue).await;
    let seen = seen.map_err(|fault| hubs.complete(failure::call_failed(&place, "receive the dead letters", &fault)))?;
    let log = dead_letters::last_retries(&hub.cloud, &hub.scope, &seen.letters).await;
    let count = survey.depth(&queue).map_or(0, Depth::messages);
    Ok(report(queue, count, seen, &log, now()))
}

/// Shows the dead letters of a hub, and redrives or deletes them if a person agrees.
async fn one(
    hubs: &Hubs<'_>,
    hub: &ConnectedHub,
    args: &Args,
    letters: &DeadLetterReport,
    report: &mut HubReport,
) -> Result<Ending, Error> {
    let heading = Heading::from(&hub.scope);
    let shown = text::dead_letters(&heading, letters, hubs.ui.result_style());
    hubs.ui.result(&shown)?;
    for warning in &letters.warnings {
        hubs.ui.warn_text(warning);
    }
    let Some(treatment) = args.action.treatment() else {
        hubs.ui.next_steps(&next_steps(letters), &hubs.global_options)?;
        return Ok(Ending::Done);
    };
    let ids = ids(treatment, letters);
    if !letters.letters.is_empty() {
        hubs.ui
            .result(&format!("\n{}", text::treatment(treatment, ids.len(), letters)))?;
    }
    if let Some(ending) = args.consent.dry_run(!ids.is_empty()) {
        return Ok(ending);
    }
    if ids.is_empty() {
        return Ok(Ending::Done);
    }
    let word = match treatment {
        Treatment::Redrive => "",
        Treatment::Purge => hub.scope.bus.as_str(),
    };
    if hubs.ui.output() == Output::Json && hubs.ui.can_ask() {
        hubs.ui.say(&shown);
    }
    if let Err(error) = agree(hubs, args.consent, word) {
        return Ok(Ending::Failed(Box::new(hubs.complete(error))));
    }
    let (treated, signal) = {
        let _treating = hubs.ui.spinner("processing the dead letters");
        let changes = |asked| {
            let ids = &ids;
            async move { treat(&hub.cloud, &hub.scope, treatment, ids, &asked).await }
        };
        hubs.stop.during(hubs.ui, changes).await?
    };
    let interrupted = signal.unwrap_or(ErrorKind::Interrupted);
    let place = hubs.place(hub);
    let error = match &treated {
        None => Some(failure::cut_short(&place, interrupted)),
        Some(treated) => {
            hubs.ui.result(&text::treated(treated))?;
            ended(&place, treated, interrupted)
        }
    };
    report.treated = Some(treated.unwrap_or_else(|| Treated::abandoned(treatment)));
    report.applied = error.is_none();
    Ok(error.map_or(Ending::Done, |error| Ending::Failed(Box::new(hubs.complete(error)))))
}

/// What a person can do with the dead letters that were shown.
fn next_steps(letters: &DeadLetterReport) -> Vec<NextStep> {
    let step = |text: &str, command: &str| NextStep::Run(Hint::command(text, Invocation::kibus(command)));
    let mut steps = Vec::new();
    if !ids(Treatment::Redrive, letters).is_empty() {
        steps.push(step(
            "When the cause is fixed, route them again:",
            "dead-letters --redrive",
        ));
    }
    if !letters.letters.is_empty() {
        steps.push(step("To delete them:", "dead-letters --purge"));
    }
    steps
}

/// The messages that a treatment is about: the router can route nothing that is not an event.
fn ids(treatment: Treatment, report: &DeadLetterReport) -> BTreeSet<String> {
    let letters = report.letters.iter();
    let suits = letters.filter(|one| treatment == Treatment::Purge || one.event.is_some());
    suits.map(|one| one.letter.id.clone()).collect()
}

/// The error to end with, unless every message was treated or is gone.
fn ended(place: &failure::Place, treated: &Treated, interrupted: ErrorKind) -> Option<Error> {
    let returned = treated.count(|one| *one == LetterOutcome::Returned);
    let left = treated.letters.len() - treated.done() - returned;
    let state = format!("{} processed, {left} left", treated.done());
    let what = match treated.treatment {
        Treatment::Redrive => "could not redrive all dead letters",
        Treatment::Purge => "could not delete all dead letters",
    };
    let again = "to continue, run again in 30 seconds:";
    if let Some(fault) = &treated.fault {
        let error = failure::because(place, Error::failed(what), fault).note(format!("{state}; no message is lost"));
        return Some(error.hint_command(again, place.command_line.as_str()));
    }
    if treated.stopped {
        let error = Error::new(interrupted, "stopped before the end").note(format!("{state}; no message is lost"));
        return Some(error.hint_command("to continue, run again:", place.command_line.as_str()));
    }
    if returned == 0 {
        return None;
    }
    let error = Error::failed(format!("the router could not route {returned} of the dead letters"));
    Some(
        error
            .note("they stay in the dead-letter queue")
            .hint_command("to see the reason of each:", Invocation::kibus("dead-letters")),
    )
}

/// The time in milliseconds of the Unix epoch.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
