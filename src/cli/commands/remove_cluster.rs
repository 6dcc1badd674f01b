use crate::cli::hub::Context;
use crate::cli::stages::{Consent, change};
use crate::error::Error;
use crate::model::ClusterName;
use crate::reconcile::Target;
use crate::ui::HubReport;

/// Remove clusters from the bus: the policy on the controller role, then the queue.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Names of EKS clusters.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<ClusterName>,
    /// Skip clusters that do not exist, without an error or a warning.
    #[arg(long)]
    ignore_missing: bool,
    #[command(flatten)]
    consent: Consent,
}

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    change(context.hub().await?, Target::remove(args.names, args.ignore_missing), args.consent, None).await
}
