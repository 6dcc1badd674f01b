use std::collections::BTreeSet;

use super::status::report_of;
use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::{Ending, failure, stages};
use crate::error::Error;
use crate::model::Scope;
use crate::reconcile::Intent;
use crate::reconcile::status::{guess, status};
use crate::survey;
use crate::ui::{HubReport, text};

/// List the buses of this account and Region, and the clusters of each.
///
/// With --bus on the command line, lists only this bus.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

pub(super) async fn run(_: Args, mut hubs: Hubs<'_>) -> Result<Ending, Error> {
    let create = hubs.list.first().map(|hub| hub.scope.kibus("bootstrap-hub"));
    let none = none_of(&hubs.list);
    let found = hubs.each(async |hub| {
        let _listing = hub.ui.spinner("looking for buses");
        survey::buses(&hub.cloud).await
    });
    let mut list = Vec::new();
    for (hub, buses) in hubs.list.iter().zip(found.await) {
        match buses {
            Ok((mut buses, unknown)) => {
                if let Some(fault) = unknown {
                    hub.ui.warn_text(&format!("a bus that has lost its settings may be missing here: {fault}"));
                }
                buses.retain(|bus| hub.named_bus().is_none_or(|named| named == bus));
                list.extend(buses.into_iter().map(|bus| hub.of_bus(bus)));
            }
            Err(fault) => {
                let error = failure::call_failed(hub, "list the buses", &fault);
                hubs.unreached.push(hub.left_out(error)?);
            }
        }
    }
    let hubs = hubs.with(list);
    let surveys =
        hubs.each(async |hub| stages::survey(&hubs, hub, guess, |survey| status(survey, &BTreeSet::new())).await).await;
    let (mut reports, mut buses) = (Vec::new(), Vec::new());
    for (hub, survey) in hubs.list.iter().zip(surveys) {
        let report = match survey.map(|(_, status)| status) {
            // A bus without a hub: only other resources have its tag.
            Ok(Err(blocked)) if blocked.is_no_hub() => continue,
            // One hub's settings keep nobody from the list of the others.
            Ok(Err(bad)) => {
                let error = Error::from(bad);
                hub.ui.warn_text(&format!("the clusters of this bus are not listed: {error}"));
                HubReport { warnings: hub.ui.warnings(), ..hub.report(&Intent::default()) }
            }
            Ok(found) => report_of(hub, found),
            Err(error) => hub.left_out(error)?,
        };
        if report.status.is_some() {
            buses.push((report.heading.clone(), report.clusters.clone()));
        }
        reports.push(report);
    }
    // A bus that could not be read is not "no bus".
    if !buses.is_empty() || reports.is_empty() && hubs.unreached.is_empty() {
        hubs.ui.result(&text::buses(&buses, &none, &create.unwrap_or_default(), hubs.ui.result_style()))?;
    }
    stages::finish(&hubs, reports, Ending::Done)
}

/// What there is none of, if no bus is found.
fn none_of(hubs: &[ConnectedHub]) -> String {
    let places = hubs.iter().map(|hub| {
        let Scope { region, account, .. } = &hub.scope;
        format!("{region} of account {account}")
    });
    let buses = match hubs.first().and_then(ConnectedHub::named_bus) {
        Some(bus) => format!("bus `{bus}`"),
        None => "buses".to_owned(),
    };
    format!("{buses} in {}", places.collect::<Vec<_>>().join(" and "))
}
