//! The whole way of a batch of messages, from bytes to verdicts.

use std::collections::HashSet;
use std::sync::Arc;

use super::clock::Clock;
use super::deliver::deliver;
use super::instance::InstanceId;
use super::locate::{insist, locate};
use super::repair::Repair;
use super::services::{InstanceTags, Queues};
use super::verdict::Verdict;
use super::work::Work;
use super::{Calls, Router};
use crate::model::name::ClusterName;
use crate::model::signal::Signal;

/// A message as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id, by which it is given back.
    pub id: String,
    /// By which SQS knows this receive of it; empty if it came from no queue.
    pub receipt: String,
    /// One EventBridge event.
    pub body: String,
    /// How often it has been received, this time included; none if it came from no queue.
    pub receives: Option<u32>,
    /// When the queue took it, in milliseconds of the Unix epoch.
    pub arrived: i64,
}

/// One thing that arrived, and its end: a message, or one entity of a message that names several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Which of the messages it came in.
    pub message: usize,
    /// The kind of the event, if it could be told.
    pub signal: Option<Signal>,
    /// The instance, if there is one.
    pub instance: Option<InstanceId>,
    /// The cluster, if it was found.
    pub cluster: Option<ClusterName>,
    /// Its end.
    pub verdict: Verdict,
}

/// A copy that was put into a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The cluster whose queue it is; none for a probe of the bus.
    pub cluster: Option<ClusterName>,
    /// From the time that the event names to its delivery, in milliseconds, if it names one.
    pub delay: Option<i64>,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Everything that arrived: at least one for every message.
    pub items: Vec<Item>,
    /// The copies that were put into queues.
    pub delivered: Vec<Delivery>,
    /// What was put right in events.
    pub repairs: Vec<Repair>,
}

impl Outcome {
    /// Which messages go back, whole: one that is partly delivered is delivered again, which Karpenter does not mind.
    #[must_use]
    pub fn given_back(&self) -> HashSet<usize> {
        self.items
            .iter()
            .filter(|item| matches!(item.verdict, Verdict::GivenBack(_)))
            .map(|item| item.message)
            .collect()
    }
}

/// Routes a batch of messages. `now` is the time in milliseconds of the Unix epoch.
pub async fn route<T: InstanceTags, Q: Queues, C: Clock>(
    router: &Arc<Router<T, Q>>,
    clock: &Arc<C>,
    messages: &[Message],
    now: i64,
) -> Outcome {
    route_counted(router, &Arc::default(), clock, messages, now).await
}

pub(super) async fn route_counted<T: InstanceTags, Q: Queues, C: Clock>(
    router: &Arc<Router<T, Q>>,
    calls: &Arc<Calls>,
    clock: &Arc<C>,
    messages: &[Message],
    now: i64,
) -> Outcome {
    let start = clock.now();
    let mut work = Work::read(router, messages);
    let (found, unanswered) = locate(router, calls, clock, work.instances()).await;
    let copies = work.settle(&found);
    // Whom a slow EC2 does not concern does not wait for it.
    let (told, told_late) = tokio::join!(deliver(router, calls, clock, copies), async {
        if unanswered.is_empty() {
            return Vec::new();
        }
        let found = insist(router, calls, clock, unanswered).await;
        let copies = work.settle(&found);
        deliver(router, calls, clock, copies).await
    });
    work.finish(told.into_iter().chain(told_late), start, now)
}
