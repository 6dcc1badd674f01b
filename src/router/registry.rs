//! Which cluster and bus a queue belongs to, asked only when the queue takes no messages. The answer comes from the
//! queue's tags and is cached for a while, because SQS allows few calls about tags.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::InvocationContext;
use super::clock::{Backoff, Clock};
use super::decision::RetryReason;
use super::deliver::Destination;
use super::services::{CallFailure, InstanceTags, Queues};
use crate::model::name::{BusName, QueueName};
use crate::model::tags::Tags;

/// How long an answer is valid.
const VALID: Duration = Duration::from_secs(30);
/// How many queues are cached at most.
const MOST: usize = 1000;

/// What a queue's tags say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registration {
    /// The queue belongs to this cluster on this bus.
    Ours,
    /// The queue does not exist.
    Absent,
    /// The queue belongs to another cluster or bus, or is not managed by kibus.
    NotOurs,
    /// The router may not read the queue's tags.
    Denied,
}

type Slot = Arc<tokio::sync::Mutex<Option<(Registration, Instant)>>>;

/// The cached answers by queue.
#[derive(Debug, Default)]
pub(super) struct Registry(Mutex<HashMap<QueueName, Slot>>);

impl Registry {
    /// The slot of a queue's answer. Whoever holds its lock makes the call; all others wait for that answer.
    fn slot(&self, queue: &QueueName) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MOST && !slots.contains_key(queue) {
            slots.clear();
        }
        Arc::clone(slots.entry(queue.clone()).or_default())
    }
}

impl<T: InstanceTags, Q: Queues, C: Clock> InvocationContext<T, Q, C> {
    /// The registration of a destination.
    ///
    /// # Errors
    /// Why there was no answer in the time left.
    pub(super) async fn registration(&self, to: &Destination) -> Result<Registration, RetryReason> {
        let slot = self.router.registry.slot(&to.queue);
        let mut cached = slot.lock().await;
        if let Some((registration, since)) = *cached
            && self.clock.now().saturating_duration_since(since) < VALID
        {
            return Ok(registration);
        }
        let registration = self.ask_registration(to).await?;
        *cached = Some((registration, self.clock.now()));
        Ok(registration)
    }

    async fn ask_registration(&self, to: &Destination) -> Result<Registration, RetryReason> {
        let mut backoff = Backoff::default();
        loop {
            let answer = {
                let _permit = self.router.permit().await;
                self.calls.count_list_queue_tags();
                self.clock.within(self.router.queues.tags(&to.queue)).await
            };
            let why = match answer {
                Some(Ok(tags)) => return Ok(registration_of(&tags, to, &self.router.scope.bus)),
                Some(Err(CallFailure::Absent)) => return Ok(Registration::Absent),
                Some(Err(CallFailure::Denied | CallFailure::Refused | CallFailure::TooLong)) => {
                    return Ok(Registration::Denied);
                }
                Some(Err(CallFailure::Again(why))) => why,
                None => RetryReason::OutOfTime,
            };
            if !backoff.again(&self.clock).await {
                return Err(why);
            }
        }
    }
}

fn registration_of(tags: &Tags, to: &Destination, bus: &BusName) -> Registration {
    let ours = match &to.cluster {
        Some(cluster) => tags.cluster_of(bus).as_ref() == Some(cluster),
        None => tags.belong_to(bus),
    };
    if ours && tags.being_deleted() {
        // SQS answers for a deleted queue for a while.
        Registration::Absent
    } else if ours {
        Registration::Ours
    } else {
        Registration::NotOurs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tags::{CLUSTER, DELETING};

    #[test]
    fn s9_a_queue_that_is_being_deleted_counts_as_absent() {
        let bus: BusName = "kibus".parse().unwrap();
        let of_base = Tags::of(&bus).with(CLUSTER, "base");
        let to = Destination {
            queue: "karpenter-base".parse().unwrap(),
            cluster: Some("base".parse().unwrap()),
        };
        for (tags, registration) in [
            (of_base.clone(), Registration::Ours),
            (of_base.with(DELETING, "1"), Registration::Absent),
            (Tags::default().with(DELETING, "1"), Registration::NotOurs),
        ] {
            assert_eq!(registration_of(&tags, &to, &bus), registration, "{tags:?}");
        }
    }
}
