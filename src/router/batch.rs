//! A batch: its messages as they arrived, and what became of them.

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
    /// Where the instance is, or the cluster that a probe names.
    pub(super) placement: Option<Arc<Placement>>,
    pub(super) decision: Decision,
    /// The number of the copy that it is delivered in, among all of the invocation.
    pub(super) copy: Option<usize>,
    /// From the event's `time` to its delivery, in milliseconds, if it is delivered and has a time.
    pub(super) delay: Option<i64>,
}

impl Item {
    pub(super) fn cluster(&self) -> Option<&ClusterName> {
        self.placement.as_ref().map(|placement| &placement.cluster)
    }
}

/// What the log says of a message's event, beside its items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EventFacts {
    /// When it happened, in milliseconds of the Unix epoch.
    pub(super) time: Option<i64>,
    /// The state that an instance changed to.
    pub(super) state: Option<&'static str>,
    /// Whether it is a heartbeat, which is no event of anybody.
    pub(super) is_heartbeat: bool,
}

/// What became of the notices of an invocation.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Notified {
    pub(super) taken: usize,
    pub(super) not_taken: usize,
    /// Why some were not taken: the code of AWS, or what kept the router from asking.
    pub(super) why: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct RoutedBatch {
    /// Everything that arrived: at least one item for every message.
    pub(super) items: Vec<Item>,
    /// Of the event of each message; nothing for what is no event.
    pub(super) events: Vec<EventFacts>,
    pub(super) repairs: usize,
    pub(super) contradictions: BTreeSet<InstanceId>,
}

impl RoutedBatch {
    pub(super) fn is_heartbeat(&self, message: usize) -> bool {
        self.events.get(message).is_some_and(|event| event.is_heartbeat)
    }

    /// The messages that return to the queue. Each returns whole: what was delivered is again, which harms no Karpenter.
    pub(super) fn retried(&self) -> HashSet<usize> {
        let is_retried = |item: &&Item| matches!(item.decision, Decision::Retried(_));
        self.items.iter().filter(is_retried).map(|item| item.message).collect()
    }
}
