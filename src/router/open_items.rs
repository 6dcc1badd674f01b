//! The items of a batch while some of them have no decision yet, and the outgoing messages made of them.

use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::Router;
use super::batch::{Delivery, Item, Message, Origin, RoutedBatch};
use super::decision::{Decision, DropReason, RetryReason};
use super::decode::{DecodedEvent, EventSubject, decode};
use super::deliver::{Outgoing, SendResult};
use super::event_text::EventText;
use super::instance::InstanceId;
use super::locate::InstanceOwners;
use super::owner::InstanceOwner;
use super::registry::Destination;
use crate::model::scope::Scope;
use crate::model::signal::Signal;

/// The events of a batch and their items.
pub(super) struct OpenItems<'a> {
    messages: &'a [Message],
    events: Vec<Option<DecodedEvent<'a>>>,
    items: Vec<OpenItem>,
    /// The items in each outgoing message.
    outgoing: Vec<Vec<usize>>,
}

/// An item that may not have its decision yet.
struct OpenItem {
    item: Item,
    /// Its place in its event.
    place: usize,
    settled: bool,
}

impl<'a> OpenItems<'a> {
    /// Decodes messages, each of which has its text at the same place.
    pub(super) fn decode(
        scope: &Scope,
        messages: &'a [Message],
        texts: &'a [Result<EventText<'_>, RetryReason>],
    ) -> Self {
        let mut items = Self {
            messages,
            events: Vec::with_capacity(messages.len()),
            items: Vec::with_capacity(messages.len()),
            outgoing: Vec::new(),
        };
        for (number, (message, text)) in messages.iter().zip(texts).enumerate() {
            let decoded = text.as_ref().map_err(|why| *why);
            match decoded.and_then(|text| guarded(|| decode(text, message.arrived, scope))) {
                Ok(Ok(event)) => {
                    items.open_event(number, &event);
                    items.events.push(Some(event));
                }
                Ok(Err(reason)) => items.close(number, Decision::Dropped(reason)),
                Err(why) => items.close(number, Decision::Retried(why)),
            }
        }
        items
    }

    fn open_event(&mut self, message: usize, event: &DecodedEvent<'_>) {
        let from_queue = self.messages[message].receives.is_some();
        let mut open = |place, instance, cluster, decision: Option<Decision>| {
            self.items.push(OpenItem {
                item: Item {
                    message,
                    signal: Some(event.signal),
                    instance,
                    cluster,
                    decision: decision.unwrap_or(Decision::Retried(RetryReason::OutOfTime)),
                },
                place,
                settled: decision.is_some(),
            });
        };
        match &event.subject {
            // Whoever may put events could name clusters without end: the rule of probes knows the key in one case only.
            EventSubject::Probe(Some(_)) if from_queue => {
                open(0, None, None, Some(Decision::Dropped(DropReason::NotForKarpenter)));
            }
            EventSubject::Probe(cluster) => open(0, None, cluster.clone(), None),
            EventSubject::TooManyEntities => {
                open(0, None, None, Some(Decision::Retried(RetryReason::TooManyEntities)));
            }
            EventSubject::Instances(instances) => {
                for (place, instance) in instances.iter().enumerate() {
                    match instance {
                        Ok(id) => open(place, Some(id.clone()), None, None),
                        Err(reason) => open(place, None, None, Some(Decision::Dropped(*reason))),
                    }
                }
            }
        }
    }

    /// Adds a message that is decided before anything else in it is known.
    fn close(&mut self, message: usize, decision: Decision) {
        self.events.push(None);
        self.items.push(OpenItem {
            item: Item {
                message,
                signal: None,
                instance: None,
                cluster: None,
                decision,
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

    /// Decides about the items that are not delivered, and makes the outgoing messages of the others. Items whose
    /// instance has no answer stay open.
    pub(super) fn settle<T, Q>(
        &mut self,
        router: &Router<T, Q>,
        owners: &InstanceOwners,
    ) -> BTreeMap<Destination, Vec<Outgoing>> {
        let mut bound: BTreeMap<(usize, Destination), Vec<usize>> = BTreeMap::new();
        for (number, open) in self.items.iter_mut().enumerate().filter(|(_, open)| !open.settled) {
            let receives = self.messages[open.item.message].receives;
            let cluster = match &open.item.instance {
                None => Ok(open.item.cluster.clone()),
                Some(id) => match owners.get(id) {
                    None => continue,
                    Some(Ok(InstanceOwner::Cluster(cluster))) => Ok(Some(cluster.clone())),
                    Some(Ok(InstanceOwner::Foreign(reason))) => Err(Decision::Dropped(*reason)),
                    Some(Ok(InstanceOwner::NoTags)) => {
                        let dropped = Decision::Dropped(DropReason::NoTagsSeen);
                        Err(at_receive(receives, open.item.signal, dropped))
                    }
                    Some(Err(why)) => Err(Decision::Retried(*why)),
                },
            };
            open.settled = true;
            match cluster {
                Err(decision) => open.item.decision = decision,
                Ok(cluster) => {
                    open.item.cluster.clone_from(&cluster);
                    match router.destination(cluster) {
                        None => open.item.decision = Decision::Dropped(DropReason::QueueNotOurs),
                        Some(to) => bound.entry((open.item.message, to)).or_default().push(number),
                    }
                }
            }
        }
        let mut outgoing: BTreeMap<Destination, Vec<Outgoing>> = BTreeMap::new();
        for ((message, to), items) in bound {
            let places: HashSet<usize> = items.iter().map(|item| self.items[*item].place).collect();
            let Some(event) = &self.events[message] else { continue };
            match guarded(|| event.copy_of(&places).into_owned()) {
                Ok(body) => {
                    let number = self.outgoing.len();
                    self.outgoing.push(items);
                    outgoing.entry(to).or_default().push(Outgoing { number, body });
                }
                Err(panicked) => {
                    for item in items {
                        self.items[item].item.decision = Decision::Retried(panicked);
                    }
                }
            }
        }
        outgoing
    }

    /// Puts the results of sending on the items. The batch began at `start`, which is `start_millis` in
    /// milliseconds of the Unix epoch.
    pub(super) fn finish(
        mut self,
        results: impl Iterator<Item = SendResult>,
        start: Instant,
        start_millis: i64,
    ) -> RoutedBatch {
        let mut batch = RoutedBatch::default();
        for SendResult { number, decision, at } in results {
            let Some(items) = self.outgoing.get(number) else {
                continue;
            };
            for item in items {
                let item = &mut self.items[*item].item;
                item.decision = at_receive(self.messages[item.message].receives, item.signal, decision);
            }
            if decision != Decision::Delivered {
                continue;
            }
            let Some(item) = items.first().map(|item| &self.items[*item].item) else {
                continue;
            };
            let time = self.events[item.message].as_ref().and_then(|event| event.time);
            let took = i64::try_from(at.saturating_duration_since(start).as_millis()).unwrap_or(i64::MAX);
            batch.delivered.push(Delivery {
                cluster: item.cluster.clone(),
                delay: time.map(|time| start_millis.saturating_add(took).saturating_sub(time).max(0)),
            });
        }
        batch.repairs = self
            .events
            .iter()
            .flatten()
            .flat_map(|event| event.repairs.iter().copied())
            .collect();
        batch.items = self.items.into_iter().map(|open| open.item).collect();
        batch
    }
}

/// The texts of messages, for [`OpenItems::decode`].
pub(super) fn texts(messages: &[Message]) -> Vec<Result<EventText<'_>, RetryReason>> {
    let texts = messages.iter().map(|message| match message.origin {
        Origin::OtherQueue => Err(RetryReason::OtherQueue),
        Origin::HubQueue { .. } | Origin::Invocation => guarded(|| EventText::read(&message.body)),
    });
    texts.collect()
}

/// The decision at this receive. What AWS does not show at once, it may show seconds later, so an urgent event from a
/// queue is retried once before the drop: a new instance may lack its tags (T5), and a connection may not see a new queue
/// or its tags (S3, S15). An instance that has stopped may have lost its tags, and Karpenter finds it without the message.
fn at_receive(receives: Option<u32>, signal: Option<Signal>, decision: Decision) -> Decision {
    let is_first = receives.is_some_and(|n| n <= 1);
    match decision {
        Decision::Dropped(dropped) if is_first && signal.is_some_and(Signal::is_urgent) => {
            dropped.retried_once().map_or(decision, Decision::Retried)
        }
        decision => decision,
    }
}

#[cfg(not(panic = "unwind"))]
compile_error!("the router catches the panic of one message, so a panic must not abort its process");

/// Runs a function that may panic, so that a panic harms one message only.
fn guarded<R>(f: impl FnOnce() -> R) -> Result<R, RetryReason> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|_| RetryReason::Panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_reason_to_retry() {
        assert_eq!(guarded(|| 1), Ok(1));
        assert_eq!(guarded(|| -> u8 { panic!("on purpose") }), Err(RetryReason::Panicked));
    }
}
