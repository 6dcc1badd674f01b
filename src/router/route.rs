//! The whole way of a batch of messages, from bytes to verdicts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::clock::Clock;
use super::decode::{Event, Repair, Subject, decode};
use super::deliver::{Copy, Destination, Told, deliver};
use super::instance::InstanceId;
use super::locate::{Found, insist, locate};
use super::owner::Owner;
use super::services::{InstanceTags, Queues};
use super::verdict::{Drop, GiveBack, Verdict};
use super::{Calls, Router};
use crate::model::name::ClusterName;
use crate::model::signal::Signal;

/// A message as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id, by which it is given back.
    pub id: String,
    /// By which SQS knows this receive of it; empty if it came from no queue.
    pub receipt: String,
    /// One EventBridge event.
    pub body: String,
    /// How often it has been received, this time included.
    pub receives: u32,
    /// When the queue took it, in milliseconds of the Unix epoch.
    pub arrived: i64,
}

/// One thing that arrived, and its end: a message, or one entity of a message that names several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Which of the messages it came in.
    pub message: usize,
    /// The kind of the event, if it could be told.
    pub signal: Option<Signal>,
    /// The instance, if there is one.
    pub instance: Option<InstanceId>,
    /// The cluster, if it was found.
    pub cluster: Option<ClusterName>,
    /// Its end.
    pub verdict: Verdict,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Everything that arrived: at least one for every message.
    pub items: Vec<Item>,
    /// How many copies were put into queues.
    pub copies: usize,
    /// From the time that a delivered event names to its delivery, in milliseconds.
    pub delays: Vec<i64>,
    /// What was put right in events.
    pub repairs: Vec<Repair>,
}

impl Outcome {
    /// Which messages go back, whole: one that is partly delivered is delivered again, which Karpenter does not mind.
    #[must_use]
    pub fn given_back(&self) -> HashSet<usize> {
        self.items
            .iter()
            .filter(|item| matches!(item.verdict, Verdict::GivenBack(_)))
            .map(|item| item.message)
            .collect()
    }
}

/// Routes a batch of messages. `now` is the time in milliseconds of the Unix epoch.
pub async fn route<T: InstanceTags, Q: Queues, C: Clock>(
    router: &Arc<Router<T, Q>>,
    clock: &Arc<C>,
    messages: &[Message],
    now: i64,
) -> Outcome {
    route_counted(router, &Arc::default(), clock, messages, now).await
}

pub(super) async fn route_counted<T: InstanceTags, Q: Queues, C: Clock>(
    router: &Arc<Router<T, Q>>,
    calls: &Arc<Calls>,
    clock: &Arc<C>,
    messages: &[Message],
    now: i64,
) -> Outcome {
    let start = clock.now();
    let mut work = Work::read(router, messages);
    let (found, unanswered) = locate(router, calls, clock, work.instances()).await;
    let copies = work.settle(&found);
    // Whom a slow EC2 does not concern does not wait for it.
    let (told, told_late) = tokio::join!(deliver(router, calls, clock, copies), async {
        if unanswered.is_empty() {
            return Vec::new();
        }
        let found = insist(router, calls, clock, unanswered).await;
        let copies = work.settle(&found);
        deliver(router, calls, clock, copies).await
    });
    work.finish(told.into_iter().chain(told_late), start, now)
}

/// What is in the works: the events, and the items that they are made of.
struct Work<'a, T, Q> {
    router: &'a Router<T, Q>,
    messages: &'a [Message],
    events: Vec<Option<Event<'a>>>,
    items: Vec<Open>,
    /// Of each copy, the items that are in it.
    copies: Vec<Vec<usize>>,
}

/// An item that may not have its verdict yet.
struct Open {
    item: Item,
    /// Where in its event it stands.
    place: usize,
    settled: bool,
}

impl<'a, T, Q> Work<'a, T, Q> {
    fn read(router: &'a Router<T, Q>, messages: &'a [Message]) -> Self {
        let mut work = Self {
            router,
            messages,
            events: Vec::with_capacity(messages.len()),
            items: Vec::with_capacity(messages.len()),
            copies: Vec::new(),
        };
        for (number, message) in messages.iter().enumerate() {
            match guarded(|| decode(&message.body, message.arrived, &router.scope)) {
                Ok(Ok(event)) => {
                    work.open_event(number, &event);
                    work.events.push(Some(event));
                }
                Ok(Err(drop)) => work.close(number, Verdict::Dropped(drop)),
                Err(panicked) => work.close(number, Verdict::GivenBack(panicked)),
            }
        }
        work
    }

    fn open_event(&mut self, message: usize, event: &Event<'_>) {
        let mut open = |place, instance, cluster, verdict: Option<Verdict>| {
            self.items.push(Open {
                item: Item {
                    message,
                    signal: Some(event.signal),
                    instance,
                    cluster,
                    verdict: verdict.unwrap_or(Verdict::GivenBack(GiveBack::OutOfTime)),
                },
                place,
                settled: verdict.is_some(),
            });
        };
        match &event.subject {
            Subject::Probe(cluster) => open(0, None, cluster.clone(), None),
            Subject::Instances(instances) => {
                for (place, instance) in instances.iter().enumerate() {
                    match instance {
                        Ok(id) => open(place, Some(id.clone()), None, None),
                        Err(drop) => open(place, None, None, Some(Verdict::Dropped(*drop))),
                    }
                }
            }
        }
    }

    /// A message that has its verdict without more ado.
    fn close(&mut self, message: usize, verdict: Verdict) {
        self.events.push(None);
        self.items.push(Open {
            item: Item {
                message,
                signal: None,
                instance: None,
                cluster: None,
                verdict,
            },
            place: 0,
            settled: true,
        });
    }

    fn instances(&self) -> HashSet<InstanceId> {
        self.items
            .iter()
            .filter(|open| !open.settled)
            .filter_map(|open| open.item.instance.clone())
            .collect()
    }

    /// Gives their verdict to the items that are delivered to nobody, and makes the copies of the others. Items
    /// that nothing was found out about stay open.
    fn settle(&mut self, found: &Found) -> BTreeMap<Destination, Vec<Copy>> {
        let mut bound: BTreeMap<(usize, Destination), Vec<usize>> = BTreeMap::new();
        for (number, open) in self.items.iter_mut().enumerate().filter(|(_, open)| !open.settled) {
            let receives = self.messages[open.item.message].receives;
            let verdict = match &open.item.instance {
                None => Ok(open.item.cluster.clone()),
                Some(id) => match found.get(id) {
                    None => continue,
                    Some(Ok(Owner::Cluster(cluster))) => Ok(Some(cluster.clone())),
                    Some(Ok(Owner::Foreign(drop))) => Err(Verdict::Dropped(*drop)),
                    Some(Ok(Owner::NoTags)) => Err(no_tags(open.item.signal, receives)),
                    Some(Err(why)) => Err(Verdict::GivenBack(*why)),
                },
            };
            open.settled = true;
            match verdict {
                Err(verdict) => open.item.verdict = verdict,
                Ok(cluster) => {
                    open.item.cluster.clone_from(&cluster);
                    match self.router.destination(cluster) {
                        None => open.item.verdict = Verdict::Dropped(Drop::QueueNotOurs),
                        Some(to) => bound.entry((open.item.message, to)).or_default().push(number),
                    }
                }
            }
        }
        let mut copies: BTreeMap<Destination, Vec<Copy>> = BTreeMap::new();
        for ((message, to), items) in bound {
            let places: HashSet<usize> = items.iter().map(|item| self.items[*item].place).collect();
            let Some(event) = &self.events[message] else { continue };
            match guarded(|| event.copy_of(&places).into_owned()) {
                Ok(body) => {
                    let number = self.copies.len();
                    self.copies.push(items);
                    copies.entry(to).or_default().push(Copy { number, body });
                }
                Err(panicked) => {
                    for item in items {
                        self.items[item].item.verdict = Verdict::GivenBack(panicked);
                    }
                }
            }
        }
        copies
    }

    fn finish(mut self, told: impl Iterator<Item = Told>, start: Instant, now: i64) -> Outcome {
        let mut outcome = Outcome::default();
        for Told { copy, verdict, at } in told {
            let Some(items) = self.copies.get(copy) else { continue };
            for item in items {
                self.items[*item].item.verdict = verdict;
            }
            if verdict != Verdict::Delivered {
                continue;
            }
            outcome.copies += 1;
            let time = items
                .first()
                .and_then(|item| self.events[self.items[*item].item.message].as_ref()?.time);
            if let Some(time) = time {
                let took = i64::try_from(at.saturating_duration_since(start).as_millis()).unwrap_or(i64::MAX);
                outcome
                    .delays
                    .push(now.saturating_add(took).saturating_sub(time).max(0));
            }
        }
        outcome.repairs = self
            .events
            .iter()
            .flatten()
            .flat_map(|event| event.repairs.iter().copied())
            .collect();
        outcome.items = self.items.into_iter().map(|open| open.item).collect();
        outcome
    }
}

impl<T, Q> Router<T, Q> {
    /// The queue of a cluster, or of the probes that name none. Nothing, if the prefix and the cluster's name
    /// make the name of a hub queue: the router would send to itself.
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
}

/// No tags are no proof that an instance is nobody's, so what is urgent is tried once more. An instance that has
/// stopped may have lost its tags, and is looked after without the message.
fn no_tags(signal: Option<Signal>, receives: u32) -> Verdict {
    match signal {
        Some(Signal::SpotInterruption | Signal::ScheduledChange | Signal::CapacityReservation) if receives <= 1 => {
            Verdict::GivenBack(GiveBack::NoTagsYet)
        }
        _ => Verdict::Dropped(Drop::NoTagsSeen),
    }
}

/// What a function gives, unless it panics: then only what it was about is given back.
fn guarded<R>(f: impl FnOnce() -> R) -> Result<R, GiveBack> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|_| GiveBack::Panicked)
}

/// How often each of these comes.
pub(super) fn counted<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) -> HashMap<K, u32> {
    keys.fold(HashMap::new(), |mut counts, key| {
        *counts.entry(key).or_default() += 1;
        counts
    })
}
