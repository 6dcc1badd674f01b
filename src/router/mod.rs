//! The function: what stands between the hub queue and the queues of the clusters.
//!
//! `route` reads as the whole of it: **decode** (bytes to signals, pure), **locate** (instance to cluster, by the
//! instance's tags), **deliver** (cluster to queue), and **give back** what could not be done yet. Everything that
//! arrives is delivered, dropped for a reason that has a name and is counted, or given back.

mod cache;
mod clock;
mod connection;
mod decode;
mod deliver;
mod health;
mod instance;
mod invocation;
mod json;
#[cfg(test)]
mod laws;
mod locate;
mod owner;
mod registry;
mod repair;
mod report;
mod route;
mod self_test;
mod services;
mod sqs;
mod start;
mod verdict;
mod work;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{Semaphore, SemaphorePermit};

pub use clock::{Clock, Deadline, visibility};
pub use decode::{Event, Subject, decode};
pub use instance::InstanceId;
pub use owner::{Owner, owner};
pub use repair::Repair;
pub use report::Report;
pub use route::{Delivery, Item, Message, Outcome, route};
pub use services::{Fault, InstanceTags, Queues};
pub use start::run;
pub use verdict::{Drop, GiveBack, Verdict};

use cache::Cache;
use registry::Registry;

use crate::model::name::QueuePrefix;
use crate::model::scope::Scope;

/// How many calls are under way at most.
const CALLS: usize = 16;
/// How many instances a generation of the cache holds.
const GENERATION: usize = 4096;

/// What lives as long as the function's process does.
#[derive(Debug)]
pub struct Router<T, Q> {
    scope: Scope,
    prefix: QueuePrefix,
    ec2: T,
    queues: Q,
    cache: Mutex<Cache>,
    registry: Registry,
    permits: Semaphore,
}

impl<T, Q> Router<T, Q> {
    /// A router of a bus whose cluster queues have this prefix.
    #[must_use]
    pub fn new(scope: Scope, prefix: QueuePrefix, ec2: T, queues: Q) -> Self {
        Self {
            scope,
            prefix,
            ec2,
            queues,
            cache: Mutex::new(Cache::new(GENERATION)),
            registry: Registry::default(),
            permits: Semaphore::new(CALLS),
        }
    }

    fn saved(&self, id: &InstanceId, now: Instant) -> Option<Owner> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.get(id, now)
    }

    fn remember(&self, id: InstanceId, owner: Owner, now: Instant) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.put(id, owner, now);
    }

    /// Leave to make a call. The semaphore is never closed, so there is always one in the end.
    async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }
}

/// The calls that an invocation has made, retries and further pages too.
#[derive(Debug, Default)]
pub struct Calls {
    describe_tags: AtomicU32,
    send: AtomicU32,
    list_queue_tags: AtomicU32,
}

impl Calls {
    fn describe_tags(&self) {
        self.describe_tags.fetch_add(1, Ordering::Relaxed);
    }

    fn send(&self) {
        self.send.fetch_add(1, Ordering::Relaxed);
    }

    fn list_queue_tags(&self) {
        self.list_queue_tags.fetch_add(1, Ordering::Relaxed);
    }
}
