//! What verify and status look at: the hub as far as it is there, its clusters, and what is going on in them.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;

use super::clusters::{self, Registered};
use super::context::Context;
use super::explain;
use crate::cloud::{self, Fault};
use crate::error::Error;
use crate::model::hub;
use crate::model::inventory::Observed;
use crate::model::name::{ClusterName, QueueName};
use crate::model::options::HubOptions;
use crate::model::resource::{Resource, ResourceId};
use crate::model::router_build::QUEUE_PREFIX_VARIABLE;
use crate::model::scope::LIVE;
use crate::model::status::{Depth, MappingState, VersionState};
use crate::plan;

/// What is there.
pub(super) struct Look {
    /// The hub's resources.
    pub(super) observed: Observed,
    /// What the hub remembers.
    pub(super) options: HubOptions,
    /// Whether the queue that remembers is gone, so that the options are only what else could be known.
    pub(super) forgot: bool,
    /// The registered clusters, with their queues.
    pub(super) registered: Registered,
    /// What could not be read.
    pub(super) faults: Vec<(ResourceId, Fault)>,
    /// Why the clusters are not known, if they are not.
    pub(super) undiscovered: Option<Fault>,
}

/// What is going on.
#[derive(Default)]
pub(super) struct State {
    pub(super) depths: BTreeMap<QueueName, Depth>,
    pub(super) mapping: Option<MappingState>,
    pub(super) version: Option<VersionState>,
    pub(super) faults: Vec<(ResourceId, Fault)>,
}

impl Look {
    /// Reads the hub and finds its clusters. Only a hub of which nothing is there is an error, and one that cannot
    /// be told from that.
    pub(super) async fn take(context: &Context<'_>) -> Result<Self, Error> {
        let read = {
            let _reading = context.ui.spinner("reading the hub");
            cloud::observe(&context.cloud, hub::ids(&context.scope), context.limit).await
        };
        let (options, forgot) = match context.hub_choices(&read.observed) {
            Ok(options) => (options, false),
            Err(error) if !memory_is_gone(context, &read.observed) => return Err(error_of(context, &read, error)),
            Err(_) => (what_the_function_knows(context, &read.observed), true),
        };
        let (registered, undiscovered) = match Registered::find(context, &options).await {
            Ok(registered) => (registered, None),
            Err(fault) => (Registered::default(), Some(fault)),
        };
        Ok(Self {
            observed: read.observed,
            options,
            forgot,
            registered,
            faults: read.faults,
            undiscovered,
        })
    }

    /// The queues of the registered clusters.
    pub(super) fn cluster_queues(&self, context: &Context<'_>) -> BTreeMap<QueueName, ClusterName> {
        let prefix = clusters::prefix(&self.options);
        let names = self.registered.clusters.keys();
        names
            .map(|name| (context.scope.cluster_queue(&prefix, name), name.clone()))
            .collect()
    }

    /// Looks at what is going on in the hub and in the queues of these clusters, as far as they are there.
    pub(super) async fn state(&self, context: &Context<'_>) -> State {
        let _reading = context.ui.spinner("counting messages");
        let there = |queue: &QueueName| self.observed.resource(&ResourceId::Queue(queue.clone())).is_some();
        let hub = context.scope.hub_queues().into_iter().filter(there);
        let queues: BTreeSet<QueueName> = hub.chain(self.cluster_queues(context).into_keys()).collect();
        let (function, queue) = (context.scope.router_function(), context.scope.hub_queue());
        let (depths, mapping, version) = tokio::join!(
            depths(context, queues),
            context.cloud.mapping_state(&queue, &function, LIVE),
            context.cloud.version_state(&function, LIVE),
        );
        let mut state = depths;
        let mapping_id = ResourceId::EventSourceMapping(queue, function.clone(), LIVE.to_owned());
        state.mapping = keep(mapping, mapping_id, &mut state.faults);
        state.version = keep(version, ResourceId::Alias(function, LIVE.to_owned()), &mut state.faults);
        // What could not be read at the first look is told once.
        state
            .faults
            .retain(|(id, _)| !self.faults.iter().any(|(other, _)| other == id));
        state
    }
}

/// How many messages these queues hold. One that is gone meanwhile holds none.
pub(super) async fn depths(context: &Context<'_>, queues: impl IntoIterator<Item = QueueName>) -> State {
    let answers: Vec<_> = futures_util::stream::iter(queues)
        .map(|queue| async move {
            let answer = context.cloud.depth(&queue).await;
            (queue, answer)
        })
        .buffer_unordered(context.limit.max(1))
        .collect()
        .await;
    let mut state = State::default();
    for (queue, answer) in answers {
        let id = ResourceId::Queue(queue.clone());
        if let Some(depth) = keep(answer, id, &mut state.faults) {
            state.depths.insert(queue, depth);
        }
    }
    state
}

fn keep<T>(answer: Result<Option<T>, Fault>, id: ResourceId, faults: &mut Vec<(ResourceId, Fault)>) -> Option<T> {
    answer.unwrap_or_else(|fault| {
        faults.push((id, fault));
        None
    })
}

/// Whether the queue that remembers is certainly not there, while other parts of the hub are.
fn memory_is_gone(context: &Context<'_>, observed: &Observed) -> bool {
    let memory = ResourceId::Queue(context.scope.dead_letter_queue());
    let absent = observed.get(&memory) == Some(&crate::model::inventory::Reading::Absent);
    absent
        && observed
            .resources()
            .any(|resource| plan::is_ours(&context.scope, resource, observed))
}

/// A queue that remembers and cannot be read is not one that is absent.
fn error_of(context: &Context<'_>, read: &cloud::Observation, otherwise: Error) -> Error {
    let memory = ResourceId::Queue(context.scope.dead_letter_queue());
    let fault = read.faults.iter().find(|(id, _)| *id == memory);
    fault.map_or(otherwise, |(id, fault)| explain::unreadable(context, id, fault))
}

/// The options of a hub that has lost its memory: the defaults, but for the prefix, which the router has too.
fn what_the_function_knows(context: &Context<'_>, observed: &Observed) -> HubOptions {
    let function = observed.resource(&ResourceId::Function(context.scope.router_function()));
    let prefix = match function {
        Some(Resource::Function(function)) => function.settings.environment.get(QUEUE_PREFIX_VARIABLE),
        _ => None,
    };
    HubOptions {
        queue_prefix: prefix
            .and_then(|prefix| prefix.parse().ok())
            .filter(|prefix| *prefix != hub::default_queue_prefix()),
        ..HubOptions::default()
    }
}

/// The error to end with where this many things could not be read; none if everything could.
pub(super) fn incomplete(context: &Context<'_>, unread: usize) -> Option<Error> {
    let what = match unread {
        0 => return None,
        1 => "1 thing".to_owned(),
        count => format!("{count} things"),
    };
    Some(
        Error::failed(format!("{what} could not be read, so this is not the whole picture")).hint_command(
            "what an operator needs to read all of it:",
            context.command("policy operator"),
        ),
    )
}
