//! A batch: its messages as they arrived, and what became of them.

use std::collections::{BTreeSet, HashSet};

use super::decision::Decision;
use super::decode::Repair;
use crate::model::name::{ClusterName, InstanceId};
use crate::model::signal::Signal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Its id, by which Lambda returns it to the queue.
    pub(super) id: String,
    pub(super) origin: Origin,
    /// One EventBridge event.
    pub(super) body: String,
    /// How often it has been received, including this time; none if it came from no queue.
    pub(super) receives: Option<u32>,
    /// When the queue took it, in milliseconds of the Unix epoch.
    pub(super) arrived: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The hub queue, with the receipt handle of this receive.
    HubQueue { receipt: String },
    /// No queue: an operator invoked the function with a probe, or with dead letters.
    Invocation,
    /// A queue of others. Anyone who may map a queue to the function can send to it, so nothing in its messages is read.
    OtherQueue,
}

/// The smallest thing that has a decision of its own: a message, or one entity of a message that names several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The number of its message in the batch.
    pub(super) message: usize,
    pub(super) signal: Option<Signal>,
    pub(super) instance: Option<InstanceId>,
    pub(super) cluster: Option<ClusterName>,
    pub(super) decision: Decision,
}

/// An outgoing message that a queue took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    /// The cluster of the queue; none for a probe of the bus.
    pub(super) cluster: Option<ClusterName>,
    /// From the event's `time` to its delivery, in milliseconds, if it has a time.
    pub(super) delay: Option<i64>,
}

#[derive(Debug, Default)]
pub(super) struct RoutedBatch {
    /// Everything that arrived: at least one item for every message.
    pub(super) items: Vec<Item>,
    pub(super) delivered: Vec<Delivery>,
    pub(super) repairs: Vec<Repair>,
    pub(super) contradictions: BTreeSet<InstanceId>,
}

impl RoutedBatch {
    /// The messages that return to the queue. Each returns whole: what was delivered is again, which harms no Karpenter.
    pub(super) fn retried(&self) -> HashSet<usize> {
        let is_retried = |item: &&Item| matches!(item.decision, Decision::Retried(_));
        self.items.iter().filter(is_retried).map(|item| item.message).collect()
    }
}
