//! `kibus remove-cluster`.

use std::collections::BTreeSet;

use super::carry_out::{Intent, Question, carry_out};
use super::context::Context;
use super::karpenter::{self, Controller};
use super::{Ending, clusters};
use crate::error::Error;
use crate::model::inventory::Desired;
use crate::model::name::ClusterName;
use crate::model::resource::{Resource, ResourceId};
use crate::plan;

/// Take clusters off the bus: the policy on the controller role goes, then the queue.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The EKS clusters' names.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<ClusterName>,
}

/// Observe the clusters' queues and policies, plan their end, carry it out.
pub(super) async fn run(args: Args, context: Context<'_>) -> Result<Ending, Error> {
    let names: BTreeSet<ClusterName> = args.names.into_iter().collect();
    let hub = context
        .read([ResourceId::Queue(context.scope.dead_letter_queue())])
        .await?;
    let options = context.hub_choices(&hub)?;

    let prefix = clusters::prefix(&options);
    let queue = |name: &ClusterName| context.scope.cluster_queue(&prefix, name);
    let mut observed = context
        .read(names.iter().map(|name| ResourceId::Queue(queue(name))))
        .await?;
    let mut policies = BTreeSet::new();
    let mut reports = Vec::new();
    let mut controllers = Vec::new();
    for name in &names {
        let tags = observed
            .resource(&ResourceId::Queue(queue(name)))
            .and_then(Resource::tags);
        policies.extend(tags.and_then(|tags| clusters::saved_policy(&context, name, tags)));
        let role = tags.and_then(crate::model::tags::Tags::controller_role);
        controllers.extend(tags.map(|tags| Controller {
            cluster: name.clone(),
            queue: queue(name),
            version: clusters::karpenter_version(tags),
        }));
        reports.push(clusters::report(&context, name, &queue(name), role.as_ref()));
    }
    observed.extend(context.read(policies).await?);

    let list = names.iter().map(ClusterName::as_str).collect::<Vec<_>>().join(", ");
    let are = if names.len() == 1 { "is" } else { "are" };
    let intent = Intent {
        plan: plan::plan(&context.scope, &Desired::default(), &observed),
        observed,
        clusters: reports,
        first: karpenter::let_go(&context, &controllers),
        warnings: Vec::new(),
        nothing: format!("No changes: {list} {are} not on bus {}.", context.scope.bus),
        next: String::new(),
        question: Question::YesNo,
    };
    carry_out(&context, intent).await
}
