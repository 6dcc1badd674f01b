//! The function between the hub queue and the queues of the clusters.
//!
//! `route` shows the whole of it: **decode** (bytes to signals, pure), **locate** (instance to
//! cluster, by the instance's tags), **deliver** (cluster to queue). Everything that arrives is delivered, dropped
//! for a reason that is named and counted, or returned to the hub queue for a retry.

mod access_test;
mod batch;
mod cache;
mod call_counts;
mod clock;
mod configuration;
mod connection;
mod decision;
mod decode;
mod deliver;
mod event_text;
mod health;
mod hub_queue;
mod instance;
mod instance_tags;
mod invocation;
mod json;
#[cfg(test)]
mod laws;
mod locate;
mod open_items;
mod owner;
mod payload;
mod queues;
mod registry;
mod report;
mod route;
mod self_test;
mod services;
mod shape;
mod start;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{Semaphore, SemaphorePermit};

pub use decision::DropReason;
pub use decode::{DecodedEvent, EventSubject, Repair, decode};
pub use event_text::EventText;
pub use instance::InstanceId;
pub use start::run;

use cache::Cache;
use call_counts::CallCounts;
use clock::Clock;
use owner::InstanceOwner;
use registry::{Destination, Registry};

use crate::model::name::{ClusterName, QueuePrefix};
use crate::model::scope::Scope;
use crate::model::tags::Tags;

/// How many calls are made at the same time at most. Two hundred messages to ten queues take up to 29 calls.
const CONCURRENT_CALLS: usize = 32;
/// How many calls about the tags of queues are made at the same time at most. They never keep a message from its queue.
const CONCURRENT_TAG_CALLS: usize = 2;
/// How many instances a generation of the cache holds.
const GENERATION: usize = 4096;

/// What stays in memory as long as the function's process runs.
#[derive(Debug)]
struct Router<T, Q> {
    scope: Scope,
    prefix: QueuePrefix,
    ec2: T,
    queues: Q,
    cache: Mutex<Cache>,
    registry: Registry,
    permits: Semaphore,
    tag_permits: Semaphore,
}

/// One invocation: the router, the calls so far, and the time left.
#[derive(Debug)]
struct InvocationContext<T, Q, C> {
    router: Arc<Router<T, Q>>,
    calls: CallCounts,
    /// The instances whose tags name two clusters, one of them by the tag that only AWS can write.
    contradictions: Mutex<BTreeSet<InstanceId>>,
    clock: C,
}

impl<T, Q> Router<T, Q> {
    /// A router for a bus whose cluster queues have this prefix.
    fn new(scope: Scope, prefix: QueuePrefix, ec2: T, queues: Q) -> Self {
        Self {
            scope,
            prefix,
            ec2,
            queues,
            cache: Mutex::new(Cache::new(GENERATION)),
            registry: Registry::default(),
            permits: Semaphore::new(CONCURRENT_CALLS - CONCURRENT_TAG_CALLS),
            tag_permits: Semaphore::new(CONCURRENT_TAG_CALLS),
        }
    }

    fn cached(&self, id: &InstanceId, now: Instant) -> Option<InstanceOwner> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.get(id, now)
    }

    fn cache(&self, id: InstanceId, owner: InstanceOwner, now: Instant) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.put(id, owner, now);
    }

    /// The queue of a cluster, or the probe queue for a probe that names none. Nothing, if the prefix and the
    /// cluster's name make the name of a hub queue: the router would send to itself.
    fn destination(&self, cluster: Option<ClusterName>) -> Option<Destination> {
        let queue = match &cluster {
            None => self.scope.probe_queue(),
            Some(name) => {
                let queue = self.scope.cluster_queue(&self.prefix, name);
                if self.scope.hub_queues().contains(&queue) {
                    return None;
                }
                queue
            }
        };
        Some(Destination { queue, cluster })
    }

    /// Waits until a call may be made. The semaphore is never closed, so there is always a permit in the end.
    async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }

    /// Waits until a call about the tags of a queue may be made.
    async fn tag_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.tag_permits.acquire().await.ok()
    }
}

impl<T, Q, C: Clock> InvocationContext<T, Q, C> {
    /// The owner of an instance with these tags.
    fn owner(&self, id: &InstanceId, tags: &Tags) -> InstanceOwner {
        if owner::contradicts(tags) {
            let mut contradictions = self.contradictions.lock().unwrap_or_else(PoisonError::into_inner);
            contradictions.insert(id.clone());
        }
        owner::owner(tags)
    }

    fn take_contradictions(&self) -> BTreeSet<InstanceId> {
        let mut contradictions = self.contradictions.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut contradictions)
    }

    fn new(router: &Arc<Router<T, Q>>, clock: C) -> Arc<Self> {
        Arc::new(Self {
            router: Arc::clone(router),
            calls: CallCounts::default(),
            contradictions: Mutex::default(),
            clock,
        })
    }
}
