use crate::cli::Ending;
use crate::cli::hub::Hubs;
use crate::cli::stages::{Consent, change};
use crate::error::Error;
use crate::reconcile::Target;

/// Delete the hub and all resources that kibus manages for its clusters.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    consent: Consent,
}

pub(super) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    change(hubs, Target::teardown(), args.consent).await
}
