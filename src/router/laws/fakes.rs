//! A clock, an EC2 and an SQS with scripted answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::hub_queue::FakeHub;
use crate::model::{InstanceId, QueueName, Tags};
use crate::router::batch::Message;
use crate::router::clock::Clock;
use crate::router::report::CallCounts;
use crate::router::services::{CallError, CallFailure, Services};
use crate::wire::sns::Notice;

/// A clock that moves only during waits and calls.
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
        Self { start, spent: AtomicU64::new(0), budget }
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

/// The answers of a service to successive calls, repeated.
#[derive(Debug)]
pub(super) struct Script<A> {
    pub(super) answers: Vec<A>,
    /// The number of calls.
    pub(super) next: AtomicUsize,
}

impl<A: Clone> Script<A> {
    pub(super) fn new(answers: Vec<A>) -> Self {
        Self { answers, next: AtomicUsize::new(0) }
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

/// A call that ends with its answer, or when it is no longer awaited.
struct OpenCall<'a>(&'a Load);

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) struct FakeEc2 {
    pub(super) truth: HashMap<InstanceId, Tags>,
    pub(super) script: Script<TagAnswer>,
    pub(super) largest: AtomicUsize,
}

/// SQS with its queues, of which one is the hub's.
pub(super) struct FakeQueues {
    pub(super) sends: Script<SendAnswer>,
    pub(super) tags: Script<Result<Tags, CallFailure>>,
    pub(super) taken: Mutex<BTreeMap<QueueName, Vec<String>>>,
    /// The queue of each call that sends.
    pub(super) asked: Mutex<Vec<String>>,
    pub(super) largest: AtomicUsize,
    pub(super) hub: FakeHub,
}

pub(super) struct FakeTopic {
    /// Nothing for a call that hangs.
    pub(super) answers: Script<Option<Result<(), String>>>,
    pub(super) published: Mutex<Vec<Notice>>,
}

impl Default for FakeTopic {
    fn default() -> Self {
        Self { answers: Script::new(vec![Some(Ok(()))]), published: Mutex::default() }
    }
}

pub(super) struct Fakes {
    pub(super) topic: FakeTopic,
    pub(super) ec2: FakeEc2,
    pub(super) queues: FakeQueues,
    pub(super) load: Load,
}

impl Services for Fakes {
    async fn instance_tags(
        &self,
        ids: &[InstanceId],
        calls: &CallCounts,
    ) -> Result<HashMap<InstanceId, Tags>, CallError> {
        calls.describe_tags.add(1);
        self.load.call().await;
        self.ec2.largest.fetch_max(ids.len(), Ordering::Relaxed);
        match self.ec2.script.next() {
            TagAnswer::CallFailure(fault) => Err(fault.into()),
            TagAnswer::Panic => panic!("a call to EC2"),
            TagAnswer::True => {
                Ok(ids.iter().filter_map(|id| Some((id.clone(), self.ec2.truth.get(id)?.clone()))).collect())
            }
        }
    }

    async fn send(&self, queue: &QueueName, bodies: &[&str]) -> Result<Vec<Result<(), CallError>>, CallError> {
        let queues = &self.queues;
        queues.asked.lock().unwrap().push(queue.to_string());
        self.load.call().await;
        queues.largest.fetch_max(bodies.len(), Ordering::Relaxed);
        let answers: Vec<_> = match queues.sends.next() {
            SendAnswer::CallFailure(fault) => return Err(fault.into()),
            SendAnswer::Panic => panic!("a call to SQS"),
            SendAnswer::Short => vec![Ok(()); bodies.len() - 1],
            SendAnswer::Entries(answers) => answers.into_iter().cycle().take(bodies.len()).collect(),
        };
        let mut taken = queues.taken.lock().unwrap();
        for (body, answer) in bodies.iter().zip(&answers) {
            if answer.is_ok() {
                taken.entry(queue.clone()).or_default().push((*body).to_owned());
            }
        }
        Ok(answers.into_iter().map(|answer| answer.map_err(CallError::from)).collect())
    }

    async fn queue_tags(&self, _: &QueueName) -> Result<Tags, CallError> {
        self.load.call().await;
        self.queues.tags.next().map_err(CallError::from)
    }

    async fn receive(&self, _: &QueueName, _: u32) -> Result<Vec<Message>, CallError> {
        self.load.call().await;
        self.queues.hub.receive().map_err(CallError::from)
    }

    async fn delete(&self, _: &QueueName, receipts: &[&str]) -> Result<usize, CallError> {
        self.load.call().await;
        self.queues.largest.fetch_max(receipts.len(), Ordering::Relaxed);
        self.queues.hub.delete(receipts).map_err(CallError::from)
    }

    async fn hide(&self, _: &QueueName, receipts: &[(&str, u32)]) -> Result<(), CallError> {
        self.queues.largest.fetch_max(receipts.len(), Ordering::Relaxed);
        self.queues.hub.hide(receipts);
        Ok(())
    }

    async fn publish(&self, topic: &str, notices: &[Notice]) -> Result<usize, String> {
        assert_eq!(topic, "arn:aws:sns:us-west-2:111122223333:team-a");
        assert!((1..=10).contains(&notices.len()));
        let Some(answer) = self.topic.answers.next() else {
            return std::future::pending().await;
        };
        answer?;
        self.topic.published.lock().unwrap().extend_from_slice(notices);
        Ok(notices.len())
    }
}
