//! `kibus status`.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::{Ending, failure, stages};
use crate::error::Error;
use crate::model::duration::parse_duration;
use crate::model::name::ClusterName;
use crate::survey::Survey;
use crate::ui::{Heading, HubReport, text};

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
pub(in crate::cli) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let names: BTreeSet<ClusterName> = args.names.into_iter().collect();
    loop {
        let ending = show(&hubs, &names, args.watch.is_some()).await?;
        match args.watch {
            None => return Ok(ending),
            Some(pause) => tokio::time::sleep(pause).await,
        }
    }
}

/// Surveys every hub and shows it.
async fn show(hubs: &Hubs<'_>, names: &BTreeSet<ClusterName>, again: bool) -> Result<Ending, Error> {
    let surveys = stages::survey(hubs, crate::reconcile::status::needs).await?;
    if again {
        hubs.ui.clear()?;
    }
    let mut reports = Vec::new();
    for (hub, survey) in hubs.list.iter().zip(&surveys) {
        let (report, text) = one(hubs, hub, survey, names);
        reports.push(report);
        if let Some(text) = text {
            hubs.ui.result(&text)?;
        }
    }
    stages::report(hubs, reports)
}

fn one(
    hubs: &Hubs<'_>,
    hub: &ConnectedHub,
    survey: &Survey,
    names: &BTreeSet<ClusterName>,
) -> (HubReport, Option<String>) {
    let mut report = HubReport::of(&hub.scope);
    match crate::reconcile::status::status(survey, names) {
        Err(blocked) => {
            report.error = Some(hubs.complete(failure::blocked(&hubs.place(hub), &blocked)));
            (report, None)
        }
        Ok((status, clusters)) => {
            let heading = Heading::from(&hub.scope);
            let text = text::status(&heading, &status, &clusters, hubs.ui.result_style());
            for (id, fault) in &status.unreadable {
                hubs.ui.warn_text(&format!("{id} could not be read: {fault}"));
            }
            if let Some(fault) = &status.undiscovered {
                hubs.ui.warn_text(&format!("the clusters are unknown: {fault}"));
            }
            let unread = status.unreadable.len() + usize::from(status.undiscovered.is_some());
            report.error = failure::incomplete(unread).map(|error| hubs.complete(error));
            report.clusters = clusters;
            report.status = Some(status);
            (report, Some(text))
        }
    }
}
