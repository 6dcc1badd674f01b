//! The state of resources at the moment of a read. It is shown, and a plan never compares it.

/// The status of a resource at the moment of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Queue(QueueState),
    /// Of an event source mapping.
    Mapping(MappingState),
    /// Of the version that an alias points to.
    Version(VersionState),
}

/// The state of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// How many messages it holds.
    pub depth: Depth,
    /// When its attributes last changed, in seconds of the Unix epoch (`LastModifiedTimestamp`).
    pub changed: Option<u64>,
}

/// How many messages a queue holds. SQS counts approximately, and does not say how old they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Messages that can be received.
    pub waiting: u64,
    /// Messages that were received and not deleted yet.
    pub in_flight: u64,
}

impl Depth {
    /// All messages, whether they can be received now or not.
    pub fn messages(self) -> u64 {
        self.waiting.saturating_add(self.in_flight)
    }
}

/// Whether messages waited in all samples of a queue, and no fewer at the end than at the start.
pub fn is_standing(samples: &[Depth]) -> bool {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return false;
    };
    samples.iter().all(|depth| depth.waiting > 0) && last.waiting >= first.waiting
}

/// The same, and whether no sample shows a message in flight: nobody receives.
pub fn is_unread(samples: &[Depth]) -> bool {
    is_standing(samples) && samples.iter().all(|depth| depth.in_flight == 0)
}

/// The state of the event source mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingState {
    /// Lambda's word for its state, like `Enabled`.
    pub state: String,
    /// The cause of the last change of state.
    pub reason: Option<String>,
}

impl MappingState {
    /// Whether the state is final: `Enabled` and `Disabled` are, all others pass.
    pub fn has_settled(&self) -> bool {
        matches!(self.state.as_str(), "Enabled" | "Disabled")
    }
}

/// The state of the live version of the function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionState {
    /// Its number.
    pub version: Option<u64>,
    /// Lambda's word for its state, like `Active`.
    pub state: String,
    /// Why it is in that state.
    pub reason: Option<String>,
}

impl VersionState {
    /// Whether it can be invoked. A version that was not invoked for weeks is `Inactive`, and an invocation activates it.
    pub fn can_run(&self) -> bool {
        matches!(self.state.as_str(), "Active" | "Inactive" | "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(waiting: u64, in_flight: u64) -> Depth {
        Depth { waiting, in_flight }
    }

    #[test]
    fn a_queue_is_unread_if_no_message_is_received() {
        for (samples, unread, stands) in [
            (vec![], false, false),
            (vec![depth(0, 0), depth(0, 0)], false, false),
            (vec![depth(0, 0), depth(3, 0)], false, false),
            (vec![depth(3, 0)], true, true),
            (vec![depth(3, 0), depth(3, 0)], true, true),
            (vec![depth(3, 0), depth(4, 0)], true, true),
            (vec![depth(3, 0), depth(2, 0)], false, false),
            (vec![depth(3, 1), depth(3, 0)], false, true),
            (vec![depth(3, 0), depth(3, 1)], false, true),
            (vec![depth(3, 0), depth(2, 0), depth(5, 0)], true, true),
            (vec![depth(3, 0), depth(0, 0), depth(5, 0)], false, false),
            (vec![depth(3, 0), depth(3, 1), depth(5, 0)], false, true),
        ] {
            assert_eq!(is_unread(&samples), unread, "{samples:?}");
            assert_eq!(is_standing(&samples), stands, "{samples:?}");
        }
    }
}
