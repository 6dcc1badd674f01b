//! The function between the hub queue and the queues of the clusters.
//!
//! `route` shows the whole process: **decode** (bytes to signals, pure), **locate** (instance to cluster, by the
//! instance's tags), **deliver** (cluster to queue). Everything that arrives is delivered, dropped for a reason that is
//! named and counted, or returned to the hub queue for a retry.

mod batch;
mod cache;
mod clock;
mod connection;
mod decision;
mod decode;
mod deliver;
mod invocation;
mod json;
#[cfg(test)]
mod laws;
mod locate;
mod notices;
mod owner;
mod registry;
mod report;
mod route;
mod self_test;
mod services;
mod shape;
mod start;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

pub use crate::model::InstanceId;
pub use decision::DropReason;
pub use decode::{DecodedEvent, EventSubject, decode};
pub use start::run;

use cache::Owners;
use registry::{Destination, Registry};
use report::CallCounts;

use notices::NoticeTopic;

use crate::model::{ClusterName, RouterHandler, Scope};

/// The maximum number of concurrent calls. Two hundred messages to ten queues take up to 29 calls.
const CONCURRENT_CALLS: usize = 32;
/// The maximum number of concurrent calls about queue tags. They never keep a message from its queue.
const CONCURRENT_TAG_CALLS: usize = 2;
/// The number of instances whose owners a cache generation holds.
const GENERATION: usize = 4096;

/// The state that stays in memory while the function's process runs.
#[derive(Debug)]
struct Router<S> {
    scope: Scope,
    handler: RouterHandler,
    /// The destination of notices, if any.
    topic: Option<NoticeTopic>,
    services: S,
    owners: Mutex<Owners>,
    registry: Registry,
    permits: Semaphore,
    tag_permits: Semaphore,
}

/// One invocation: the router, the calls so far, and the time left.
#[derive(Debug)]
struct InvocationContext<S, C> {
    router: Arc<Router<S>>,
    calls: CallCounts,
    /// The instances whose tags name two clusters, one of them in the tag that only AWS can write.
    contradictions: Mutex<BTreeSet<InstanceId>>,
    clock: C,
}

impl<S> Router<S> {
    fn new(scope: Scope, handler: RouterHandler, services: S) -> Self {
        let topic = handler.notify.as_ref();
        Self {
            topic: topic.map(|topic| NoticeTopic::new(scope.topic_arn(topic))),
            scope,
            handler,
            services,
            owners: Mutex::new(Owners::new(GENERATION)),
            registry: Registry::default(),
            permits: Semaphore::new(CONCURRENT_CALLS - CONCURRENT_TAG_CALLS),
            tag_permits: Semaphore::new(CONCURRENT_TAG_CALLS),
        }
    }

    /// The queue of a cluster, or the probe queue for a probe that names none. `None` if the template and the cluster's
    /// name form the name of a hub queue: the router would send to itself.
    fn destination(&self, cluster: Option<ClusterName>) -> Option<Destination> {
        let queue = match &cluster {
            None => self.scope.probe_queue(),
            Some(name) => {
                let queue = self.scope.cluster_queue(&self.handler.template, name);
                if self.scope.hub_queues().contains(&queue) {
                    return None;
                }
                queue
            }
        };
        Some(Destination { queue, cluster })
    }

    /// Makes a call as soon as the limit allows it.
    async fn permitted<T>(&self, call: impl Future<Output = T>) -> T {
        // The semaphore is never closed, so there is always a permit eventually.
        let _permit = self.permits.acquire().await;
        call.await
    }
}

impl<S, C> InvocationContext<S, C> {
    fn new(router: &Arc<Router<S>>, clock: C) -> Arc<Self> {
        Arc::new(Self {
            router: Arc::clone(router),
            calls: CallCounts::default(),
            contradictions: Mutex::default(),
            clock,
        })
    }
}

/// The value in a mutex, even after a panic: no change can be left half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs tasks at the same time. Returns their outputs in order; `None` for a task that panicked, which does not affect the others.
async fn side_by_side<T: Send + 'static>(
    tasks: impl IntoIterator<Item: Future<Output = T> + Send + 'static>,
) -> Vec<Option<T>> {
    let mut running = JoinSet::new();
    let mut outputs = Vec::new();
    for (place, task) in tasks.into_iter().enumerate() {
        running.spawn(async move { (place, task.await) });
        outputs.push(None);
    }
    while let Some(joined) = running.join_next().await {
        if let Ok((place, output)) = joined {
            outputs[place] = Some(output);
        }
    }
    outputs
}
