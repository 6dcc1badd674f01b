//! A bus whose rules take effect late, with a clock that moves only by waits.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

use super::clock::Clock;
use crate::cloud::{Fault, Probe};
use crate::model::name::{FunctionName, QueueName};
use crate::model::router_batch::RouterDecision;
use crate::model::router_function::LiveTest;
use crate::model::status::{Depth, Look};

/// The long poll of a receive.
const POLL: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct LateCloud {
    now: Mutex<Duration>,
    /// Events that are put before this time are lost.
    effective: Duration,
    /// The time from the event bus to the probe queue.
    delay: Duration,
    /// When each event arrives.
    arriving: Mutex<Vec<Duration>>,
    /// The counts of every queue, one sample after the other.
    counts: Mutex<VecDeque<u64>>,
    /// How many of these messages are probes.
    probes: u64,
    /// When the queue was looked at.
    pub(super) looked: Mutex<Vec<u64>>,
    /// Why nobody may look at it.
    pub(super) denied: Option<Fault>,
}

impl LateCloud {
    /// Rules that take effect after some seconds, and a path that takes some seconds.
    pub(super) fn rules(effective: u64, delay: u64) -> Self {
        Self {
            effective: Duration::from_secs(effective),
            delay: Duration::from_secs(delay),
            ..Self::default()
        }
    }

    /// Queues with these counts of waiting messages, one sample after the other, and so many probes among them.
    pub(super) fn counts(counts: &[u64], probes: u64) -> Self {
        Self {
            counts: Mutex::new(counts.iter().copied().collect()),
            probes,
            ..Self::default()
        }
    }
}

impl Clock for LateCloud {
    fn elapsed(&self) -> Duration {
        *self.now.lock().unwrap()
    }

    async fn sleep(&self, time: Duration) {
        *self.now.lock().unwrap() += time;
    }
}

impl Probe for LateCloud {
    async fn put_event(&self, _: &Value) -> Result<(), Fault> {
        let now = self.elapsed();
        if now >= self.effective {
            self.arriving.lock().unwrap().push(now + self.delay);
        }
        Ok(())
    }

    async fn take_probe(&self, _: &QueueName, _: &str) -> Result<u32, Fault> {
        self.sleep(POLL).await;
        let now = self.elapsed();
        let mut arriving = self.arriving.lock().unwrap();
        let before = arriving.len();
        arriving.retain(|at| *at > now);
        Ok(u32::try_from(before - arriving.len()).unwrap())
    }

    async fn look(&self, _: &QueueName) -> Result<Look, Fault> {
        if let Some(fault) = &self.denied {
            return Err(fault.clone());
        }
        self.looked.lock().unwrap().push(self.elapsed().as_secs());
        Ok(Look((0..self.probes).map(|probe| (probe.to_string(), true)).collect()))
    }

    async fn route_probe(
        &self,
        _: &FunctionName,
        _: &str,
        _: &Value,
    ) -> Result<Result<Vec<RouterDecision>, String>, Fault> {
        Ok(Err("no function".to_owned()))
    }

    async fn self_test(&self, _: &FunctionName, _: &str) -> Result<Option<LiveTest>, Fault> {
        Ok(None)
    }

    async fn depth(&self, _: &QueueName) -> Result<Option<Depth>, Fault> {
        let waiting = self.counts.lock().unwrap().pop_front();
        Ok(waiting.map(|waiting| Depth { waiting, in_flight: 0 }))
    }
}
