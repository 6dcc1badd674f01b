//! `kibus add-cluster`.

use std::collections::{BTreeMap, BTreeSet};

use super::carry_out::{Intent, Question, carry_out};
use super::context::Context;
use super::karpenter::{self, Controller};
use super::{Ending, clusters, controller_policies, controller_role, explain};
use crate::error::Error;
use crate::model::cluster::Cluster;
use crate::model::inventory::{Desired, Observed};
use crate::model::karpenter::KarpenterVersion;
use crate::model::name::{ClusterName, KmsKey, RoleName};
use crate::model::options::{ClusterOptions, HubOptions, UserTags};
use crate::model::policy;
use crate::model::resource::{Resource, ResourceId};
use crate::model::tags::Tags;
use crate::plan::{self, Action, Change, Plan};

/// Register clusters: a queue each, and the permission for its Karpenter controller to read it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The EKS clusters' names.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<ClusterName>,
    /// The IAM role that the cluster's Karpenter controller runs as; looked for by the usual names if not given.
    #[arg(
        long,
        env = "KIBUS_CONTROLLER_ROLE",
        value_name = "ROLE",
        conflicts_with = "no_controller_role"
    )]
    controller_role: Option<RoleName>,
    /// Leave IAM alone, and print the statement that the controller's role needs.
    #[arg(long, env = "KIBUS_NO_CONTROLLER_ROLE", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    no_controller_role: Option<bool>,
    /// The version of Karpenter that the cluster runs, which decides what it has to be told.
    #[arg(long, env = "KIBUS_KARPENTER_VERSION", value_name = "VERSION")]
    karpenter_version: Option<KarpenterVersion>,
    /// A tag for the queue; may be given several times. Tags that were chosen before and are not given again are
    /// removed; `none` removes them all.
    #[arg(long = "tag", env = "KIBUS_TAG", value_name = "KEY=VALUE", value_delimiter = ',')]
    tags: Vec<String>,
}

/// Observe the clusters' queues and policies, plan the wanted ones, carry it out.
pub(super) async fn run(args: Args, context: Context<'_>) -> Result<Ending, Error> {
    let names: BTreeSet<ClusterName> = args.names.iter().cloned().collect();
    if args.controller_role.is_some() && names.len() > 1 {
        return Err(
            Error::usage("--controller-role names the role of one cluster, and several clusters are given")
                .hint("add the clusters one at a time"),
        );
    }
    let hub = context
        .read([ResourceId::Queue(context.scope.dead_letter_queue())])
        .await?;
    let options = context.hub_choices(&hub)?;

    let prefix = clusters::prefix(&options);
    let queues: BTreeMap<&ClusterName, ResourceId> = names
        .iter()
        .map(|name| {
            let queue = context.scope.cluster_queue(&prefix, name);
            plan::check_queue_name(&context.scope, name, &queue)
                .map(|()| (name, ResourceId::Queue(queue)))
                .map_err(|refusal| explain::refused(&context, &[refusal], false))
        })
        .collect::<Result<_, _>>()?;
    let mut observed = context.read(queues.values().cloned()).await?;
    let wanted = wanted_clusters(&args, &context, &options, &queues, &observed).await?;

    let mut policies = BTreeSet::new();
    for cluster in &wanted {
        let tags = tags_of(&observed, &queues[&cluster.name]);
        policies.extend(tags.and_then(|tags| clusters::saved_policy(&context, &cluster.name, tags)));
        let role = cluster.controller_role.as_ref();
        policies.extend(role.map(|role| Cluster::policy_id(&context.scope, &cluster.name, role)));
    }
    observed.extend(context.read(policies).await?);
    for cluster in &wanted {
        still_there(&context, cluster, queues.get(&cluster.name), &observed).await?;
    }

    let key = clusters::key(&options);
    let mut desired = Desired::default();
    for cluster in &wanted {
        desired.extend(cluster.desired(&context.scope, key));
    }
    let roles = {
        let _reading = context.ui.spinner("reading what else stands on the controller roles");
        controller_policies::look(&context, &desired).await
    };
    if !roles.refusals.is_empty() {
        return Err(explain::refused(&context, &roles.refusals, false));
    }
    let report = |cluster: &Cluster| {
        clusters::report(
            &context,
            &cluster.name,
            &cluster.queue,
            cluster.controller_role.as_ref(),
        )
    };
    let are = if names.len() == 1 { "is as it" } else { "are as they" };
    let plan = plan::plan(&context.scope, &desired, &observed);
    let whole = context.verbose || news(&args, &plan);
    let next = if whole {
        next(&context, &wanted, &options)
    } else {
        karpenter::remind(&context, &controllers(&wanted))
    };
    let intent = Intent {
        plan,
        observed,
        clusters: wanted.iter().map(report).collect(),
        first: Vec::new(),
        warnings: roles.warnings(),
        nothing: format!("No changes: {} {are} should be.\n{next}", karpenter::list(names.iter())),
        next,
        question: Question::YesNo,
    };
    carry_out(&context, intent).await
}

/// Each cluster with its role and options decided: given now, or saved, or found.
async fn wanted_clusters(
    args: &Args,
    context: &Context<'_>,
    options: &HubOptions,
    queues: &BTreeMap<&ClusterName, ResourceId>,
    observed: &Observed,
) -> Result<Vec<Cluster>, Error> {
    let given = ClusterOptions {
        tags: if args.tags.is_empty() {
            None
        } else {
            Some(UserTags::parse(&args.tags)?)
        },
        karpenter_version: args.karpenter_version,
    };
    let prefix = clusters::prefix(options);
    let mut wanted = Vec::new();
    let mut without_role = Vec::new();
    for (name, queue) in queues {
        let tags = tags_of(observed, queue);
        let chosen = given
            .clone()
            .or(tags.map(ClusterOptions::saved).transpose()?.unwrap_or_default());
        let saved = tags.and_then(Tags::controller_role);
        let role = match (&args.controller_role, args.no_controller_role, saved) {
            (Some(role), _, _) => {
                controller_role::check(context, name, role).await?;
                Some(role.clone())
            }
            (None, Some(true), _) => None,
            (None, _, Some(role)) => Some(role),
            // A cluster that is registered without a role stays without one until a role is asked for.
            (None, None, None) if tags.is_some_and(|tags| tags.belong_to(&context.scope.bus)) => None,
            (None, _, None) => {
                without_role.push((*name).clone());
                None
            }
        };
        wanted.push(Cluster::new(&context.scope, &prefix, (*name).clone(), role, chosen));
    }
    if !without_role.is_empty() {
        let mut found = controller_role::find(context, &without_role).await?;
        for cluster in &mut wanted {
            if let Some(role) = found.remove(&cluster.name) {
                cluster.controller_role = Some(role);
            }
        }
    }
    Ok(wanted)
}

/// Checks that a role that is only saved exists, if the policy on it does not.
async fn still_there(
    context: &Context<'_>,
    cluster: &Cluster,
    queue: Option<&ResourceId>,
    observed: &Observed,
) -> Result<(), Error> {
    let saved = queue
        .and_then(|queue| tags_of(observed, queue))
        .and_then(Tags::controller_role);
    match &cluster.controller_role {
        Some(role) if saved.as_ref() == Some(role) => {
            let policy = Cluster::policy_id(&context.scope, &cluster.name, role);
            if observed.resource(&policy).is_none() {
                controller_role::check(context, &cluster.name, role).await?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn tags_of<'a>(observed: &'a Observed, queue: &ResourceId) -> Option<&'a Tags> {
    observed.resource(queue).and_then(Resource::tags)
}

/// What is left to do by hand: where IAM was left alone, the policy; and each Karpenter is told its queue.
fn next(context: &Context<'_>, wanted: &[Cluster], options: &HubOptions) -> String {
    let text = policies(context, wanted, clusters::key(options));
    text + &karpenter::tell(context, &controllers(wanted))
}

fn controllers(wanted: &[Cluster]) -> Vec<Controller> {
    let controller = |cluster: &Cluster| Controller {
        cluster: cluster.name.clone(),
        queue: cluster.queue.clone(),
        version: cluster.options.karpenter_version,
    };
    wanted.iter().map(controller).collect()
}

/// Whether there is something to tell Karpenter that it was not told before: a queue of another name, or what a
/// version of it needs.
fn news(args: &Args, plan: &Plan) -> bool {
    let new_queue = |change: &Change| change.action == Action::Create && matches!(change.id, ResourceId::Queue(_));
    args.karpenter_version.is_some() || args.no_controller_role == Some(true) || plan.changes.iter().any(new_queue)
}

/// The policies that the roles of clusters need where IAM was left alone. Several clusters share a text.
fn policies(context: &Context<'_>, wanted: &[Cluster], key: Option<&KmsKey>) -> String {
    let mut alike: BTreeMap<bool, Vec<&Cluster>> = BTreeMap::new();
    for cluster in wanted.iter().filter(|cluster| cluster.controller_role.is_none()) {
        let version = cluster.options.karpenter_version;
        let asks = version.is_some_and(KarpenterVersion::asks_queue_attributes);
        alike.entry(asks).or_default().push(cluster);
    }
    let mut text = String::new();
    for (asks, clusters) in alike {
        let (whose, queue) = match clusters.as_slice() {
            [one] => (
                format!("The controller role of {} needs this policy", one.name),
                &one.queue,
            ),
            several => {
                let whose = format!(
                    "The controller roles of {} need this policy, each for its own queue, like {} of the first",
                    karpenter::list(several.iter().map(|one| &one.name)),
                    several[0].queue
                );
                (whose, &several[0].queue)
            }
        };
        let document = policy::controller(&context.scope, queue, asks, key);
        text.push_str(&format!("{whose}:\n{}\n", indented(&document.pretty())));
    }
    text
}

/// Text in from the margin, as a document that one copies.
pub(super) fn indented(text: &str) -> String {
    text.lines()
        .map(|line| format!("    {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
