//! `kibus dead-letters`.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::apply::dead_letters::{Treated, Treatment, treat};
use crate::cli::hub::{Hub, Hubs};
use crate::cli::stages::{Consent, agree};
use crate::cli::{Ending, explain, stages};
use crate::error::{Error, ErrorKind, Hint};
use crate::recipe::Recipe;
use crate::recipe::dead_letters::{DeadLetterReport, Request, report};
use crate::survey::{Survey, dead_letters};
use crate::ui::{Heading, HubReport, Output, Report, text};

/// Show the events that reached no cluster; route them again, or delete them.
///
/// Shows the reason of each. Reads up to 1000 dead letters and makes them visible again: nothing changes but their receive counts. --redrive and
/// --purge apply to the messages that were shown, and to no others.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Route the events again through the live router, and delete those that it routed.
    #[arg(long, conflicts_with = "purge")]
    redrive: bool,
    /// Delete the messages that are shown.
    #[arg(long)]
    purge: bool,
    #[command(flatten)]
    consent: Consent,
}

impl Args {
    fn treatment(&self) -> Option<Treatment> {
        match (self.redrive, self.purge) {
            (true, _) => Some(Treatment::Redrive),
            (false, true) => Some(Treatment::Purge),
            (false, false) => None,
        }
    }
}

/// Shows what lies in each dead-letter queue, and treats it.
pub(in crate::cli) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let surveys = stages::survey(&hubs, &Request).await;
    let (mut reports, mut ending) = (Vec::new(), Ending::Done);
    for (hub, survey) in hubs.list.iter().zip(&surveys) {
        let mut report = HubReport::of(&hub.scope);
        let ended = match read(&hubs, hub, survey).await {
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
        ending = ending.or(ended);
        reports.push(report);
    }
    hubs.ui.report(&Report {
        hubs: reports,
        global_options: &hubs.global_options,
    })?;
    Ok(ending)
}

/// Reads the dead letters of a hub, and the router's log about them.
async fn read(hubs: &Hubs<'_>, hub: &Hub, survey: &Survey) -> Result<DeadLetterReport, Error> {
    let place = hubs.place(hub);
    let checked = Request.intent(survey);
    checked.map_err(|blocked| hubs.complete(explain::blocked(&place, &blocked)))?;
    let _reading = hubs.ui.spinner("reading the dead letters");
    let seen = dead_letters::look(&hub.cloud, &hub.scope.dead_letter_queue()).await;
    let seen = seen.map_err(|fault| hubs.complete(explain::call_failed(&place, "receive the dead letters", &fault)))?;
    let log = dead_letters::last_retries(&hub.cloud, &hub.scope, &seen.letters).await;
    Ok(report(survey, seen, &log, now()))
}

/// Shows the dead letters of a hub, and treats them if a person agrees.
async fn one(
    hubs: &Hubs<'_>,
    hub: &Hub,
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
    let Some(treatment) = args.treatment() else {
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
        let _treating = hubs.ui.spinner("treating the dead letters");
        let changes = |asked| {
            let ids = &ids;
            async move { treat(&hub.cloud, &hub.scope, treatment, ids, &asked).await }
        };
        hubs.stop.during(hubs.ui, changes).await?
    };
    let interrupted = signal.unwrap_or(ErrorKind::Interrupted);
    let place = hubs.place(hub);
    let error = match treated {
        None => Some(explain::cut_short(&place, interrupted)),
        Some(treated) => {
            hubs.ui.result(&text::treated(treatment, &treated))?;
            ended(&place, treatment, &treated, interrupted)
        }
    };
    report.applied = error.is_none();
    Ok(error.map_or(Ending::Done, |error| Ending::Failed(Box::new(hubs.complete(error)))))
}

/// The messages that a treatment is about: the router can route nothing that is not an event.
fn ids(treatment: Treatment, report: &DeadLetterReport) -> BTreeSet<String> {
    let letters = report.letters.iter();
    let suits = letters.filter(|one| treatment == Treatment::Purge || one.event.is_some());
    suits.map(|one| one.letter.id.clone()).collect()
}

/// The error to end with, unless every message was treated or is gone.
fn ended(place: &explain::Place, treatment: Treatment, treated: &Treated, interrupted: ErrorKind) -> Option<Error> {
    let state = format!("{} treated, {} left", treated.done.len(), treated.left.len());
    let what = match treatment {
        Treatment::Redrive => "could not redrive all dead letters",
        Treatment::Purge => "could not delete all dead letters",
    };
    let again = "to continue, run again in 30 seconds:";
    if let Some(fault) = &treated.fault {
        let error = explain::because(place, Error::failed(what), fault).note(format!("{state}; no message is lost"));
        return Some(error.hint_command(again, place.command_line.as_str()));
    }
    if treated.stopped {
        let error = Error::new(interrupted, "stopped before the end").note(format!("{state}; no message is lost"));
        return Some(error.hint_command("to continue, run again:", place.command_line.as_str()));
    }
    if treated.failed.is_empty() {
        return None;
    }
    let error = Error::failed(format!(
        "the router returned {} of the dead letters",
        treated.failed.len()
    ));
    Some(error.note("they stay in the dead-letter queue").hint_command(
        "for the reason of each:",
        crate::error::Invocation::kibus("dead-letters"),
    ))
}

/// The time in milliseconds of the Unix epoch.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
