//! The state of resources at the moment of a read. It is shown, and a plan never compares it.

/// The status of a resource at the moment of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Of a queue.
    Queue(Depth),
    /// Of an event source mapping.
    Mapping(MappingState),
    /// Of the version that an alias points to.
    Version(VersionState),
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
    /// Whether messages wait with none in flight, at an earlier sample and at this one, and no fewer now.
    #[must_use]
    pub fn unread_since(self, earlier: Self) -> bool {
        self.in_flight == 0 && earlier.in_flight == 0 && self.stands_since(earlier)
    }

    /// Whether messages wait, and no fewer than at an earlier sample.
    #[must_use]
    pub fn stands_since(self, earlier: Self) -> bool {
        earlier.waiting > 0 && self.waiting >= earlier.waiting
    }
}

/// The state of the event source mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingState {
    /// Lambda's word for its state, like `Enabled`.
    pub state: String,
    /// The result of its last read of the queue, as Lambda reports it.
    pub last_result: Option<String>,
    /// The cause of the last change of state.
    pub reason: Option<String>,
}

impl MappingState {
    /// The problem of the last read of the queue: Lambda reports it with the prefix `PROBLEM: `
    /// (Lambda developer guide, "Troubleshooting event source mappings").
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.last_result
            .as_deref()
            .filter(|result| result.starts_with("PROBLEM"))
    }

    /// Whether the state is final: `Enabled` and `Disabled` are, all others pass.
    #[must_use]
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
    #[must_use]
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
        for (earlier, now, unread, stands) in [
            (depth(0, 0), depth(0, 0), false, false),
            (depth(0, 0), depth(3, 0), false, false),
            (depth(3, 0), depth(3, 0), true, true),
            (depth(3, 0), depth(4, 0), true, true),
            (depth(3, 0), depth(2, 0), false, false),
            (depth(3, 1), depth(3, 0), false, true),
            (depth(3, 0), depth(3, 1), false, true),
        ] {
            assert_eq!(now.unread_since(earlier), unread, "{earlier:?} {now:?}");
            assert_eq!(now.stands_since(earlier), stands, "{earlier:?} {now:?}");
        }
    }

    #[test]
    fn lambda_says_a_problem_in_words_of_its_own() {
        for (result, problem) in [
            (None, None),
            (Some("OK"), None),
            (Some("OK - 1 records"), None),
            (Some("No records processed"), None),
            (
                Some("PROBLEM: Function call failed"),
                Some("PROBLEM: Function call failed"),
            ),
        ] {
            let state = MappingState {
                last_result: result.map(str::to_owned),
                ..MappingState::default()
            };
            assert_eq!(state.problem(), problem);
        }
    }
}
