//! `kibus bootstrap-hub`.

use std::path::{Path, PathBuf};

use crate::cli::Ending;
use crate::cli::hub::{Hub, Hubs};
use crate::cli::stages::{Consent, change_with};
use crate::error::Error;
use crate::model::name::{KmsKey, PermissionsBoundary, QueuePrefix, RolePath};
use crate::model::options::{HubOptions, LogRetention, Memory, OrNone, ReservedConcurrency, Retention, UserTags};
use crate::model::resource::Architecture;
use crate::package;
use crate::recipe::bootstrap_hub::{Request, Router};
use crate::survey::Survey;

/// Set up the hub of this account and Region, or bring it up to date.
///
/// The hub is what every cluster shares: the rules, the hub queue with its dead-letter queue, and the router
/// function. What was chosen before stays chosen unless it is given again.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A tag for everything of the hub that takes tags; may be given several times. Tags that were chosen before and
    /// are not given again are removed; `none` removes them all.
    #[arg(long = "tag", env = "KIBUS_TAG", value_name = "KEY=VALUE", value_delimiter = ',')]
    tags: Vec<String>,
    /// Encrypt queues with this KMS key instead of SQS's own; `none` goes back.
    #[arg(long, env = "KIBUS_KMS_KEY", value_name = "ARN")]
    kms_key: Option<OrNone<KmsKey>>,
    /// How long the hub queue keeps an event that the router did not get to, in seconds. [default: 86400]
    #[arg(long, env = "KIBUS_RETENTION", value_name = "SECONDS")]
    retention: Option<Retention>,
    /// The policy that bounds the router's role; `none` takes it away.
    #[arg(long, env = "KIBUS_PERMISSIONS_BOUNDARY", value_name = "ARN")]
    permissions_boundary: Option<OrNone<PermissionsBoundary>>,
    /// The path of the router's role. [default: /]
    #[arg(long, env = "KIBUS_ROLE_PATH", value_name = "PATH")]
    role_path: Option<RolePath>,
    /// What the names of clusters' queues begin with; may be empty. [default: karpenter-]
    #[arg(long, env = "KIBUS_QUEUE_PREFIX", value_name = "PREFIX")]
    queue_prefix: Option<QueuePrefix>,
    /// The router's memory, in MB. [default: 256]
    #[arg(long, env = "KIBUS_MEMORY", value_name = "MB")]
    memory: Option<Memory>,
    /// What the router runs on: x86_64 or arm64. [default: x86_64]
    #[arg(long, env = "KIBUS_ARCH", value_name = "ARCH")]
    arch: Option<Architecture>,
    /// Set aside this many concurrent invocations for the router; `none` takes it back.
    #[arg(long, env = "KIBUS_RESERVED_CONCURRENCY", value_name = "N")]
    reserved_concurrency: Option<OrNone<ReservedConcurrency>>,
    /// How long the router's log is kept, in days. [default: 14]
    #[arg(long, env = "KIBUS_LOG_RETENTION", value_name = "DAYS")]
    log_retention: Option<LogRetention>,
    /// Send rebalance recommendations too, which Karpenter only reports. [default: false]
    #[arg(long, env = "KIBUS_REBALANCE", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    rebalance: Option<bool>,
    /// The router binary. [default: kibus-router beside this executable]
    #[arg(long, env = "KIBUS_ROUTER_BINARY", value_name = "FILE")]
    router_binary: Option<PathBuf>,
    /// Put an older router in the place of a newer one.
    #[arg(long)]
    allow_downgrade: bool,
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
        })
    }
}

/// Runs the stages; the router is packaged once it is known that a new one is needed.
pub(in crate::cli) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let request = Request {
        options: args.options()?,
        router: Router::OfVersion(env!("CARGO_PKG_VERSION").to_owned()),
        allow_downgrade: args.allow_downgrade,
    };
    let (ui, binary) = (hubs.ui, args.router_binary);
    change_with(hubs, request, args.consent, move |hub, request, survey| {
        let _packaging = ui.spinner("packaging the router");
        package_router(hub, request, survey, binary.as_deref())
    })
    .await
}

fn package_router(hub: &mut Hub, request: &mut Request, survey: &Survey, binary: Option<&Path>) -> Result<(), Error> {
    let package = match (binary, request.needs_package(survey)) {
        (Some(path), _) => package::package(path, false, request.architecture(survey))?,
        (None, Some(architecture)) => package::package(&package::beside_executable(), true, architecture)?,
        (None, None) => return Ok(()),
    };
    hub.cloud = hub.cloud.clone().with_archive(package.archive);
    request.router = Router::Packaged(package.code);
    Ok(())
}
