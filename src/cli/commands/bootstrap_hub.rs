//! `kibus bootstrap-hub`.

use crate::cli::Ending;
use crate::cli::hub::Hubs;
use crate::cli::options::Given;
use crate::cli::router_file::RouterFile;
use crate::cli::stages::{Consent, change_with};
use crate::error::Error;
use crate::model::options::HubOption;
use crate::reconcile::bootstrap_hub::Request;
use crate::reconcile::{ArchiveNeed, OfferedRouter};

/// Create or update the hub of this account and Region.
///
/// All clusters share the hub: the rules, the hub queue with its dead-letter queue, and the router function. Options are
/// saved; an option that is not given keeps its saved value.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    given: Given<HubOption>,
    #[command(flatten)]
    router: RouterFile,
    /// Allow an older router to replace a newer one.
    #[arg(long)]
    allow_downgrade: bool,
    /// Remove the keys that the queues had before from all policies now; refused while messages wait.
    #[arg(long, hide_short_help = true)]
    drop_old_key: bool,
    #[command(flatten)]
    consent: Consent,
}

/// Runs the stages; the router is packaged once it is known which architecture it needs.
pub(in crate::cli) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let request = Request {
        options: args.given.options()?,
        router: OfferedRouter::of_version(env!("CARGO_PKG_VERSION")),
        allow_downgrade: args.allow_downgrade,
        drop_old_key: args.drop_old_key,
    };
    let (ui, file) = (hubs.ui, args.router);
    change_with(hubs, request, args.consent, move |hub, request, survey| {
        let _packaging = ui.spinner("packaging the router");
        let need = match file.is_given() {
            true => ArchiveNeed::Upload,
            false => request.archive_need(survey),
        };
        let offer = file.offer(need, request.architecture(survey))?;
        request.router = offer.router;
        if let Some(archive) = offer.archive {
            hub.cloud = hub.cloud.clone().with_archive(archive);
        }
        Ok(())
    })
    .await
}
