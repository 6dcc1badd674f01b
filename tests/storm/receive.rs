//! Receives the messages of the clusters' queues.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use kibus::model::router_function::is_self_test_message;
use serde_json::Value;

use super::test_bus::TestBus;
use super::workload::Workload;

const AT_ONCE: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Received {
    /// By event number: how often it arrived in each queue.
    pub events: BTreeMap<usize, BTreeMap<String, u32>>,
    pub unexpected: Vec<String>,
}

/// Receives from queues and counts the progress.
pub(super) struct Receiver<'a> {
    bus: &'a TestBus,
    workload: Arc<Workload>,
    arrived: Mutex<Received>,
    sent: AtomicUsize,
    waiting: AtomicUsize,
}

impl<'a> Receiver<'a> {
    pub(super) fn new(bus: &'a TestBus, workload: &Arc<Workload>) -> Self {
        Self {
            bus,
            workload: Arc::clone(workload),
            arrived: Mutex::default(),
            sent: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
        }
    }

    pub(super) fn note_sent(&self, events: usize) {
        self.sent.fetch_add(events, Ordering::Relaxed);
        // Until the hub queue's count is read again.
        self.waiting.fetch_add(events, Ordering::Relaxed);
    }

    pub(super) fn note_waiting(&self, messages: usize) {
        self.waiting.store(messages, Ordering::Relaxed);
    }

    pub(super) fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(super) async fn collect(&self, queues: &BTreeSet<String>) {
        stream::iter(queues).for_each_concurrent(AT_ONCE, |queue| self.empty(queue)).await;
    }

    /// Receives everything in a queue. The deleted queue may be missing.
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

    /// Receives everything in every queue, including those that must stay empty.
    pub(super) async fn sweep(&self, workload: &Workload) {
        let doomed = workload.doomed_queue();
        let mut queues: BTreeSet<String> = (0..workload.clusters).map(|cluster| workload.queue(cluster)).collect();
        queues.remove(&doomed);
        queues.extend([workload.foreign_queue(), Workload::PROBE_QUEUE.to_owned()]);
        self.collect(&queues).await;
    }

    pub(super) fn end(&self) -> Received {
        std::mem::take(&mut self.arrived.lock().unwrap())
    }

    fn note(&self, queue: &str, body: &str) {
        let event: Value = serde_json::from_str(body).unwrap_or_default();
        let mut arrived = self.arrived.lock().unwrap();
        match Workload::number(&event) {
            Some(number) if number < self.workload.events && self.workload.is_copy(number, queue, &event) => {
                *arrived.events.entry(number).or_default().entry(queue.to_owned()).or_default() += 1;
            }
            // The self-test of the router, before it went live.
            _ if queue == Workload::PROBE_QUEUE && is_self_test_message(&event) => {}
            _ => arrived.unexpected.push(format!("{queue} received {body}")),
        }
    }
}
