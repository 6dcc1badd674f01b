use crate::cli::hub::Context;
use crate::cli::stages::{Consent, change};
use crate::error::Error;
use crate::reconcile::Target;
use crate::ui::HubReport;

/// Delete the hub and all resources that kibus manages for its clusters.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    consent: Consent,
}

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    change(context.hub().await?, Target::teardown(), args.consent, None).await
}
