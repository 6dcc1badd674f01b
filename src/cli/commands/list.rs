use futures_util::future::join_all;

use crate::cli::hub::{ConnectedHub, Context};
use crate::cli::stages;
use crate::error::Error;
use crate::message::Message;
use crate::model::Scope;
use crate::reconcile::status::{guess, listed};
use crate::survey;
use crate::ui::{HubReport, text};

/// List the buses of this account and Region, and the clusters of each.
///
/// With --bus on the command line, lists only that bus. With -q, prints only names, one per line: bus names or, with
/// --bus, the names of its clusters.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

pub(super) async fn run(_: Args, context: &Context<'_>) -> Result<Vec<HubReport>, Error> {
    let hub = context.hub().await?;
    let found = {
        let _listing = hub.ui.spinner("looking for buses");
        survey::buses(&hub.cloud).await
    };
    let (mut buses, unknown) = found.map_err(|fault| Message::unread(&hub.scope, [("the buses".into(), &fault)]))?;
    if let Some(fault) = unknown {
        hub.ui.warn_text(&format!("buses that have lost their settings may be missing from this list: {fault}"));
    }
    buses.retain(|bus| !hub.names_bus || *bus == hub.scope.bus);
    let hubs: Vec<ConnectedHub<'_>> = buses.into_iter().map(|bus| hub.of_bus(bus)).collect();
    let surveys = hubs.iter().map(|hub| stages::survey(hub, guess, listed));
    let (mut reports, mut known) = (Vec::new(), Vec::new());
    for (hub, survey) in hubs.iter().zip(join_all(surveys).await) {
        match survey?.1 {
            // A bus without a hub: only other resources carry its tag.
            Err(blocked) if blocked.is_no_hub() => {}
            // A bus that cannot be read does not hide the others.
            Err(blocked) => reports.push(hub.failed(Error::from(blocked))),
            Ok(clusters) => {
                known.push((hub.scope.clone(), clusters.clone()));
                reports.push(HubReport { clusters, ..HubReport::of(&hub.scope) });
            }
        }
    }
    if hub.ui.quiet {
        let names: Vec<String> = if hub.names_bus {
            known.iter().flat_map(|(_, clusters)| clusters).map(|cluster| cluster.name.to_string()).collect()
        } else {
            reports.iter().map(|report| report.bus.to_string()).collect()
        };
        names.iter().try_for_each(|name| hub.ui.result(name))?;
    } else if !known.is_empty() || reports.is_empty() {
        // A bus that could not be read is not "no bus".
        let create = hub.scope.kibus("bootstrap-hub");
        hub.ui.result(&text::buses(&known, &none_of(hub), &create, hub.ui.result_style()))?;
    }
    Ok(reports)
}

/// What was not found, if there is no bus.
fn none_of(hub: &ConnectedHub<'_>) -> String {
    let Scope { bus, region, account, .. } = &hub.scope;
    let buses = if hub.names_bus { format!("bus `{bus}`") } else { "buses".to_owned() };
    format!("{buses} in {region} of account {account}")
}
