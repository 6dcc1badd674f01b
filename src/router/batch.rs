//! A batch: its messages as they arrived, and their outcome.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::decision::Decision;
use super::owner::Placement;
use crate::model::{ClusterName, InstanceId, Signal};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Its id, by which Lambda returns it to the queue.
    pub(super) id: String,
    pub(super) origin: Origin,
    /// One EventBridge event.
    pub(super) body: String,
    /// How often it has been received, including this time; `None` if it did not come from a queue.
    pub(super) receives: Option<u32>,
    /// When the queue accepted it, in milliseconds of the Unix epoch.
    pub(super) arrived: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The hub queue, with the receipt handle of this receive.
    HubQueue { receipt: String },
    /// No queue: an operator invoked the function with a probe, or with dead letters.
    Invocation,
    /// A foreign queue. Anyone who can map a queue to the function can send to it, so its messages are never read.
    OtherQueue,
}

/// The smallest unit with its own decision: a message, or one entity of a message that names several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The number of its message in the batch.
    pub(super) message: usize,
    pub(super) signal: Option<Signal>,
    pub(super) instance: Option<InstanceId>,
    /// Where the event names its instance, or the cluster of a probe.
    pub(super) placement: Option<Arc<Placement>>,
    pub(super) decision: Decision,
    /// The number of the copy that delivers it, among all copies of the invocation.
    pub(super) copy: Option<usize>,
    /// From the event's `time` to its delivery, in milliseconds, if it is delivered and has a time.
    pub(super) delay: Option<i64>,
}

impl Item {
    pub(super) fn cluster(&self) -> Option<&ClusterName> {
        self.placement.as_ref().map(|placement| &placement.cluster)
    }
}

/// What the log says about a message's event, in addition to its items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EventFacts {
    /// When it happened, in milliseconds of the Unix epoch.
    pub(super) time: Option<i64>,
    /// The new state of an instance.
    pub(super) state: Option<&'static str>,
    /// Whether it is a heartbeat, which is not an event about an instance.
    pub(super) is_heartbeat: bool,
}

/// The outcome of the notices of an invocation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Notified {
    pub(super) taken: usize,
    pub(super) not_taken: usize,
    /// Why some were not published: the AWS error code, or the reason why the router did not try.
    pub(super) why: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct RoutedBatch {
    /// Everything that arrived: at least one item for every message.
    pub(super) items: Vec<Item>,
    /// Details of the event of each message; nothing if it is not an event.
    pub(super) events: Vec<EventFacts>,
    pub(super) repairs: usize,
    pub(super) contradictions: BTreeSet<InstanceId>,
}

impl RoutedBatch {
    pub(super) fn is_heartbeat(&self, message: usize) -> bool {
        self.events.get(message).is_some_and(|event| event.is_heartbeat)
    }

    /// The messages that return to the queue. Each returns as a whole: delivered items are delivered again, which does not harm Karpenter.
    pub(super) fn retried(&self) -> HashSet<usize> {
        let is_retried = |item: &&Item| matches!(item.decision, Decision::Retried(_));
        self.items.iter().filter(is_retried).map(|item| item.message).collect()
    }
}
