//! What is going on at this moment. A plan never compares any of it: it is looked at and shown.

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
    /// Messages that somebody has received and not deleted yet.
    pub in_flight: u64,
}

impl Depth {
    /// Whether messages wait and nobody has taken any, at an earlier look and at this one, and none has gone.
    #[must_use]
    pub fn unread_since(self, earlier: Self) -> bool {
        self.in_flight == 0 && earlier.in_flight == 0 && self.stands_since(earlier)
    }

    /// Whether messages wait, and no fewer than at an earlier look.
    #[must_use]
    pub fn stands_since(self, earlier: Self) -> bool {
        earlier.waiting > 0 && self.waiting >= earlier.waiting
    }
}

/// How the event source mapping fares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingState {
    /// Lambda's word for its state, like `Enabled`.
    pub state: String,
    /// What Lambda says about its last reading of the queue, if it says anything.
    pub last_result: Option<String>,
    /// Who or what changed the state last.
    pub reason: Option<String>,
}

impl MappingState {
    /// Whether the last reading of the queue was a problem: Lambda says so with `PROBLEM: ` in front
    /// (Lambda developer guide, "Troubleshooting event source mappings").
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.last_result
            .as_deref()
            .filter(|result| result.starts_with("PROBLEM"))
    }

    /// Whether it reads, or is about to, or was told not to: `Enabled` and `Disabled` last, the rest pass.
    #[must_use]
    pub fn has_settled(&self) -> bool {
        matches!(self.state.as_str(), "Enabled" | "Disabled")
    }
}

/// How the version of the function that is live fares.
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
    /// Whether it can be invoked. One that was not invoked for weeks is `Inactive` and wakes up when it is.
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
    fn a_queue_is_unread_when_nobody_takes_anything() {
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
