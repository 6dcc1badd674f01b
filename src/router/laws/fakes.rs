//! A clock, an EC2 and an SQS with scripted answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::hub_queue::FakeHub;
use crate::model::name::QueueName;
use crate::model::tags::Tags;
use crate::router::batch::Message;
use crate::router::call_counts::CallCounts;
use crate::router::clock::Clock;
use crate::router::instance::InstanceId;
use crate::router::services::{CallFailure, InstanceTags, Queues};

/// A clock that moves only with waits and calls.
pub(super) struct FakeClock {
    start: Instant,
    spent: AtomicU64,
    budget: u64,
}

impl FakeClock {
    pub(super) fn with(budget: u64) -> Self {
        Self::at(Instant::now(), budget)
    }

    pub(super) fn at(start: Instant, budget: u64) -> Self {
        Self {
            start,
            spent: AtomicU64::new(0),
            budget,
        }
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Instant {
        self.start + Duration::from_millis(self.spent.load(Ordering::Relaxed))
    }

    fn unix_millis(&self) -> i64 {
        i64::try_from(self.spent.load(Ordering::Relaxed)).unwrap()
    }

    fn left(&self) -> Duration {
        Duration::from_millis(self.budget.saturating_sub(self.spent.load(Ordering::Relaxed)))
    }

    async fn sleep(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap();
        self.spent.fetch_add(millis.max(1), Ordering::Relaxed);
        tokio::task::yield_now().await;
    }

    async fn within<F: Future<Output: Send> + Send>(&self, future: F) -> Option<F::Output> {
        if self.left().is_zero() {
            return None;
        }
        self.spent.fetch_add(1, Ordering::Relaxed);
        Some(future.await)
    }
}

/// The answers of a service to one call after the other, repeated.
#[derive(Debug)]
pub(super) struct Script<A> {
    pub(super) answers: Vec<A>,
    /// How many calls there were.
    pub(super) next: AtomicUsize,
}

impl<A: Clone> Script<A> {
    pub(super) fn new(answers: Vec<A>) -> Self {
        Self {
            answers,
            next: AtomicUsize::new(0),
        }
    }

    pub(super) fn next(&self) -> A {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.answers[number % self.answers.len()].clone()
    }
}

#[derive(Clone, Debug)]
pub(super) enum TagAnswer {
    True,
    CallFailure(CallFailure),
    Panic,
}

#[derive(Clone, Debug)]
pub(super) enum SendAnswer {
    /// The answers to the entries, repeated.
    Entries(Vec<Result<(), CallFailure>>),
    /// Fewer answers than entries.
    Short,
    CallFailure(CallFailure),
    Panic,
}

/// The current number of concurrent calls, and the highest so far.
#[derive(Debug, Default)]
pub(super) struct Load {
    now: AtomicUsize,
    pub(super) most: AtomicUsize,
}

impl Load {
    async fn call(&self) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        let _open = OpenCall(self);
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
    }
}

/// A call that ends with its answer, or when nobody waits for it any more.
struct OpenCall<'a>(&'a Load);

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) struct FakeEc2 {
    pub(super) truth: HashMap<InstanceId, Tags>,
    pub(super) script: Script<TagAnswer>,
    pub(super) load: Arc<Load>,
    pub(super) largest: AtomicUsize,
}

impl InstanceTags for FakeEc2 {
    async fn tags_of(&self, ids: &[InstanceId], calls: &CallCounts) -> Result<HashMap<InstanceId, Tags>, CallFailure> {
        calls.count_describe_tags();
        self.load.call().await;
        self.largest.fetch_max(ids.len(), Ordering::Relaxed);
        match self.script.next() {
            TagAnswer::CallFailure(fault) => Err(fault),
            TagAnswer::Panic => panic!("a call to EC2"),
            TagAnswer::True => Ok(ids
                .iter()
                .filter_map(|id| Some((id.clone(), self.truth.get(id)?.clone())))
                .collect()),
        }
    }
}

pub(super) struct FakeQueues {
    pub(super) sends: Script<SendAnswer>,
    pub(super) tags: Script<Result<Tags, CallFailure>>,
    pub(super) taken: Mutex<BTreeMap<QueueName, Vec<String>>>,
    /// The queue of each call that sends.
    pub(super) asked: Mutex<Vec<String>>,
    pub(super) load: Arc<Load>,
    pub(super) largest: AtomicUsize,
    pub(super) hub: FakeHub,
}

impl Queues for FakeQueues {
    async fn send(&self, queue: &QueueName, bodies: &[&str]) -> Result<Vec<Result<(), CallFailure>>, CallFailure> {
        self.asked.lock().unwrap().push(queue.to_string());
        self.load.call().await;
        self.largest.fetch_max(bodies.len(), Ordering::Relaxed);
        let answers: Vec<_> = match self.sends.next() {
            SendAnswer::CallFailure(fault) => return Err(fault),
            SendAnswer::Panic => panic!("a call to SQS"),
            SendAnswer::Short => vec![Ok(()); bodies.len() - 1],
            SendAnswer::Entries(answers) => answers.into_iter().cycle().take(bodies.len()).collect(),
        };
        let mut taken = self.taken.lock().unwrap();
        for (body, answer) in bodies.iter().zip(&answers) {
            if answer.is_ok() {
                taken.entry(queue.clone()).or_default().push((*body).to_owned());
            }
        }
        Ok(answers)
    }

    async fn tags(&self, _: &QueueName) -> Result<Tags, CallFailure> {
        self.load.call().await;
        self.tags.next()
    }

    async fn receive(&self, _: &QueueName, _: u32) -> Result<Vec<Message>, CallFailure> {
        self.load.call().await;
        self.hub.receive()
    }

    async fn delete(&self, _: &QueueName, receipts: &[&str]) -> Result<usize, CallFailure> {
        self.load.call().await;
        self.largest.fetch_max(receipts.len(), Ordering::Relaxed);
        self.hub.delete(receipts)
    }

    async fn hide(&self, _: &QueueName, receipts: &[(&str, u32)]) -> Result<(), CallFailure> {
        self.largest.fetch_max(receipts.len(), Ordering::Relaxed);
        self.hub.hide(receipts);
        Ok(())
    }
}
