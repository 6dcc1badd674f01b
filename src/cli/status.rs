//! `kibus status`.

use super::context::Context;
use super::look::{Look, State, incomplete};
use super::{Ending, rollback};
use crate::cloud::Fault;
use crate::error::Error;
use crate::model::inventory::Reading;
use crate::model::name::QueueName;
use crate::model::resource::{Resource, ResourceId};
use crate::model::scope::LIVE;
use crate::model::signal::Signal;
use crate::model::status::Depth;
use crate::plan::Plan;
use crate::ui::json::{HubReport, Report, RouterReport, StatusReport};
use crate::ui::text;

/// Show the hub and its clusters at a glance: what is there, what runs, and how many messages wait.
///
/// It judges nothing; `kibus verify` does. Ends with 1 if something could not be read.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// Look, count, show.
pub(super) async fn run(_: Args, context: Context<'_>) -> Result<Ending, Error> {
    let look = Look::take(&context).await?;
    let state = look.state(&context).await;
    let faults: Vec<&(ResourceId, Fault)> = look
        .faults
        .iter()
        .chain(&look.registered.faults)
        .chain(&state.faults)
        .collect();
    let error = incomplete(&context, faults.len() + usize::from(look.undiscovered.is_some()));
    let status = report(&context, &look, &state, &faults);
    let clusters = look.registered.report(&context, &look.options);
    let text = text::status(&context.heading(), &status, &clusters, context.ui.result_style());
    context.ui.report(&Report {
        hubs: vec![HubReport {
            bus: context.scope.bus.clone(),
            account: context.scope.account.clone(),
            region: context.scope.region.clone(),
            plan: &Plan::default(),
            clusters,
            problems: Vec::new(),
            warnings: Vec::new(),
            probes: Vec::new(),
            status: Some(status),
            applied: false,
            error: error.as_ref(),
        }],
    })?;
    context.ui.result(&text)?;
    for (id, fault) in faults {
        context.ui.warn(&format!("{id} could not be read: {fault}"));
    }
    if let Some(error) = &look.undiscovered {
        let why = error.notes.first().map_or_else(String::new, |note| format!(": {note}"));
        context.ui.warn(&format!("the clusters are not known: {error}{why}"));
    }
    Ok(match error {
        Some(error) => Ending::Failed(Box::new(error)),
        None => Ending::Done,
    })
}

fn report(context: &Context<'_>, look: &Look, state: &State, faults: &[&(ResourceId, Fault)]) -> StatusReport {
    let scope = &context.scope;
    let depth = |queue: QueueName| {
        let depth: Option<Depth> = state.depths.get(&queue).copied();
        depth.map(|depth| (queue, depth))
    };
    let hub = [scope.hub_queue(), scope.dead_letter_queue(), scope.probe_queue()];
    let rule = |signal| match look.observed.resource(&ResourceId::Rule(scope.rule(signal))) {
        Some(Resource::Rule(rule)) => Some((rule.name.clone(), rule.enabled)),
        _ => None,
    };
    let rebalance = ResourceId::Rule(scope.rule(Signal::Rebalance));
    let wanted = |id: &ResourceId| *id != rebalance || look.options.rebalance == Some(true);
    StatusReport {
        router: router(context, look, state),
        standing: rollback::standing_briefly(scope, &look.observed),
        mapping: state.mapping.clone(),
        queues: hub
            .into_iter()
            .chain(look.cluster_queues(context).into_keys())
            .filter_map(depth)
            .collect(),
        rules: Signal::ALL.into_iter().filter_map(rule).collect(),
        missing: look
            .observed
            .iter()
            .filter(|(id, seen)| **seen == Reading::Absent && wanted(id))
            .map(|(id, _)| id.clone())
            .collect(),
        unreadable: faults.iter().map(|(id, _)| id.clone()).collect(),
    }
}

fn router(context: &Context<'_>, look: &Look, state: &State) -> Option<RouterReport> {
    let id = ResourceId::Alias(context.scope.router_function(), LIVE.to_owned());
    let Some(Resource::Alias(alias)) = look.observed.resource(&id) else {
        return None;
    };
    let version = state.version.as_ref();
    Some(RouterReport {
        version: alias.settings.code.version.clone(),
        published: alias.version.or(version.and_then(|version| version.version)),
        architecture: alias.settings.architecture,
        state: version.map(|version| version.state.clone()),
        gone_back_from: alias.history.back_from,
    })
}
