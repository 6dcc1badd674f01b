//! How many calls an invocation made, and what came of those to the hub queue.

use std::sync::atomic::{AtomicU32, Ordering};

/// The calls of one invocation, retries and further pages included.
#[derive(Debug, Default)]
pub(super) struct CallCounts {
    describe_tags: AtomicU32,
    send: AtomicU32,
    list_queue_tags: AtomicU32,
    received: AtomicU32,
    not_deleted: AtomicU32,
}

impl CallCounts {
    pub(super) fn count_describe_tags(&self) {
        self.describe_tags.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_send(&self) {
        self.send.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_list_queue_tags(&self) {
        self.list_queue_tags.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts messages that the router received itself.
    pub(super) fn count_received(&self, messages: usize) {
        self.received.fetch_add(size(messages), Ordering::Relaxed);
    }

    /// Counts messages that the router could not delete, so they are routed again.
    pub(super) fn count_not_deleted(&self, messages: usize) {
        self.not_deleted.fetch_add(size(messages), Ordering::Relaxed);
    }

    /// The calls about the tags of queues so far.
    pub(super) fn list_queue_tags(&self) -> u32 {
        self.list_queue_tags.load(Ordering::Relaxed)
    }

    /// Each metric with its count. Those of storms are missing if they are zero.
    pub(super) fn metrics(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let always = [
            ("DescribeTagsCalls", self.describe_tags.load(Ordering::Relaxed)),
            ("SendCalls", self.send.load(Ordering::Relaxed)),
            ("ListQueueTagsCalls", self.list_queue_tags.load(Ordering::Relaxed)),
        ];
        let in_storms = [
            ("ReceivedByRouter", self.received.load(Ordering::Relaxed)),
            ("NotDeleted", self.not_deleted.load(Ordering::Relaxed)),
        ];
        always
            .into_iter()
            .chain(in_storms.into_iter().filter(|(_, count)| *count > 0))
    }
}

fn size(messages: usize) -> u32 {
    u32::try_from(messages).unwrap_or(u32::MAX)
}
