//! The faults that are injected between the router and the services.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InjectedFault {
    None,
    Throttled,
    Failed,
    /// The connection breaks before the service receives the call.
    LostCall,
    /// The connection breaks after the service has handled the call.
    LostAnswer,
    FailedEntry,
    Denied,
}

/// Decides which calls fail, and counts them.
pub(super) struct FaultInjector {
    on: AtomicBool,
    calls: Mutex<BTreeMap<String, u64>>,
    shut: [String; 2],
    doomed: String,
    /// Every send to the doomed queue holds it; it is closed while the queue is deleted.
    gate: Arc<RwLock<()>>,
    counts: Mutex<BTreeMap<String, u64>>,
    /// While it is set, no call deletes messages.
    halted: AtomicBool,
    reached: Notify,
    touched: Mutex<BTreeSet<String>>,
}

impl FaultInjector {
    pub(super) fn new(shut: [String; 2], doomed: String) -> Self {
        Self {
            on: AtomicBool::new(false),
            calls: Mutex::default(),
            shut,
            doomed,
            gate: Arc::default(),
            counts: Mutex::default(),
            halted: AtomicBool::new(false),
            reached: Notify::new(),
            touched: Mutex::default(),
        }
    }

    pub(super) fn begin(&self) {
        self.on.store(true, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.on.store(false, Ordering::Relaxed);
    }

    /// Blocks every send to the doomed queue while the guard is held.
    pub(super) async fn close(&self, queue: &str) -> OwnedRwLockWriteGuard<()> {
        assert_eq!(queue, self.doomed);
        Arc::clone(&self.gate).write_owned().await
    }

    /// Waits until a message can be sent to a queue.
    pub(super) async fn enter(&self, queue: &str) -> Option<OwnedRwLockReadGuard<()>> {
        if queue == self.doomed { Some(Arc::clone(&self.gate).read_owned().await) } else { None }
    }

    pub(super) fn halt_deletes(&self, halted: bool) {
        self.halted.store(halted, Ordering::Relaxed);
    }

    pub(super) async fn halted(&self) {
        self.reached.notified().await;
    }

    /// Never returns for a call that is stopped, or for one to the topic, which always hangs.
    pub(super) async fn pass(&self, action: &str) {
        if action == "PublishBatch" {
            *self.counts.lock().unwrap().entry(format!("Hung {action}")).or_default() += 1;
            std::future::pending::<()>().await;
        }
        if action == "DeleteMessageBatch" && self.halted.load(Ordering::Relaxed) {
            self.reached.notify_one();
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn touch(&self, queue: &str) {
        self.touched.lock().unwrap().insert(queue.to_owned());
    }

    /// The queues that messages were sent to since the last call.
    pub(super) fn take_touched(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.touched.lock().unwrap())
    }

    /// The fault of a call. It depends on the number of earlier calls of the same action, so every storm has about the
    /// same faults, regardless of the order of its calls.
    pub(super) fn of(&self, action: &str, queue: &str) -> InjectedFault {
        if !self.on.load(Ordering::Relaxed) {
            return InjectedFault::None;
        }
        let number = {
            let mut calls = self.calls.lock().unwrap();
            let calls = calls.entry(action.to_owned()).or_default();
            *calls += 1;
            *calls
        };
        let dice = scatter(number) % 100;
        let fault = match (action, dice) {
            // On AWS a policy denies this; the emulator does not check policies.
            ("SendMessageBatch", _) if self.shut.iter().any(|shut| shut == queue) => InjectedFault::Denied,
            ("DescribeTags", 0..12) => InjectedFault::Throttled,
            ("DescribeTags", 12..15) | ("SendMessageBatch" | "ReceiveMessage", 0..3) => InjectedFault::LostCall,
            ("SendMessageBatch", 3..6) => InjectedFault::LostAnswer,
            ("SendMessageBatch" | "ReceiveMessage", 6..11) | ("ListQueueTags", 0..20) => InjectedFault::Throttled,
            ("SendMessageBatch" | "ReceiveMessage", 11..14) | ("ListQueueTags", 20..25) => InjectedFault::Failed,
            ("SendMessageBatch", 14..24) => InjectedFault::FailedEntry,
            _ => InjectedFault::None,
        };
        if fault != InjectedFault::None {
            *self.counts.lock().unwrap().entry(format!("{fault:?} {action}")).or_default() += 1;
        }
        fault
    }

    pub(super) fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.lock().unwrap().clone()
    }
}

/// Maps consecutive numbers to scattered numbers (the finalizer of splitmix64).
fn scatter(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
