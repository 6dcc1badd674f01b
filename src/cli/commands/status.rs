use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::{Ending, failure, stages};
use crate::error::Error;
use crate::model::{ClusterName, now, parse_duration, time_text};
use crate::reconcile::status::{StatusReport, guess, status};
use crate::reconcile::{Blocked, ClusterSummary, Intent};
use crate::ui::{HubReport, text};

/// The pause between two surveys, if none is given.
const PAUSE: Duration = Duration::from_secs(2);
/// How long a survey may take before a watch says so.
const SLOW: Duration = Duration::from_secs(10);

/// Show the state of the hub and its clusters, and the messages in each queue.
///
/// `kibus verify` checks for drift. Exits with 1 if something could not be read. With --watch, only an error of the first
/// read ends the command. Later errors are shown with their time, and the last status is marked as stale.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Names of EKS clusters to show [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<ClusterName>,
    /// Show the status again after each DURATION, until Ctrl-C [default: 2s].
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, value_parser = pause)]
    watch: Option<Option<Duration>>,
}

/// The pause between two surveys: seconds, or a duration with a unit.
fn pause(text: &str) -> Result<Duration, &'static str> {
    let seconds = seconds(text).filter(|seconds| (1..=3_600).contains(seconds));
    seconds.map(Duration::from_secs).ok_or("expected a duration from 1s to 1h")
}

fn seconds(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| parse_duration(text))
}

impl Args {
    /// The pause of a watch. Without `=`, the command line has its duration among the names.
    fn take_pause(&mut self) -> Result<Option<Duration>, Error> {
        let Some(None) = self.watch else {
            return Ok(self.watch.flatten());
        };
        let Some(at) = self.names.iter().position(|name| seconds(name.as_str()).is_some()) else {
            return Ok(Some(PAUSE));
        };
        let name = self.names.remove(at);
        let invalid = |e| Error::usage(format!("invalid value `{name}` for `--watch`: {e}"));
        pause(name.as_str()).map(Some).map_err(invalid)
    }
}

/// What was last read of a hub: when, and its report.
type Seen = Option<(String, HubReport)>;

/// Shows the status once, or again and again until Ctrl-C. A watch that has never seen a status ends with the errors.
pub(super) async fn run(mut args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let pause = args.take_pause()?;
    let names: BTreeSet<ClusterName> = args.names.into_iter().collect();
    let mut seen: Vec<Seen> = vec![None; hubs.list.len()];
    let Some(pause) = pause else {
        return show(&hubs, &names, false, &mut seen).await;
    };
    let watch = async {
        loop {
            let ending = show(&hubs, &names, true, &mut seen).await?;
            if seen.iter().all(Option::is_none) {
                return Ok(ending);
            }
            sleep(pause).await;
        }
    };
    hubs.stop.watching(watch).await
}

/// The report of a status.
pub(super) fn report_of(hub: &ConnectedHub, status: Result<(StatusReport, Vec<ClusterSummary>), Blocked>) -> HubReport {
    match status {
        Ok((status, clusters)) => HubReport { status: Some(status), clusters, ..hub.report(&Intent::default()) },
        Err(blocked) => hub.failed(Error::from(blocked)),
    }
}

/// Surveys every hub and shows it; a watch shows it again. `seen` is what was last read of each hub.
async fn show(hubs: &Hubs<'_>, names: &BTreeSet<ClusterName>, again: bool, seen: &mut [Seen]) -> Result<Ending, Error> {
    let mut surveys =
        pin!(hubs.each(async |hub| stages::survey(hubs, hub, guess, |survey| status(survey, names)).await));
    let surveys = match timeout(SLOW, &mut surveys).await {
        Ok(surveys) => surveys,
        Err(_) => {
            if again {
                let stale = seen.iter().flatten().next().map_or("", |_| "; what is shown is stale");
                hubs.ui.note(&format!("still reading at {}{stale}", time_text(now())), &[]);
            }
            surveys.await
        }
    };
    let time = time_text(now());
    let mut reports = Vec::new();
    for (hub, survey) in hubs.list.iter().zip(surveys) {
        reports.push(match survey {
            Ok((_, status)) => report_of(hub, status),
            Err(error) => hub.left_out(error)?,
        });
    }
    for (report, seen) in reports.iter().zip(&mut *seen) {
        if report.status.is_some() {
            *seen = Some((time.clone(), report.clone()));
        }
    }
    let has_screen = again && seen.iter().any(Option::is_some) && hubs.ui.clear()?;
    for ((hub, report), seen) in hubs.list.iter().zip(&mut reports).zip(seen) {
        let style = hub.ui.result_style();
        let is_new = report.status.is_some();
        if let Some(status) = &report.status {
            status.unknown.iter().for_each(|text| hub.ui.warn_text(text));
            report.error = failure::incomplete(hub, status.unknown.len());
        }
        if let Some((read, last)) = seen {
            // A pipe gets each status once.
            let is_whole = is_new || has_screen;
            hubs.part(hub, is_whole)?;
            if again {
                let line = format!("read at {read}");
                hub.ui.result(&if is_new {
                    style.paint.dim(&line)
                } else {
                    style.paint.yellow(&format!("stale: {line}"))
                })?;
            }
            if let Some(status) = last.status.as_ref().filter(|_| is_whole) {
                hub.ui.result(&text::status(&hub.heading, status, &last.clusters, style))?;
            }
        }
        if let Some(error) = report.error.as_mut().filter(|_| again) {
            let stale = match seen {
                Some((read, _)) if !is_new => format!(", so the status of {read} is stale"),
                _ => String::new(),
            };
            error.notes.insert(0, format!("failed at {time}{stale}"));
        }
    }
    stages::finish(hubs, reports, Ending::Done)
}
