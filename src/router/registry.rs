//! Whose a queue is that takes nothing from the router. It asks the queue's own tags and keeps the answer for a
//! while: calls about tags have a low quota.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::clock::{Backoff, Clock};
use super::deliver::Destination;
use super::services::{Fault, InstanceTags, Queues};
use super::verdict::GiveBack;
use super::{Calls, Router};
use crate::model::name::{BusName, QueueName};
use crate::model::tags::Tags;

/// How long an answer is kept.
const REMEMBERED: Duration = Duration::from_secs(30);
/// How many queues are saved, more or less.
const MOST: usize = 1000;

/// What a queue's tags say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registration {
    /// It is this cluster's, on this bus.
    Ours,
    /// There is none.
    Absent,
    /// It is somebody else's.
    NotOurs,
    /// It may not be asked.
    Denied,
}

type Answer = Arc<tokio::sync::Mutex<Option<(Registration, Instant)>>>;

/// What is saved of queues.
#[derive(Debug, Default)]
pub(super) struct Registry(Mutex<HashMap<QueueName, Answer>>);

impl Registry {
    /// The place of a queue's answer. Whoever holds its lock is asking; the others wait for what it hears.
    fn place(&self, queue: &QueueName) -> Answer {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MOST && !answers.contains_key(queue) {
            answers.clear();
        }
        Arc::clone(answers.entry(queue.clone()).or_default())
    }
}

impl<T: InstanceTags, Q: Queues> Router<T, Q> {
    /// Whose a destination is.
    ///
    /// # Errors
    /// Why it could not be asked in the time that was left.
    pub(super) async fn registration<C: Clock>(
        &self,
        to: &Destination,
        calls: &Calls,
        clock: &C,
    ) -> Result<Registration, GiveBack> {
        let place = self.registry.place(&to.queue);
        let mut answer = place.lock().await;
        if let Some((registration, heard)) = *answer
            && clock.now().saturating_duration_since(heard) < REMEMBERED
        {
            return Ok(registration);
        }
        let registration = self.ask_registration(to, calls, clock).await?;
        *answer = Some((registration, clock.now()));
        Ok(registration)
    }

    async fn ask_registration<C: Clock>(
        &self,
        to: &Destination,
        calls: &Calls,
        clock: &C,
    ) -> Result<Registration, GiveBack> {
        let mut backoff = Backoff::default();
        loop {
            let answer = {
                let _permit = self.permit().await;
                calls.list_queue_tags();
                clock.within(self.queues.tags(&to.queue)).await
            };
            let why = match answer {
                Some(Ok(tags)) => return Ok(told(&tags, to, &self.scope.bus)),
                Some(Err(Fault::Absent)) => return Ok(Registration::Absent),
                Some(Err(Fault::Denied | Fault::Refused | Fault::TooLong)) => return Ok(Registration::Denied),
                Some(Err(Fault::Again(why))) => why,
                None => GiveBack::OutOfTime,
            };
            if !backoff.again(clock).await {
                return Err(why);
            }
        }
    }
}

fn told(tags: &Tags, to: &Destination, bus: &BusName) -> Registration {
    let ours = match &to.cluster {
        Some(cluster) => tags.cluster_of(bus).as_ref() == Some(cluster),
        None => tags.belong_to(bus),
    };
    if ours {
        Registration::Ours
    } else {
        Registration::NotOurs
    }
}
