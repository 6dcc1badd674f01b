//! `kibus dead-letters`.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::cli::hub::{Hub, Hubs};
use crate::cli::{Ending, explain, stages};
use crate::error::{Error, Hint};
use crate::recipe::Recipe;
use crate::recipe::dead_letters::{DeadLetterReport, Request, report};
use crate::survey::{Survey, dead_letters};
use crate::ui::{Heading, HubReport, Report, text};

/// Show the events that reached no cluster, with the reason of each.
///
/// Reads up to 1000 dead letters and makes them visible again: nothing changes but their receive counts.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

/// Shows what lies in each dead-letter queue.
pub(in crate::cli) async fn run(_: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let surveys = stages::survey(&hubs, &Request).await;
    let (mut reports, mut error) = (Vec::new(), None);
    for (hub, survey) in hubs.list.iter().zip(&surveys) {
        let mut report = HubReport::of(&hub.scope);
        match read(&hubs, hub, survey).await {
            Ok(letters) => {
                show(&hubs, hub, &letters)?;
                report.warnings = letters.warnings.iter().map(Hint::text).collect();
                report.dead_letters = Some(letters);
            }
            Err(e) => {
                report.error = Some(e.clone());
                error = error.or(Some(e));
            }
        }
        reports.push(report);
    }
    hubs.ui.report(&Report {
        hubs: reports,
        global_options: &hubs.global_options,
    })?;
    Ok(error.map_or(Ending::Done, |error| Ending::Failed(Box::new(error))))
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

fn show(hubs: &Hubs<'_>, hub: &Hub, letters: &DeadLetterReport) -> Result<(), Error> {
    let heading = Heading::from(&hub.scope);
    hubs.ui
        .result(&text::dead_letters(&heading, letters, hubs.ui.result_style()))?;
    for warning in &letters.warnings {
        hubs.ui.warn_text(warning);
    }
    Ok(())
}

/// The time in milliseconds of the Unix epoch.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
