//! `kibus rollback`.

use crate::cli::Ending;
use crate::cli::hub::Hubs;
use crate::cli::stages::{Consent, change};
use crate::error::Error;
use crate::recipe::rollback::Request;

/// Make an earlier version of the router live again; nothing else changes.
///
/// The next `bootstrap-hub` upgrades again.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Number of the version, as Lambda counts. [default: the version that was live before]
    #[arg(value_name = "VERSION")]
    to: Option<u64>,
    #[command(flatten)]
    consent: Consent,
}

/// Runs the stages.
pub(in crate::cli) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let request = Request { version: args.to };
    change(hubs, request, args.consent).await
}
