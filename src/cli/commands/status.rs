use std::collections::BTreeSet;

use crate::cli::hub::{ConnectedHub, Context};
use crate::cli::{failure, stages};
use crate::error::Error;
use crate::model::ClusterName;
use crate::reconcile::ClusterSummary;
use crate::reconcile::status::{StatusReport, guess, status};
use crate::ui::{Body, HubReport, text};

/// Show the state of the hub and its clusters, and the messages in each queue.
///
/// `kibus verify` checks for drift. Exits with 1 if something could not be read.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Names of EKS clusters to show [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<ClusterName>,
}

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    let hub = context.hub().await?;
    let names: BTreeSet<ClusterName> = args.names.into_iter().collect();
    let (survey, found) = stages::survey(hub, guess, |survey| status(survey, &names)).await?;
    let (status, clusters) = found?;
    status.unknown.iter().for_each(|text| hub.ui.warn_text(text));
    hub.ui.result(&text::status(&hub.scope, &status, &clusters, hub.ui.result_style()))?;
    let faults = survey.observed.faults().map(|(_, fault)| fault).chain(survey.records().fault());
    let error = failure::incomplete(hub, status.unknown.len(), faults);
    Ok(HubReport { error, ..report_of(hub, status, clusters) })
}

/// The report of a status.
pub(super) fn report_of(hub: &ConnectedHub<'_>, status: StatusReport, clusters: Vec<ClusterSummary>) -> HubReport {
    HubReport { clusters, ..HubReport::with(&hub.scope, Body::Status(status)) }
}
