//! What goes wrong between the router and the services: when, and in which way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Harm {
    /// Nothing.
    None,
    /// The service had too many of them.
    Throttled,
    /// The service failed.
    Failed,
    /// The connection breaks before the service hears of the call.
    LostCall,
    /// The connection breaks after the service did what was asked.
    LostAnswer,
    /// One entry of the batch fails.
    FailedEntry,
    /// The caller may not do this.
    Denied,
}

/// What goes wrong, and a count of it.
pub(super) struct Faults {
    on: AtomicBool,
    calls: AtomicU64,
    /// The queues that the router may not send to.
    shut: [String; 2],
    doomed: String,
    /// Held by every send to the doomed queue; closed while that queue goes.
    gate: Arc<RwLock<()>>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    touched: Mutex<BTreeSet<String>>,
}

impl Faults {
    pub(super) fn new(shut: [String; 2], doomed: String) -> Self {
        Self {
            on: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            shut,
            doomed,
            gate: Arc::default(),
            counts: Mutex::default(),
            touched: Mutex::default(),
        }
    }

    pub(super) fn begin(&self) {
        self.on.store(true, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.on.store(false, Ordering::Relaxed);
    }

    /// Keeps every send to the doomed queue waiting for as long as what this gives is held.
    pub(super) async fn close(&self, queue: &str) -> OwnedRwLockWriteGuard<()> {
        assert_eq!(queue, self.doomed);
        Arc::clone(&self.gate).write_owned().await
    }

    /// Leave to send to a queue.
    pub(super) async fn enter(&self, queue: &str) -> Option<OwnedRwLockReadGuard<()>> {
        if queue == self.doomed {
            Some(Arc::clone(&self.gate).read_owned().await)
        } else {
            None
        }
    }

    /// Notes that a queue has been sent to.
    pub(super) fn touch(&self, queue: &str) {
        self.touched.lock().unwrap().insert(queue.to_owned());
    }

    /// The queues that have been sent to since the last time.
    pub(super) fn take_touched(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.touched.lock().unwrap())
    }

    /// What becomes of a call. The order of the calls decides, so about the same happens in every storm.
    pub(super) fn of(&self, action: &str, queue: &str) -> Harm {
        if !self.on.load(Ordering::Relaxed) {
            return Harm::None;
        }
        let dice = scatter(self.calls.fetch_add(1, Ordering::Relaxed)) % 100;
        let harm = match (action, dice) {
            // A policy does this, which the emulator does not look at.
            ("SendMessageBatch", _) if self.shut.iter().any(|shut| shut == queue) => Harm::Denied,
            ("DescribeTags", 0..12) => Harm::Throttled,
            ("DescribeTags", 12..15) | ("SendMessageBatch", 0..3) => Harm::LostCall,
            ("SendMessageBatch", 3..6) => Harm::LostAnswer,
            ("SendMessageBatch", 6..11) | ("ListQueueTags", 0..20) => Harm::Throttled,
            ("SendMessageBatch", 11..14) | ("ListQueueTags", 20..25) => Harm::Failed,
            ("SendMessageBatch", 14..24) => Harm::FailedEntry,
            _ => Harm::None,
        };
        let name = match (harm, action) {
            (Harm::None, _) => return harm,
            (Harm::Throttled, "DescribeTags") => "throttled tags",
            (Harm::Throttled, "SendMessageBatch") => "throttled sends",
            (Harm::Throttled, _) => "throttled questions about queues",
            (Harm::Failed, _) => "server errors",
            (Harm::LostCall, _) => "connections dropped before the call",
            (Harm::LostAnswer, _) => "connections dropped before the answer",
            (Harm::FailedEntry, _) => "failed entries",
            (Harm::Denied, _) => "denied sends",
        };
        *self.counts.lock().unwrap().entry(name).or_default() += 1;
        harm
    }

    /// How often anything went wrong.
    pub(super) fn count(&self) -> u64 {
        self.counts.lock().unwrap().values().sum()
    }

    /// How often each went wrong.
    pub(super) fn told(&self) -> BTreeMap<&'static str, u64> {
        self.counts.lock().unwrap().clone()
    }
}

/// Numbers one after the other to numbers in no order (the finaliser of splitmix64).
fn scatter(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
