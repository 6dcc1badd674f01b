use crate::cli::hub::Context;
use crate::cli::router_file::RouterFile;
use crate::cli::stages::{Consent, change};
use crate::error::Error;
use crate::model::HubOptions;
use crate::reconcile::{Bootstrap, RemovedTags, Target};
use crate::ui::HubReport;

/// Create or update the hub of this account and Region.
///
/// All clusters share the hub: the rules, the hub queue with its dead-letter queue, and the router function. Options are
/// saved in the parameter `/kibus/BUS` of Parameter Store; an omitted option keeps its saved value.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    options: HubOptions,
    #[command(flatten)]
    removed: RemovedTags,
    #[command(flatten)]
    router: RouterFile,
    /// Allow an older router to replace a newer one.
    #[arg(long, hide_short_help = true)]
    allow_downgrade: bool,
    /// End a rollback: make the router of this kibus live again.
    #[arg(long, hide_short_help = true)]
    router_latest: bool,
    /// Save these options for a hub with lost or damaged settings; without this option, kibus refuses to change such a hub.
    #[arg(long, hide_short_help = true)]
    restore_settings: bool,
    #[command(flatten)]
    consent: Consent,
}

/// Runs the stages; the router is packaged once it is known which architecture it needs.
pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    args.removed.beside(&args.options.tags())?;
    let target = Target::bootstrap(Bootstrap {
        options: args.options,
        removed: args.removed,
        allow_downgrade: args.allow_downgrade,
        end_rollback: args.router_latest,
        restore_settings: args.restore_settings,
    });
    let hub = context.hub().await?;
    change(hub, target, args.consent, Some(&args.router)).await
}
