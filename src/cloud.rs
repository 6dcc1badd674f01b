//! The interface to AWS: what can be read ([`Read`]), what can be changed ([`Write`]), and what a probe needs
//! ([`Probe`]). Dead letters have an interface in their own module.

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

/// A resource, and its status at the time of the read.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub resource: Resource,
    pub status: Option<Status>,
}

#[derive(Clone, Debug, Default)]
pub struct ListedRole {
    pub arn: String,
    /// Its trust policy, if that names a web identity provider.
    pub web_trust: Option<Document>,
}

pub type RolePolicies = BTreeMap<String, InlinePolicy>;

/// The table of questions: the name of each, its key if it has one, and the answer. It generates the trait
/// [`Questions`], the questions and answers of a survey, the calls of its reader, and the implementation in `aws`.
///
/// `once`: there is one answer. `each`: one answer per key. `first`: like `each`, but if the first call is denied, no
/// other is made, because CloudTrail logs each denied call. `composed`: the reader makes several calls for an answer.
macro_rules! questions {
    ($expand:ident) => {
        $expand! {
            once {
                /// The buses in the account and Region whose settings exist.
                buses -> BTreeSet<BusName>;
                /// The buses named in queue tags, from the tagging API, which lags behind. Such a bus may have lost its settings.
                tagged_buses -> BTreeSet<BusName>;
                /// All roles in the account.
                listed_roles -> BTreeMap<RoleName, ListedRole>;
                /// The queues with the tags of a cluster of the bus, each with its tags, from the tagging API, which lags behind.
                tagged_queues -> BTreeMap<QueueName, Tags>;
                eks_clusters -> BTreeSet<ClusterName>;
                /// The unreserved concurrency of the account and Region.
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
                /// The self-test result of the live router version, without waiting for anything in progress; absent if
                /// the version does not exist or is not ready.
                live_test -> LiveTest;
            }
            each {
                /// The names of the queues that begin with this, whoever manages them. A hint, never proof.
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
                /// The settings with which a router version was published.
                versions(u64) -> FunctionSettings;
            }
            first {
                rule_targets(RuleName) -> Vec<ListedTarget>;
                rule_tags(RuleName) -> Tags;
            }
            composed {
                /// A queue marked for deletion: absent once it is gone, or its current state if it stays.
                leaving_queues(QueueName) -> Queue;
                /// Whether the record of a cluster is still absent after several reads within ten seconds.
                absent_records(ClusterName) -> bool;
                /// The inline policies of a role with a name of this bus, by name.
                roles(RoleName) -> RolePolicies;
                /// The activity of a queue in the last day; absent if nothing is known.
                activity(QueueName) -> QueueActivity;
                /// How many messages a queue holds shortly afterwards.
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

/// What can be read in one account and Region. No method changes anything. `None` means that it is certainly absent.
pub trait Read: Questions {
    /// Reads one resource completely, with its status.
    fn snapshot(&self, id: &ResourceId) -> impl Future<Output = Answer<Snapshot>> + Send;

    fn read(&self, id: &ResourceId) -> impl Future<Output = Answer<Resource>> + Send {
        async move { Ok(self.snapshot(id).await?.map(|snapshot| snapshot.resource)) }
    }

    /// The existing ones of these cluster records, in few calls.
    fn records(&self, names: &[ParameterName]) -> impl Future<Output = Result<Vec<Record>, Fault>> + Send;

    /// A page of all records of clusters of the bus, and the token of the next one. A page can be empty and still have a token.
    fn records_page(
        &self,
        token: Option<String>,
    ) -> impl Future<Output = Result<(Vec<Record>, Option<String>), Fault>> + Send;

    /// The names of a role's inline policies, whoever wrote them.
    fn inline_policy_names(&self, role: &RoleName) -> impl Future<Output = Answer<BTreeSet<String>>> + Send;

    /// One inline policy of a role, whoever wrote it.
    fn inline_policy(&self, role: &RoleName, policy: &str) -> impl Future<Output = Answer<InlinePolicy>> + Send;

    /// The inline policies of the existing ones of these roles, in few calls, which read every role in the account.
    fn inline_policies(
        &self,
        roles: &BTreeSet<RoleName>,
    ) -> impl Future<Output = Result<BTreeMap<RoleName, Vec<InlinePolicy>>, Fault>> + Send;

    /// The activity of these queues in the last day. A queue without data is missing.
    fn activity(
        &self,
        queues: &BTreeSet<QueueName>,
    ) -> impl Future<Output = Result<BTreeMap<QueueName, QueueActivity>, Fault>> + Send;

    /// The caller's ARN, as STS returns it.
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
    /// Reads a resource that exists according to a refused create; `None` if it is absent. If a read may miss it because it is
    /// new, waits until a read finds it.
    fn read_back(&self, id: &ResourceId, waiting: Waiting<'_>) -> impl Future<Output = Answer<Resource>> + Send;

    /// Reads the resource that a change creates, if the create would overwrite a resource created since the plan. It is
    /// called while the change waits for another one, so that the create does not wait for the read.
    fn read_ahead(&self, _: &Change) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Makes one change of a plan, and returns when it is in effect or, for a delete, when it is accepted. Noticeable
    /// waits are reported to `waiting`, with their reason. On a request to stop, a wait ends with
    /// [`FaultKind::Stopped`]; AWS calls in progress are finished.
    fn write(&self, change: &Change, waiting: Waiting<'_>) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// How a write waits for AWS: where it reports the reason, and what can request a stop.
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

    /// Reports to no one, and is never stopped.
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

/// What `verify --probe` needs: an event of kibus's own, and its outcome, which is nothing by default.
pub trait Probe: Send + Sync {
    /// Puts an event on the default event bus, which adds its id and time.
    fn put_event(&self, _event: &Value) -> impl Future<Output = Result<(), Fault>> + Send {
        std::future::ready(Ok(()))
    }

    /// Waits some seconds for copies of a probe in the probe queue, deletes them and self-test messages, and counts the copies.
    fn take_probe(&self, _queue: &QueueName, _probe: &str) -> impl Future<Output = Result<u32, Fault>> + Send {
        std::future::ready(Ok(0))
    }

    /// Receives the messages of a queue, and returns their ids: SQS may return copies (S28). Hides these messages from
    /// the consumer for a second.
    fn look(&self, _queue: &QueueName) -> impl Future<Output = Result<BTreeSet<String>, Fault>> + Send {
        std::future::ready(Ok(BTreeSet::new()))
    }

    /// Invokes a function's alias with a probe. Returns what the router decided, or its error message.
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
