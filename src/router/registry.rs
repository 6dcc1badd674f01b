//! Which cluster and bus a queue belongs to, checked only when a queue denies access. The answer comes from the queue's
//! tags and is cached for a while: SQS allows few tag calls, and during a migration most clusters have no queue.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::cache::Generations;
use super::clock::Clock;
use super::decision::RetryReason;
use super::services::{CallFailure, Services};
use super::{InvocationContext, locked};
use crate::model::{BusName, ClusterName, QueueName, Tags, cluster::TAGS_REMEMBERED};

/// How long an answer is valid that leads to drops or leaves the state unknown: the queue may be created at any moment.
const SHORTEST: Duration = Duration::from_secs(2);
/// How long any other answer is valid, and a negative one after it was repeated.
const LONGEST: Duration = TAGS_REMEMBERED;
const GENERATION: usize = 500;
/// The maximum number of queue tag calls per invocation. Messages to further unknown queues return to the hub queue, so
/// that unknown clusters neither block the invocation nor use up the account's calls. It is far more than a batch names
/// in a migration: an event is finished only if all its queues are known in the same invocation.
const TAG_CALLS: u32 = 100;

/// A queue and its cluster. The probe queue has no cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Destination {
    pub(super) queue: QueueName,
    pub(super) cluster: Option<ClusterName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registration {
    /// The queue belongs to this cluster on this bus.
    Ours,
    Absent,
    /// The queue belongs to another cluster or bus, or is not managed by kibus.
    NotOurs,
    /// The router is not allowed to read the queue's tags.
    Denied,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    /// The answer from its tags, or why there is none.
    result: Result<Registration, RetryReason>,
    since: Instant,
    valid: Duration,
}

type Slot = Arc<tokio::sync::Mutex<Option<Answer>>>;

#[derive(Debug)]
pub(super) struct Registry(Mutex<Generations<QueueName, Slot>>);

impl Default for Registry {
    fn default() -> Self {
        Self(Mutex::new(Generations::new(GENERATION)))
    }
}

impl Registry {
    /// The slot of a queue's answer. The task that holds the lock makes the call; all others wait for the answer.
    fn slot(&self, queue: &QueueName) -> Slot {
        let mut slots = locked(&self.0);
        if let Some(slot) = slots.get(queue) {
            return Arc::clone(slot);
        }
        let slot = Slot::default();
        slots.put(queue.clone(), Arc::clone(&slot));
        slot
    }

    /// Whether the last answer about this queue leads to drops.
    pub(super) fn drops(&self, queue: &QueueName) -> bool {
        let slot = locked(&self.0).peek(queue).map(Arc::clone);
        // A task that is checking it now holds the lock.
        let answer = slot.and_then(|slot| *slot.try_lock().ok()?);
        answer.is_some_and(|answer| matches!(answer.result, Ok(Registration::Absent | Registration::NotOurs)))
    }
}

impl Answer {
    /// A new answer. If it equals the previous one, it is valid for twice as long.
    fn new(result: Result<Registration, RetryReason>, before: Option<Self>, now: Instant) -> Self {
        let repeated = before.filter(|before| {
            before.result == result && now.saturating_duration_since(before.since) < before.valid.saturating_mul(2)
        });
        let valid = match result {
            Ok(Registration::Ours | Registration::Denied) => LONGEST,
            Ok(Registration::Absent | Registration::NotOurs) | Err(_) => {
                repeated.map_or(SHORTEST, |before| before.valid.saturating_mul(2).min(LONGEST))
            }
        };
        let since = now;
        Self { result, since, valid }
    }
}

impl<S: Services, C: Clock> InvocationContext<S, C> {
    pub(super) async fn registration(&self, to: &Destination) -> Result<Registration, RetryReason> {
        let slot = self.router.registry.slot(&to.queue);
        let mut cached = slot.lock().await;
        let now = self.clock.now();
        if let Some(answer) = cached.filter(|answer| now.saturating_duration_since(answer.since) < answer.valid) {
            return answer.result;
        }
        let result = {
            let _permit = self.router.tag_permits.acquire().await;
            if self.calls.list_queue_tags.get() >= TAG_CALLS {
                return Err(RetryReason::OutOfTime);
            }
            self.calls.list_queue_tags.add(1);
            self.ask_registration(to).await
        };
        *cached = Some(Answer::new(result, *cached, self.clock.now()));
        result
    }

    /// One call, whatever the answer: the message will return, and the time of the invocation belongs to the others.
    async fn ask_registration(&self, to: &Destination) -> Result<Registration, RetryReason> {
        let call = self.router.services.queue_tags(&to.queue);
        let answer = self.clock.within(call).await.ok_or(RetryReason::OutOfTime)?;
        match answer.map_err(|e| e.failure) {
            Ok(tags) => Ok(registration_of(&tags, to, &self.router.scope.bus)),
            Err(CallFailure::Absent) => Ok(Registration::Absent),
            Err(CallFailure::Denied | CallFailure::Refused | CallFailure::TooLong) => Ok(Registration::Denied),
            Err(CallFailure::Again(why)) => Err(why),
        }
    }
}

fn registration_of(tags: &Tags, to: &Destination, bus: &BusName) -> Registration {
    let ours = match &to.cluster {
        Some(cluster) => tags.cluster_of(bus).as_ref() == Some(cluster),
        None => tags.belong_to(bus),
    };
    // Anyone who can tag a queue can mark it for deletion. Only a queue that is gone loses its events.
    if ours { Registration::Ours } else { Registration::NotOurs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tags::{CLUSTER, DELETING};

    #[test]
    fn s9_only_a_queue_that_is_gone_counts_as_absent() {
        let bus: BusName = "kibus".parse().unwrap();
        let of_base = Tags::of_bus(&bus).with(CLUSTER, "base");
        let to = Destination { queue: "karpenter-base".parse().unwrap(), cluster: Some("base".parse().unwrap()) };
        for (tags, registration) in [
            (of_base.clone(), Registration::Ours),
            (of_base.with(DELETING, "1"), Registration::Ours),
            (Tags::default().with(DELETING, "1"), Registration::NotOurs),
        ] {
            assert_eq!(registration_of(&tags, &to, &bus), registration, "{tags:?}");
        }
    }

    #[test]
    fn it_stays_small() {
        let registry = Registry::default();
        for n in 0..5000 {
            registry.slot(&format!("karpenter-{n}").parse().unwrap());
            assert!(locked(&registry.0).largest() <= GENERATION, "after {n}");
        }
    }
}
