//! How many calls an invocation made.

use std::sync::atomic::{AtomicU32, Ordering};

/// The calls of one invocation, retries and further pages included.
#[derive(Debug, Default)]
pub(super) struct CallCounts {
    describe_tags: AtomicU32,
    send: AtomicU32,
    list_queue_tags: AtomicU32,
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

    /// The calls about the tags of queues so far.
    pub(super) fn list_queue_tags(&self) -> u32 {
        self.list_queue_tags.load(Ordering::Relaxed)
    }

    /// Each metric with its count.
    pub(super) fn metrics(&self) -> [(&'static str, u32); 3] {
        [
            ("DescribeTagsCalls", self.describe_tags.load(Ordering::Relaxed)),
            ("SendCalls", self.send.load(Ordering::Relaxed)),
            ("ListQueueTagsCalls", self.list_queue_tags.load(Ordering::Relaxed)),
        ]
    }
}
