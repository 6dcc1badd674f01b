use crate::cli::hub::Context;
use crate::cli::stages::{Consent, change};
use crate::error::Error;
use crate::reconcile::Target;
use crate::ui::HubReport;

/// Roll back the router to an earlier version; change nothing else.
///
/// `bootstrap-hub` keeps this version until you run it with `--router-latest`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Version of the Lambda function [default: the previously live version].
    #[arg(value_name = "VERSION")]
    to: Option<u64>,
    #[command(flatten)]
    consent: Consent,
}

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    change(context.hub().await?, Target::rollback(args.to), args.consent, None).await
}
