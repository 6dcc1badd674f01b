//! A batch in the works: events, the items that they name, and the copies that are made for clusters.

use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::Router;
use super::decode::{Event, Subject, decode};
use super::deliver::{Copy, Destination, Told};
use super::instance::InstanceId;
use super::locate::Found;
use super::owner::Owner;
use super::route::{Delivery, Item, Message, Outcome};
use super::verdict::{Drop, GiveBack, Verdict};
use crate::model::name::ClusterName;
use crate::model::signal::Signal;

/// What is in the works: the events, and the items that they are made of.
pub(super) struct Work<'a, T, Q> {
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
    pub(super) fn read(router: &'a Router<T, Q>, messages: &'a [Message]) -> Self {
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

    pub(super) fn instances(&self) -> HashSet<InstanceId> {
        self.items
            .iter()
            .filter(|open| !open.settled)
            .filter_map(|open| open.item.instance.clone())
            .collect()
    }

    /// Gives their verdict to the items that are delivered to nobody, and makes the copies of the others. Items
    /// that nothing was found out about stay open.
    pub(super) fn settle(&mut self, found: &Found) -> BTreeMap<Destination, Vec<Copy>> {
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

    pub(super) fn finish(mut self, told: impl Iterator<Item = Told>, start: Instant, now: i64) -> Outcome {
        let mut outcome = Outcome::default();
        for Told { copy, verdict, at } in told {
            let Some(items) = self.copies.get(copy) else { continue };
            for item in items {
                self.items[*item].item.verdict = verdict;
            }
            if verdict != Verdict::Delivered {
                continue;
            }
            let Some(item) = items.first().map(|item| &self.items[*item].item) else {
                continue;
            };
            let time = self.events[item.message].as_ref().and_then(|event| event.time);
            let took = i64::try_from(at.saturating_duration_since(start).as_millis()).unwrap_or(i64::MAX);
            outcome.delivered.push(Delivery {
                cluster: item.cluster.clone(),
                delay: time.map(|time| now.saturating_add(took).saturating_sub(time).max(0)),
            });
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
    pub(super) fn destination(&self, cluster: Option<ClusterName>) -> Option<Destination> {
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

/// No tags are no proof that an instance is nobody's, so what is urgent is tried once more if it came from a queue. An instance that has
/// stopped may have lost its tags, and is looked after without the message.
fn no_tags(signal: Option<Signal>, receives: Option<u32>) -> Verdict {
    match signal {
        Some(Signal::SpotInterruption | Signal::ScheduledChange | Signal::CapacityReservation)
            if receives.is_some_and(|n| n <= 1) =>
        {
            Verdict::GivenBack(GiveBack::NoTagsYet)
        }
        _ => Verdict::Dropped(Drop::NoTagsSeen),
    }
}

/// What a function gives, unless it panics: then only what it was about is given back.
fn guarded<R>(f: impl FnOnce() -> R) -> Result<R, GiveBack> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|_| GiveBack::Panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_reason_to_give_back() {
        assert_eq!(guarded(|| 1), Ok(1));
        assert_eq!(guarded(|| -> u8 { panic!("in the middle") }), Err(GiveBack::Panicked));
    }
}
