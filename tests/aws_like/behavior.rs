//! The behaviors, named by the ids of docs/reliability.md.

use std::time::Duration;

macro_rules! behaviors {
    ($($id:ident $millis:literal $what:literal)*) => {
        /// One way in which AWS differs from an emulator.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Behavior {
            $(#[doc = $what] $id),*
        }

        impl Behavior {
            /// All of them.
            pub(crate) const ALL: &[Self] = &[$(Self::$id),*];

            /// The id, as it is written in scenario files.
            pub(crate) fn id(self) -> &'static str {
                match self { $(Self::$id => stringify!($id)),* }
            }

            /// What AWS does, in one line.
            pub(crate) fn what(self) -> &'static str {
                match self { $(Self::$id => $what),* }
            }

            /// How long it lasts here; AWS takes ten to sixty times as long. Zero if it has no duration.
            pub(super) fn time(self) -> Duration {
                Duration::from_millis(match self { $(Self::$id => $millis),* })
            }
        }
    };
}

behaviors! {
    S1 3_000 "CreateQueue refuses the name of a queue that was just deleted"
    S2 0 "CreateQueue compares named attributes only, and leaves the tags of an existing queue as they are"
    S3 1_000 "a new queue is not found"
    S9 2_000 "a deleted queue still answers, at last only to every other call; what it receives is lost"
    S12 2_000 "message counts are late"
    E6 1_500 "DeleteRule is refused right after RemoveTargets, and while the rule has targets"
    I3 1_000 "a new role is not found"
    L1 3_000 "a new role cannot be assumed by Lambda"
    L18 1_500 "the first invocations with a new role are denied, with variables by KMS"
    M5 0 "an event source mapping of SQS has no LastProcessingResult"
}

impl std::str::FromStr for Behavior {
    type Err = String;

    fn from_str(id: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|behavior| behavior.id() == id);
        found.copied().ok_or_else(|| format!("no behavior has the id `{id}`"))
    }
}
