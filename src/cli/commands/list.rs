//! `kibus list`.

use crate::cli::hub::Hubs;
use crate::cli::{Ending, failure, stages};
use crate::cloud::Read;
use crate::error::Error;
use crate::reconcile::status::{needs, status};
use crate::ui::{Heading, HubReport, text};

/// List the buses of this account and Region, and the clusters of each.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

/// Finds the buses by their tags, and surveys the hub of each.
pub(in crate::cli) async fn run(_: Args, mut hubs: Hubs<'_>) -> Result<Ending, Error> {
    let Some(first) = hubs.list.first() else {
        return Ok(Ending::Done);
    };
    let buses = {
        let _listing = hubs.ui.spinner("looking for buses");
        first.cloud.buses().await
    };
    let buses = buses.map_err(|fault| {
        let place = hubs.place(first);
        hubs.complete(failure::call_failed(&place, "list the buses", &fault))
    })?;
    hubs.list = buses.into_iter().map(|bus| hubs.hub(bus)).collect();
    let surveys = stages::survey(&hubs, needs).await?;
    let (mut reports, mut found) = (Vec::new(), Vec::new());
    for (hub, survey) in hubs.list.iter().zip(&surveys) {
        let mut report = HubReport::of(&hub.scope);
        match status(survey, &std::collections::BTreeSet::new()) {
            // A bus without a hub: only other resources have its tag.
            Err(crate::reconcile::Blocked::NoHub) => continue,
            Err(blocked) => {
                report.error = Some(hubs.complete(failure::blocked(&hubs.place(hub), &blocked)));
            }
            Ok((status, clusters)) => {
                found.push((Heading::from(&hub.scope), clusters.clone()));
                report.clusters = clusters;
                report.status = Some(status);
            }
        }
        reports.push(report);
    }
    // A bus that could not be read is not "no bus".
    if !found.is_empty() || reports.is_empty() {
        hubs.ui
            .result(&text::buses(&found, &hubs.global_options, hubs.ui.result_style()))?;
    }
    stages::report(&hubs, reports)
}
