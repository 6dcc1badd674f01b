use std::collections::BTreeSet;
use std::time::Duration;

use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::{Ending, failure, stages};
use crate::error::Error;
use crate::model::duration::parse_duration;
use crate::model::name::ClusterName;
use crate::reconcile::status::{StatusReport, needs, status};
use crate::reconcile::{Blocked, ClusterSummary, Intent};
use crate::ui::{HubReport, text};

/// Show the state of the hub and its clusters, and the messages in each queue.
///
/// `kibus verify` checks for drift. Exits with 1 if something could not be read.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Names of EKS clusters to show [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<ClusterName>,
    /// Show the status again after each DURATION, until Ctrl-C [default: 2s].
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "2s",
        value_parser = pause)]
    watch: Option<Duration>,
}

/// The pause between two surveys: seconds, or a duration with a unit.
fn pause(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().or_else(|| parse_duration(text));
    let seconds = seconds.filter(|seconds| (1..=3_600).contains(seconds));
    seconds
        .map(Duration::from_secs)
        .ok_or("expected a duration from 1s to 1h")
}

/// Shows the status once, or again and again.
pub(super) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let names: BTreeSet<ClusterName> = args.names.into_iter().collect();
    loop {
        let ending = show(&hubs, &names, args.watch.is_some()).await?;
        match args.watch {
            None => return Ok(ending),
            Some(pause) => tokio::time::sleep(pause).await,
        }
    }
}

/// The report of a status.
pub(super) fn report_of(hub: &ConnectedHub, status: Result<(StatusReport, Vec<ClusterSummary>), Blocked>) -> HubReport {
    match status {
        Ok((status, clusters)) => HubReport {
            status: Some(status),
            clusters,
            ..hub.report(&Intent::default())
        },
        Err(blocked) => hub.failed(failure::blocked(hub, &blocked)),
    }
}

/// Surveys every hub and shows it.
async fn show(hubs: &Hubs<'_>, names: &BTreeSet<ClusterName>, again: bool) -> Result<Ending, Error> {
    let surveys = hubs.each(async |hub| stages::survey(hubs, hub, needs).await).await;
    if again {
        hubs.ui.clear()?;
    }
    let mut reports = Vec::new();
    for (hub, survey) in hubs.list.iter().zip(surveys) {
        let mut report = match survey {
            Ok(survey) => report_of(hub, status(&survey, names)),
            Err(error) => hub.left_out(error)?,
        };
        if let Some(status) = &report.status {
            for (id, fault) in &status.unreadable {
                hub.ui.warn_text(&format!("{id} could not be read: {fault}"));
            }
            if let Some(fault) = &status.undiscovered {
                hub.ui.warn_text(&format!("the clusters are unknown: {fault}"));
            }
            hubs.part(hub, true)?;
            let style = hub.ui.result_style();
            hub.ui
                .result(&text::status(&hub.heading, status, &report.clusters, style))?;
            let unread = status.unreadable.len() + usize::from(status.undiscovered.is_some());
            report.error = failure::incomplete(unread);
        }
        reports.push(report);
    }
    stages::finish(hubs, reports, Ending::Done)
}
