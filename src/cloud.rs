//! The seam to AWS: what can be asked ([`Read`]), what can be changed ([`Write`]), and what a probe needs ([`Probe`]). What
//! dead letters need is in their own room.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::sync::watch;

use crate::model::{
    Association, BusName, ClusterName, Depth, Document, DroppedClusters, EventRule, FunctionMapping, FunctionName,
    FunctionPermission, FunctionSettings, HubActivity, KmsKey, LastEvents, ListedTarget, LiveTest, ParameterName,
    QueueActivity, QueueName, Record, Resource, ResourceId, RoleName, RouterDecision, RuleName, Status, Tags, Topic,
    TopicAttributes, TopicKey, policy::InlinePolicy,
};
use crate::plan::Change;

pub use crate::model::{Fault, FaultKind};

/// A resource, and its status at the moment of the read.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub resource: Resource,
    pub status: Option<Status>,
}

#[derive(Clone, Debug, Default)]
pub struct ListedRole {
    pub arn: String,
    /// Its trust policy, if that names a provider of web identities.
    pub web_trust: Option<Document>,
}

pub type RolePolicies = BTreeMap<String, InlinePolicy>;

/// The table of questions: for each its name, its key if it has one, and the answer. The trait [`Questions`], what a survey may ask
/// and knows, the calls of its reader, and what `aws` answers come from it.
///
/// `once`: there is one answer. `each`: one for each key. `first`: like `each`, but once the first call is denied, no other is made: each
/// denied call is a line in the trail of the account. `composed`: the reader makes several calls for an answer.
macro_rules! questions {
    ($expand:ident) => {
        $expand! {
            once {
                /// The buses of the account and Region whose settings exist.
                buses -> BTreeSet<BusName>;
                /// The buses whose tag a queue has, as the tagging API knows them: late. One may have lost its settings.
                tagged_buses -> BTreeSet<BusName>;
                /// All roles of the account.
                listed_roles -> BTreeMap<RoleName, ListedRole>;
                /// The queues with the tags of a cluster of the bus, each with its tags, as the tagging API knows them: late.
                tagged_queues -> BTreeMap<QueueName, Tags>;
                eks_clusters -> BTreeSet<ClusterName>;
                /// How many concurrent invocations of the account and Region are reserved for no function.
                unreserved_concurrency -> u32;
                /// The event source mappings of the router, its aliases and its versions, whoever created them.
                function_mappings -> BTreeSet<FunctionMapping>;
                /// The statements of the resource policies of the router, its live alias and its versions, whoever added them.
                function_permissions -> BTreeSet<FunctionPermission>;
                /// The clusters whose events the router dropped in the last day because they are not on its bus, from its log.
                dropped_clusters -> DroppedClusters;
                hub_activity -> HubActivity;
                last_events -> LastEvents;
                /// All rules of the default event bus, whoever created them.
                event_rules -> Vec<EventRule>;
                /// What the live version of the router says of itself, without waiting for anything that is in progress; absent if
                /// the version does not exist or is not ready.
                live_test -> LiveTest;
            }
            each {
                /// The names of the queues that begin with this, whoever manages them. A hint and never a proof.
                queues(String) -> BTreeSet<QueueName>;
                /// The queues that have this queue as their dead-letter queue, whoever manages them.
                dead_letter_sources(QueueName) -> BTreeSet<QueueName>;
                /// The EKS pod identity associations of Karpenter's service account, in any namespace of a cluster.
                associations(ClusterName) -> BTreeSet<Association>;
                /// The URL of the OpenID Connect issuer of an EKS cluster; absent if it has none.
                oidc_issuers(ClusterName) -> String;
                key_policies(KmsKey) -> Document;
                topics(Topic) -> TopicAttributes;
                /// A key by its id, its ARN or an alias.
                topic_keys(String) -> TopicKey;
                /// The settings that a version of the router was published with.
                versions(u64) -> FunctionSettings;
            }
            first {
                rule_targets(RuleName) -> Vec<ListedTarget>;
                rule_tags(RuleName) -> Tags;
            }
            composed {
                /// A queue that was marked as being deleted: absent once it is gone, and as it is if it stays.
                leaving_queues(QueueName) -> Queue;
                /// Whether the record of a cluster is still absent after some reads in ten seconds.
                absent_records(ClusterName) -> bool;
                /// The inline policies of a role with a name of this bus, by name.
                roles(RoleName) -> RolePolicies;
                /// What happened on a queue in the last day; absent if nothing is known.
                activity(QueueName) -> QueueActivity;
                /// How many messages a queue holds a moment later.
                depth_later(QueueName) -> Depth;
                /// The result of a probe of a cluster, or of the bus.
                probes(Option<ClusterName>) -> Probed;
            }
        }
    };
}
#[cfg(feature = "cli")]
pub(crate) use questions;

macro_rules! trait_of {
    (
        once { $($(#[$once_doc:meta])* $once:ident -> $one:ty;)* }
        each { $($(#[$each_doc:meta])* $each:ident($key:ty) -> $answer:ty;)* }
        first { $($(#[$first_doc:meta])* $first:ident($first_key:ty) -> $first_answer:ty;)* }
        composed { $($composed:tt)* }
    ) => {
        /// The questions of the table. `None` means that it is certainly absent.
        pub trait Questions: Send + Sync {
            $(
                $(#[$once_doc])*
                fn $once(&self) -> impl Future<Output = Answer<$one>> + Send {
                    std::future::ready(Ok(None))
                }
            )*
            $(
                $(#[$each_doc])*
                fn $each(&self, _: &$key) -> impl Future<Output = Answer<$answer>> + Send {
                    std::future::ready(Ok(None))
                }
            )*
            $(
                $(#[$first_doc])*
                fn $first(&self, _: &$first_key) -> impl Future<Output = Answer<$first_answer>> + Send {
                    std::future::ready(Ok(None))
                }
            )*
        }
    };
}
questions!(trait_of);

type Answer<T> = Result<Option<T>, Fault>;

/// What can be read of one account and Region. No method changes anything. `None` means that it is certainly absent.
pub trait Read: Questions {
    /// Reads one resource completely, with its status.
    fn snapshot(&self, id: &ResourceId) -> impl Future<Output = Answer<Snapshot>> + Send;

    fn read(&self, id: &ResourceId) -> impl Future<Output = Answer<Resource>> + Send {
        async move { Ok(self.snapshot(id).await?.map(|snapshot| snapshot.resource)) }
    }

    /// Those of these records of clusters that exist, in few calls.
    fn records(&self, names: &[ParameterName]) -> impl Future<Output = Result<Vec<Record>, Fault>> + Send;

    /// A page of all records of clusters of the bus, and the token of the next one. A page may be empty and have one.
    fn records_page(
        &self,
        token: Option<String>,
    ) -> impl Future<Output = Result<(Vec<Record>, Option<String>), Fault>> + Send;

    /// The names of a role's inline policies, whoever wrote them.
    fn inline_policy_names(&self, role: &RoleName) -> impl Future<Output = Answer<BTreeSet<String>>> + Send;

    /// One inline policy of a role, whoever wrote it.
    fn inline_policy(&self, role: &RoleName, policy: &str) -> impl Future<Output = Answer<InlinePolicy>> + Send;

    /// The inline policies of those of these roles that exist, in few calls, which read every role of the account.
    fn inline_policies(
        &self,
        roles: &BTreeSet<RoleName>,
    ) -> impl Future<Output = Result<BTreeMap<RoleName, Vec<InlinePolicy>>, Fault>> + Send;

    /// What happened on these queues in the last day. A queue of which nothing is known is missing.
    fn activity(
        &self,
        queues: &BTreeSet<QueueName>,
    ) -> impl Future<Output = Result<BTreeMap<QueueName, QueueActivity>, Fault>> + Send;

    /// The caller's ARN, as STS gives it.
    fn caller(&self) -> &str;

    /// The role that the caller has assumed, if it is one.
    fn caller_role(&self) -> Option<RoleName> {
        session_role(self.caller())?.parse().ok()
    }

    /// The time by AWS's clock, in Unix seconds.
    fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.unwrap_or_default().as_secs()
    }

    fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(time)
    }
}

/// The role in the ARN of a role session: `arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION`, without the role's path
/// (IAM user guide, "IAM identifiers").
pub fn session_role(principal: &str) -> Option<&str> {
    let (role, _) = principal.split_once(":assumed-role/")?.1.split_once('/')?;
    Some(role)
}

/// What can be changed in one account and Region.
pub trait Write: Send + Sync {
    /// Reads a resource that exists by the refusal of a create; `None` if it is absent. If a read may miss it because it is
    /// new, waits until a read finds it.
    fn read_back(&self, id: &ResourceId, waiting: Waiting<'_>) -> impl Future<Output = Answer<Resource>> + Send;

    /// Reads what a change creates, if its create would overwrite what someone else has created since the plan. It is called
    /// while the change waits for another one, so that the create does not wait for the read.
    fn read_ahead(&self, _: &Change) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Makes one change of a plan, and returns when it is in force; a delete, when it is accepted. A wait that a person
    /// would wonder about is reported to `waiting`, with its reason. On a request to stop, a wait ends with
    /// [`FaultKind::Stopped`]; AWS calls in progress are finished.
    fn write(&self, change: &Change, waiting: Waiting<'_>) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// How a write waits for AWS: to whom it reports why, and who may ask it to stop.
#[derive(Clone, Copy)]
pub struct Waiting<'a> {
    report: &'a (dyn Fn(&str) + Sync),
    stop: Option<&'a watch::Receiver<bool>>,
}

impl<'a> Waiting<'a> {
    pub fn new(report: &'a (dyn Fn(&str) + Sync), stop: &'a watch::Receiver<bool>) -> Self {
        let stop = Some(stop);
        Self { report, stop }
    }

    /// Reports to nobody, and nobody asks it to stop.
    pub fn unattended() -> Self {
        Self { report: &|_| {}, stop: None }
    }

    pub fn report(self, reason: &str) {
        (self.report)(reason);
    }

    pub async fn stopped(self) {
        if let Some(stop) = self.stop {
            // An error means that no request to stop can come.
            if stop.clone().wait_for(|stop| *stop).await.is_ok() {
                return;
            }
        }
        std::future::pending().await
    }
}

/// What `verify --probe` needs: an event of kibus's own, and what becomes of it: by default, nothing.
pub trait Probe: Send + Sync {
    /// Puts an event on the default event bus, which adds its id and time.
    fn put_event(&self, _event: &Value) -> impl Future<Output = Result<(), Fault>> + Send {
        std::future::ready(Ok(()))
    }

    /// Waits some seconds for copies of a probe in the probe queue, deletes them and messages of self-tests, and counts the copies.
    fn take_probe(&self, _queue: &QueueName, _probe: &str) -> impl Future<Output = Result<u32, Fault>> + Send {
        std::future::ready(Ok(0))
    }

    /// Looks at the messages of a queue, and gives their ids: SQS may show copies (S28). Hides what it shows from the consumer for a second.
    fn look(&self, _queue: &QueueName) -> impl Future<Output = Result<BTreeSet<String>, Fault>> + Send {
        std::future::ready(Ok(BTreeSet::new()))
    }

    /// Invokes a function's alias with a probe. Gives what the router decided, or its error message.
    fn route_probe(
        &self,
        _function: &FunctionName,
        _alias: &str,
        _probe: &Value,
    ) -> impl Future<Output = Result<Result<Vec<RouterDecision>, String>, Fault>> + Send {
        std::future::ready(Ok(Ok(Vec::new())))
    }

    /// How many messages a queue holds; `None` if it is absent.
    fn depth(&self, _queue: &QueueName) -> impl Future<Output = Answer<Depth>> + Send {
        std::future::ready(Ok(None))
    }
}
