//! What arrives in the clusters' queues.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use serde_json::Value;

use super::bus::Bus;
use super::traffic::Plan;

/// How many queues are read at the same time.
const AT_ONCE: usize = 4;

/// What arrived.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    /// How often each event arrived in each queue, by its number.
    pub events: BTreeMap<usize, BTreeMap<String, u32>>,
    /// What nobody sent.
    pub strange: Vec<String>,
}

/// Reads queues, and knows how far things are.
pub(super) struct Collector<'a> {
    bus: &'a Bus,
    plan: Arc<Plan>,
    arrived: Mutex<Arrived>,
    sent: AtomicUsize,
    waiting: AtomicUsize,
}

impl<'a> Collector<'a> {
    pub(super) fn new(bus: &'a Bus, plan: &Arc<Plan>) -> Self {
        Self {
            bus,
            plan: Arc::clone(plan),
            arrived: Mutex::default(),
            sent: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
        }
    }

    pub(super) fn note_sent(&self, events: usize) {
        self.sent.fetch_add(events, Ordering::Relaxed);
        // Until the hub queue is asked again.
        self.waiting.fetch_add(events, Ordering::Relaxed);
    }

    pub(super) fn note_waiting(&self, messages: usize) {
        self.waiting.store(messages, Ordering::Relaxed);
    }

    /// How many events have been sent.
    pub(super) fn handed_over(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// How many messages the hub queue holds.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How many events have arrived anywhere.
    pub(super) fn arrived(&self) -> usize {
        self.arrived.lock().unwrap().events.len()
    }

    /// Takes what is in these queues.
    pub(super) async fn collect(&self, queues: &BTreeSet<String>) {
        stream::iter(queues)
            .for_each_concurrent(AT_ONCE, |queue| self.empty(queue))
            .await;
    }

    /// Takes everything that is in a queue. The doomed one may be gone.
    pub(super) async fn empty(&self, queue: &str) {
        loop {
            let bodies = self.bus.take(queue).await;
            if bodies.is_empty() {
                return;
            }
            for body in bodies {
                self.note(queue, &body);
            }
        }
    }

    /// Takes everything that is in any queue, of clusters and of others, to see what should not be there.
    pub(super) async fn sweep(&self, plan: &Plan) {
        let doomed = plan.doomed_queue();
        let mut queues: BTreeSet<String> = (0..plan.clusters).map(|cluster| plan.queue(cluster)).collect();
        queues.remove(&doomed);
        queues.extend([plan.foreign_queue(), "kibus-probe".to_owned()]);
        self.collect(&queues).await;
    }

    /// Everything that arrived.
    pub(super) fn end(&self) -> Arrived {
        std::mem::take(&mut self.arrived.lock().unwrap())
    }

    fn note(&self, queue: &str, body: &str) {
        let event: Value = serde_json::from_str(body).unwrap_or_default();
        let mut arrived = self.arrived.lock().unwrap();
        match Plan::number(&event) {
            Some(number) if number < self.plan.events && self.plan.is_copy(number, queue, &event) => {
                *arrived
                    .events
                    .entry(number)
                    .or_default()
                    .entry(queue.to_owned())
                    .or_default() += 1;
            }
            _ => arrived.strange.push(format!("{queue} got {body}")),
        }
    }
}
