//! `kibus teardown`.

use super::Ending;
use super::carry_out::{Intent, Question, carry_out};
use super::clusters::{self, Registered};
use super::context::Context;
use super::karpenter::{self, Controller};
use crate::error::Error;
use crate::model::hub;
use crate::model::inventory::{Desired, Observed, Reading};
use crate::model::options::HubOptions;
use crate::plan;

/// Remove the hub and every cluster on it; leaves nothing of the bus.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// Observe everything, plan nothing in its place, carry it out.
pub(super) async fn run(_args: Args, context: Context<'_>) -> Result<Ending, Error> {
    let reading = context.ui.spinner("reading the hub");
    let hub = context.read(hub::ids(&context.scope)).await?;
    drop(reading);
    // Without the hub's memory, clusters can still be found by their tags.
    let options = context.hub_choices(&hub).unwrap_or_else(|_| HubOptions::default());
    let mut registered = Registered::find(&context, &options)
        .await
        .map_err(|fault| super::explain::clusters_unknown(&context, &fault))?;
    registered.read_policies(&context).await;
    if let Some((id, fault)) = registered.faults.first() {
        return Err(super::explain::unreadable(&context, id, fault));
    }
    let mut all = hub;
    all.extend(registered.observed.clone());
    let (observed, foreign) = only_ours(&context, &all);

    let prefix = clusters::prefix(&options);
    let controllers: Vec<Controller> = registered
        .clusters
        .iter()
        .map(|(name, tags)| Controller {
            cluster: name.clone(),
            queue: context.scope.cluster_queue(&prefix, name),
            version: clusters::karpenter_version(tags),
        })
        .collect();
    let intent = Intent {
        plan: plan::plan(&context.scope, &Desired::default(), &observed),
        observed,
        clusters: registered.report(&context, &options),
        first: karpenter::let_go(&context, &controllers),
        warnings: foreign,
        nothing: format!("No changes: there is nothing of bus {}.", context.scope.bus),
        next: String::new(),
        question: Question::Typed(context.scope.bus.to_string()),
    };
    carry_out(&context, intent).await
}

/// What is ours of all that was seen, and a warning for each thing that has a name of ours and is not.
fn only_ours(context: &Context<'_>, all: &Observed) -> (Observed, Vec<String>) {
    let mut ours = Observed::default();
    let mut warnings = Vec::new();
    for (id, seen) in all.iter() {
        match seen {
            Reading::Present(resource) if !plan::is_ours(&context.scope, resource, all) => {
                warnings.push(format!("{id} is not part of bus `{}` and stays", context.scope.bus));
            }
            _ => ours.insert(id.clone(), seen.clone()),
        }
    }
    (ours, warnings)
}
