//! `kibus bootstrap-hub`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::carry_out::{Intent, Question, carry_out};
use super::clusters::{self, Registered};
use super::context::Context;
use super::{Ending, explain, hub_options, rollback};
use crate::error::Error;
use crate::model::hub::{self, Hub};
use crate::model::inventory::Observed;
use crate::model::name::{ClusterName, KmsKey, PermissionsBoundary, QueuePrefix, RolePath};
use crate::model::options::{
    BadSavedOption, HubOptions, LogRetention, Memory, OrNone, ReservedConcurrency, Retention, UserTags,
};
use crate::model::resource::{Architecture, Code, Resource, ResourceId};
use crate::model::tags::OPTION;
use crate::package;
use crate::plan;

/// Set up the hub of this account and Region, or bring it up to date.
///
/// The hub is what every cluster shares: the rules, the hub queue with its dead-letter queue, and the router
/// function. What was chosen before stays chosen unless it is given again.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
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
    /// Let the version of the router that was live before be live again, or this one of those that are kept; change
    /// nothing else. The next bootstrap-hub without it goes forward again.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "previous", value_name = "VERSION",
        conflicts_with = "allow_downgrade")]
    router_rollback: Option<rollback::To>,
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

/// Observe the hub, plan the one that is wanted, carry it out.
pub(super) async fn run(args: Args, mut context: Context<'_>) -> Result<Ending, Error> {
    let mut observed = {
        let _reading = context.ui.spinner("reading the hub");
        context.read(hub::ids(&context.scope)).await?
    };
    if let Some(to) = args.router_rollback {
        if args.options()? != HubOptions::default() {
            context
                .ui
                .warn("going back changes the live version and nothing else; other options are not looked at");
        }
        return rollback::run(to, &context, observed).await;
    }
    context.allowed.downgrade = args.allow_downgrade;
    let given = args.options()?;
    let before = saved(&context, &observed, &given)?;
    let options = given.or(before.clone().unwrap_or_default());
    let forgotten = hub_options::Forgotten::look(&context, &observed, &options);
    if let Some(before) = before.as_ref().or(forgotten.as_ref().map(|forgotten| &forgotten.live)) {
        let kept = keep_prefix(&context, before, &options).await;
        kept.map_err(|error| match &forgotten {
            Some(forgotten) => error.hint_command(
                "what was chosen is forgotten; to keep what is there:",
                forgotten.command(&context),
            ),
            None => error,
        })?;
    }
    let code = code(&args, &options, &mut context, &observed)?;
    let mut wanted = Hub::new(&context.scope, options.clone(), code).desired();
    let mut warnings = Vec::new();
    warnings.extend(forgotten.map(|forgotten| forgotten.warning(&context)));
    warnings.extend(rollback::standing(&context.scope, &observed));
    warnings.extend(hub_options::check_concurrency(&context, &wanted, &observed).await?);
    warnings.extend(hub_options::check_key(&context, before.as_ref(), &options).await?);
    let clusters = hub_options::with_clusters(&context, before.as_ref(), &options, &mut wanted, &mut observed).await?;
    let intent = Intent {
        plan: plan::plan(&context.scope, &wanted, &observed),
        clusters,
        first: Vec::new(),
        warnings,
        observed,
        nothing: format!("No changes: hub {} is as it should be.", context.scope.bus),
        next: if before.is_none() {
            format!("Next:\n    {}", context.command("add-cluster NAME"))
        } else {
            String::new()
        },
        question: Question::YesNo,
    };
    carry_out(&context, intent).await
}

/// What the hub remembers, if there is one. What cannot be understood and is chosen anew is as good as forgotten.
fn saved(context: &Context<'_>, observed: &Observed, given: &HubOptions) -> Result<Option<HubOptions>, Error> {
    let id = ResourceId::Queue(context.scope.dead_letter_queue());
    let memory = observed
        .resource(&id)
        .filter(|resource| plan::is_ours(&context.scope, resource, observed));
    let Some(mut tags) = memory.and_then(Resource::tags).cloned() else {
        return Ok(None);
    };
    let anew = given.saved_tags();
    loop {
        match HubOptions::saved(&tags) {
            Err(BadSavedOption { flag, .. }) if anew.option(flag).is_some() => {
                tags.0.remove(&format!("{OPTION}{flag}"));
            }
            other => return Ok(Some(other?)),
        }
    }
}

/// Refuses a change of the queue prefix under registered clusters.
async fn keep_prefix(context: &Context<'_>, before: &HubOptions, after: &HubOptions) -> Result<(), Error> {
    if clusters::prefix(before) == clusters::prefix(after) {
        return Ok(());
    }
    let registered = Registered::find(context, before)
        .await
        .map_err(|fault| super::explain::clusters_unknown(context, &fault))?;
    let names: BTreeSet<ClusterName> = registered.clusters.into_keys().collect();
    plan::check_prefix(before, after, names).map_err(|refusal| explain::refused(context, &[refusal], false))
}

/// The code that the function is to have: what it has, if that is the router of the wanted version and untouched,
/// else a freshly packed router.
fn code(args: &Args, options: &HubOptions, context: &mut Context<'_>, observed: &Observed) -> Result<Code, Error> {
    let architecture = options.architecture.unwrap_or(Architecture::X86_64);
    let live = match observed.resource(&ResourceId::Function(context.scope.router_function())) {
        Some(Resource::Function(function)) => Some(&function.settings),
        _ => None,
    };
    let ours = Code::of_archive(env!("CARGO_PKG_VERSION"), "");
    if let Some(live) = live
        && args.router_binary.is_none()
        && live.architecture == architecture
        && ours.satisfied_by(&live.code)
    {
        return Ok(live.code.clone());
    }
    let _packing = context.ui.spinner("packing the router");
    let package = match &args.router_binary {
        Some(path) => package::package(path, false, architecture)?,
        None => package::package(&package::beside_executable(), true, architecture)?,
    };
    context.cloud = context.cloud.clone().with_archive(package.archive);
    Ok(package.code)
}
