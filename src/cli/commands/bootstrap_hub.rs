//! `kibus bootstrap-hub`.

use clap::builder::BoolishValueParser;

use crate::cli::Ending;
use crate::cli::hub::Hubs;
use crate::cli::router_file::RouterFile;
use crate::cli::stages::{Consent, change_with};
use crate::error::Error;
use crate::model::name::{KmsKey, PermissionsBoundary, QueuePrefix, RolePath};
use crate::model::options::{HubOptions, LogRetention, Memory, OrNone, ReservedConcurrency, Retention, UserTags};
use crate::model::resource::Architecture;
use crate::reconcile::bootstrap_hub::Request;
use crate::reconcile::{ArchiveNeed, OfferedRouter};

/// Create or update the hub of this account and Region.
///
/// All clusters share the hub: the rules, the hub queue with its dead-letter queue, and the router function. Options are
/// saved; an option that is not given keeps its saved value.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Tag for all resources; repeat for more. Replaces all saved tags; `none` removes them.
    #[arg(long = "tag", env = "KIBUS_TAG", value_name = "KEY=VALUE", value_delimiter = ',',
        value_parser = UserTags::checked)]
    tags: Vec<String>,
    /// KMS key that encrypts the queues; `none` selects SSE-SQS.
    #[arg(long, env = "KIBUS_KMS_KEY", value_name = "ARN")]
    kms_key: Option<OrNone<KmsKey>>,
    /// Retention of the hub queue, from 1h to 14d [default: 1d].
    #[arg(long, env = "KIBUS_RETENTION", value_name = "DURATION")]
    retention: Option<Retention>,
    /// Permissions boundary of the router role; `none` removes it.
    #[arg(long, env = "KIBUS_PERMISSIONS_BOUNDARY", value_name = "ARN")]
    permissions_boundary: Option<OrNone<PermissionsBoundary>>,
    /// Path of the router role [default: /].
    #[arg(long, env = "KIBUS_ROLE_PATH", value_name = "PATH")]
    role_path: Option<RolePath>,
    /// Prefix of cluster queue names, or empty [default: karpenter-].
    #[arg(long, env = "KIBUS_QUEUE_PREFIX", value_name = "PREFIX")]
    queue_prefix: Option<QueuePrefix>,
    /// Memory for the router function, in MB [default: 256].
    #[arg(long, env = "KIBUS_MEMORY", value_name = "MB")]
    memory: Option<Memory>,
    /// Architecture of the router: x86_64 or arm64 [default: x86_64].
    #[arg(long, env = "KIBUS_ARCH", value_name = "ARCH")]
    arch: Option<Architecture>,
    /// Reserved concurrency of the router, at least 2; `none` removes it.
    #[arg(long, env = "KIBUS_RESERVED_CONCURRENCY", value_name = "N")]
    reserved_concurrency: Option<OrNone<ReservedConcurrency>>,
    /// Retention of the router log [default: 14d].
    #[arg(long, env = "KIBUS_LOG_RETENTION", value_name = "DURATION")]
    log_retention: Option<LogRetention>,
    /// Route rebalance recommendations, which Karpenter only reports [default: false].
    #[arg(long, env = "KIBUS_REBALANCE", num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_name = "BOOL", value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    rebalance: Option<bool>,
    /// Deny messages from all senders except the bus [default: true].
    #[arg(long, env = "KIBUS_LOCK_QUEUES", num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_name = "BOOL", value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    lock_queues: Option<bool>,
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

impl Args {
    fn options(&self) -> Result<HubOptions, Error> {
        Ok(HubOptions {
            tags: if self.tags.is_empty() {
                None
            } else {
                Some(UserTags::parse(&self.tags)?)
            },
            kms_key: self.kms_key.clone(),
            retention: self.retention,
            permissions_boundary: self.permissions_boundary.clone(),
            role_path: self.role_path.clone(),
            queue_prefix: self.queue_prefix.clone(),
            memory: self.memory,
            architecture: self.arch,
            reserved_concurrency: self.reserved_concurrency.clone(),
            log_retention: self.log_retention,
            rebalance: self.rebalance,
            lock_queues: self.lock_queues,
        })
    }
}

/// Runs the stages; the router is packaged once it is known which architecture it needs.
pub(in crate::cli) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let request = Request {
        options: args.options()?,
        router: OfferedRouter::of_version(env!("CARGO_PKG_VERSION")),
        allow_downgrade: args.allow_downgrade,
        drop_old_key: args.drop_old_key,
    };
    let (file, requests) = (args.router, vec![request; hubs.list.len()]);
    change_with(hubs, requests, args.consent, move |hub, request, survey| {
        let _packaging = hub.ui.spinner("packaging the router");
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
