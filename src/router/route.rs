//! A batch of messages, from bytes to decisions.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::batch::{EventFacts, Item, Message, Origin, RoutedBatch};
use super::clock::Clock;
use super::decision::{Decision, DropReason, RetryReason};
use super::decode::{DecodedEvent, EventSubject, decode};
use super::deliver::{Outgoing, SendResult, deliver};
use super::locate::{InstanceOwners, locate, retry};
use super::owner::{InstanceOwner, NO_INSTANCE, Placement};
use super::registry::Destination;
use super::services::Services;
use super::{InvocationContext, Router, locked};
use crate::model::{InstanceId, Scope, Signal};

pub(super) async fn route<S: Services, C: Clock>(
    context: &Arc<InvocationContext<S, C>>,
    messages: &[Message],
) -> RoutedBatch {
    let (start, start_millis) = (context.clock.now(), context.clock.unix_millis());
    let mut items = OpenItems::decode(&context.router.scope, messages);
    let (owners, unanswered) = locate(context, items.instances()).await;
    let outgoing = items.settle(&context.router, &owners);
    // Items with a known owner do not wait for a slow EC2.
    let (results, late_results) = tokio::join!(deliver(context, outgoing), async {
        if unanswered.is_empty() {
            return Vec::new();
        }
        let owners = retry(context, unanswered).await;
        let outgoing = items.settle(&context.router, &owners);
        deliver(context, outgoing).await
    });
    RoutedBatch {
        contradictions: std::mem::take(&mut locked(&context.contradictions)),
        ..items.finish(results.into_iter().chain(late_results), start, start_millis)
    }
}

/// The events of a batch and their items, while some items have no decision yet.
struct OpenItems<'a> {
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
    fn decode(scope: &Scope, messages: &'a [Message]) -> Self {
        let mut items = Self {
            messages,
            events: Vec::with_capacity(messages.len()),
            items: Vec::with_capacity(messages.len()),
            outgoing: Vec::new(),
        };
        for (number, message) in messages.iter().enumerate() {
            let event = match message.origin {
                Origin::OtherQueue => Err(Decision::Retried(RetryReason::OtherQueue)),
                Origin::HubQueue { .. } | Origin::Invocation => {
                    match guarded(|| decode(&message.body, message.arrived, scope)) {
                        Ok(decoded) => decoded.map_err(Decision::Dropped),
                        Err(panicked) => Err(Decision::Retried(panicked)),
                    }
                }
            };
            match &event {
                Ok(event) => items.add_event(number, event),
                Err(decision) => items.add_decided(number, None, *decision),
            }
            items.events.push(event.ok());
        }
        items
    }

    fn add_event(&mut self, message: usize, event: &DecodedEvent<'_>) {
        let (signal, from_queue) = (Some(event.signal), self.messages[message].receives.is_some());
        match &event.subject {
            // Anyone who can put events could name any number of clusters.
            EventSubject::Probe(Some(_)) if from_queue => {
                self.add_decided(message, signal, Decision::Dropped(DropReason::NotForKarpenter));
            }
            EventSubject::Probe(cluster) => {
                let cluster = cluster.clone().map(|name| Arc::new(Placement::of(name)));
                self.add_open(message, signal, 0, None, cluster);
            }
            EventSubject::Heartbeat => self.add_open(message, signal, 0, NO_INSTANCE.parse().ok(), None),
            EventSubject::TooManyEntities => {
                self.add_decided(message, signal, Decision::Retried(RetryReason::TooManyEntities));
            }
            EventSubject::Ambiguous => {
                self.add_decided(message, signal, Decision::Retried(RetryReason::AmbiguousEvent));
            }
            EventSubject::Instances(instances) => {
                for (place, instance) in instances.iter().enumerate() {
                    match instance {
                        Ok(id) => self.add_open(message, signal, place, Some(id.clone()), None),
                        Err(reason) => self.add_decided(message, signal, Decision::Dropped(*reason)),
                    }
                }
            }
        }
    }

    /// Adds an item that is decided before its cluster is known.
    fn add_decided(&mut self, message: usize, signal: Option<Signal>, decision: Decision) {
        self.add_open(message, signal, 0, None, None);
        if let Some(open) = self.items.last_mut() {
            (open.item.decision, open.settled) = (decision, true);
        }
    }

    fn add_open(
        &mut self,
        message: usize,
        signal: Option<Signal>,
        place: usize,
        instance: Option<InstanceId>,
        placement: Option<Arc<Placement>>,
    ) {
        self.items.push(OpenItem {
            item: Item {
                message,
                signal,
                instance,
                placement,
                // Placeholder until there is another decision.
                decision: Decision::Retried(RetryReason::OutOfTime),
                copy: None,
                delay: None,
            },
            place,
            settled: false,
        });
    }

    fn instances(&self) -> HashSet<InstanceId> {
        let open = self.items.iter().filter(|open| !open.settled);
        open.filter_map(|open| open.item.instance.clone()).collect()
    }

    /// Decides which items are not delivered, and creates the outgoing messages. Items whose instance has no answer stay undecided.
    fn settle<S>(&mut self, router: &Router<S>, owners: &InstanceOwners) -> BTreeMap<Destination, Vec<Outgoing>> {
        let mut bound: BTreeMap<(usize, Destination), Vec<usize>> = BTreeMap::new();
        for (number, open) in self.items.iter_mut().enumerate().filter(|(_, open)| !open.settled) {
            let item = &mut open.item;
            let event = self.events[item.message].as_ref();
            let is_heartbeat = event.is_some_and(|event| event.subject == EventSubject::Heartbeat);
            let placement = match &item.instance {
                None => Ok(item.placement.take()),
                Some(id) => match owners.get(id) {
                    None => continue,
                    // EC2 answered.
                    Some(Ok(_)) if is_heartbeat => Ok(None),
                    Some(Ok(InstanceOwner::Cluster(placement))) => Ok(Some(Arc::clone(placement))),
                    Some(Ok(InstanceOwner::Foreign(reason))) => Err(Decision::Dropped(*reason)),
                    Some(Ok(InstanceOwner::NoTags)) => {
                        let dropped = Decision::Dropped(DropReason::NoTagsSeen);
                        Err(at_receive(self.messages[item.message].receives, item.signal, dropped))
                    }
                    Some(Err(why)) => Err(Decision::Retried(*why)),
                },
            };
            open.settled = true;
            match placement {
                Err(decision) => item.decision = decision,
                Ok(placement) => {
                    item.placement = placement;
                    match router.destination(item.cluster().cloned()) {
                        None => item.decision = Decision::Dropped(DropReason::QueueNotOurs),
                        Some(to) => bound.entry((item.message, to)).or_default().push(number),
                    }
                }
            }
        }
        self.outgoing(bound)
    }

    /// Creates one message for the items of a message that go to the same destination.
    fn outgoing(&mut self, bound: BTreeMap<(usize, Destination), Vec<usize>>) -> BTreeMap<Destination, Vec<Outgoing>> {
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

    /// Applies the results of sending to the items. The batch began at `start`, which is `start_millis` in milliseconds of the Unix epoch.
    fn finish(mut self, results: impl Iterator<Item = SendResult>, start: Instant, start_millis: i64) -> RoutedBatch {
        for SendResult { number, decision, at } in results {
            let took = i64::try_from(at.saturating_duration_since(start).as_millis()).unwrap_or(i64::MAX);
            let now = start_millis.saturating_add(took);
            for item in self.outgoing.get(number).into_iter().flatten() {
                let item = &mut self.items[*item].item;
                item.decision = at_receive(self.messages[item.message].receives, item.signal, decision);
                if decision == Decision::Delivered {
                    item.copy = Some(number);
                    let time = self.events[item.message].as_ref().and_then(|event| event.time);
                    item.delay = time.map(|time| now.saturating_sub(time).max(0));
                }
            }
        }
        let facts = |event: &DecodedEvent<'_>| EventFacts {
            time: event.time,
            state: event.state,
            is_heartbeat: event.subject == EventSubject::Heartbeat,
        };
        let facts = |event: &Option<_>| event.as_ref().map(facts).unwrap_or_default();
        RoutedBatch {
            repairs: self.events.iter().flatten().map(|event| event.repairs).sum(),
            events: self.events.iter().map(facts).collect(),
            items: self.items.into_iter().map(|open| open.item).collect(),
            contradictions: BTreeSet::new(),
        }
    }
}

/// The decision at this receive. AWS may show something seconds later, so an urgent event from a queue is retried once
/// before the drop: a new instance may lack its tags (T5), and a connection may not see a new queue or its tags (S3,
/// S15). A stopped instance may have lost its tags, but Karpenter finds it without the message.
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

/// Runs a function that may panic, so that a panic affects only one message.
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
