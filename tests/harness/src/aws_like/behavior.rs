//! The behaviors, named by the ids of tests/aws-behavior.md.

use std::time::Duration;

macro_rules! behaviors {
    ($($id:ident $millis:literal $what:literal)*) => {
        /// One way in which AWS differs from an emulator.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Behavior {
            $(#[doc = $what] $id),*
        }

        impl Behavior {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$id),*];

            /// The id, as written in scenario files.
            pub fn id(self) -> &'static str {
                match self { $(Self::$id => stringify!($id)),* }
            }

            /// What AWS does, in one line.
            pub fn what(self) -> &'static str {
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
    S1 6_000 "CreateQueue refuses the name of a queue that was just deleted"
    S2 0 "CreateQueue compares named attributes only, and leaves the tags of an existing queue as they are"
    S3 1_000 "a new queue is not found"
    S4 2_000 "changed attributes are late"
    S9 2_000 "a deleted queue still answers, at last only to every other call; what it receives is lost"
    S11 0 "queues in China take messages of 256 KiB at most"
    S12 2_000 "message counts are late"
    S13 0 "tag calls of SQS are throttled"
    S14 0 "some Regions ignore statements with conditions on the tags of a queue"
    S15 1_500 "new tags of a queue do not count for a function's permissions yet"
    S18 0 "sends to a queue with an unusable KMS key fail with the code of KMS"
    S22 2_000 "a deleted queue still answers on every other connection"
    S23 2_000 "CreateQueue does not find a new dead-letter queue"
    S24 0 "a redrive policy is refused if the dead-letter queue does not allow the source"
    S27 0 "creates, updates and deletes of queues are throttled"
    S28 0 "a receive with a visibility timeout of zero gives copies of one message"
    E1 2_000 "events pass by a new target"
    E4 1_000 "a new rule is not found"
    E6 1_500 "DeleteRule is refused right after RemoveTargets, and while the rule has targets"
    E12 1_000 "a new target is not listed"
    L1 3_000 "a new role cannot be assumed by Lambda"
    L2 4_000 "a new role cannot get a grant for variables"
    L4 1_000 "a new function is not found"
    L5 1_500 "a function or version is Pending, or its update InProgress"
    L6 1_500 "a busy function refuses changes, and once a concurrent update"
    L7 0 "the first change and the first invocations find a function that is not ready"
    L10 0 "a version is not published if the function has other code than the call names"
    L12 1_500 "the cleared weights of an alias are still shown"
    L14 1_500 "a deleted function is Deleting, and its name is refused"
    L17 0 "an invocation of a function with no concurrency is throttled"
    L18 1_500 "the first invocations with a new role are denied, with variables by KMS"
    L19 0 "the variables of a function are lost with the role that they were sealed for"
    L21 0 "the control plane of Lambda is throttled"
    L22 0 "a change with another revision than the latest is refused, and each update has a new one when it is finished"
    M1 1_500 "an event source mapping is Creating, Updating or Deleting"
    M2 1_500 "an event source mapping is refused on a queue that is new or absent"
    M5 0 "an event source mapping of SQS has no LastProcessingResult"
    M7 1_500 "an event source mapping in transition refuses changes"
    M10 0 "a mapping polls for more than the reserved concurrency can run"
    M14 0 "a new event source mapping is not found by the first read"
    I1 1_500 "a function's new permissions are denied at first"
    I2 1_500 "a trust policy with a new role is refused"
    I3 1_000 "a new role is not found"
    I4 1_500 "DeleteRole still sees deleted policies"
    I9 1_500 "the first calls under a condition on a new boundary or a new tag are denied"
    I10 0 "the calls of IAM are throttled, all together"
    N1 0 "PutParameter refuses tags beside Overwrite, no characters, more than 4,096 characters, and double braces"
    N2 0 "calls of Parameter Store are throttled, all reads together, and a second update at once is refused"
    N3 3_000 "PutParameter refuses the name of a parameter that was just deleted, and reads do not find it"
    N4 1_500 "reads of parameters show what was before the last write"
    N5 0 "a list of parameters has ten on a page, and no call may ask for more"
    N7 0 "a call names ten parameters at most, and one at least"
    N8 0 "the first page of a list of parameters is empty, and is not the last"
    G1 0 "CloudWatch Logs is throttled"
    T1 3_000 "the tagging API lacks new queues and lists deleted ones"
    T4 0 "DescribeTags is throttled"
}

impl std::str::FromStr for Behavior {
    type Err = String;

    fn from_str(id: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|behavior| behavior.id() == id);
        found.copied().ok_or_else(|| format!("no behavior has the id `{id}`"))
    }
}
