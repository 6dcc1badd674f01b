//! The seam to AWS: what can be asked ([`Read`]), what can be changed ([`Write`]), and what a probe needs ([`Probe`]). What
//! dead letters need is in their own room.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::sync::watch;

use crate::model::document::Document;
use crate::model::dropped_clusters::DroppedClusters;
use crate::model::event_rule::{EventRule, RuleTarget};
use crate::model::inline_policy::InlinePolicy;
use crate::model::karpenter::Association;
use crate::model::name::{
    BusName, ClusterName, FunctionName, KmsKey, LogGroupName, QueueName, QueuePrefix, RoleName, RuleName,
};
use crate::model::probe::Look;
use crate::model::queue_activity::QueueActivity;
use crate::model::resource::{FunctionMapping, FunctionPermission, FunctionSettings, Resource, ResourceId};
use crate::model::self_test::LiveTest;
use crate::model::settings::SettingsChange;
use crate::model::simulation::{Answered, Simulation};
use crate::model::status::{Depth, Status};
use crate::model::tags::Tags;
use crate::plan::Op;

pub use crate::model::fault::{Fault, FaultKind};

/// A resource, and its status at the moment of the read.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub resource: Resource,
    /// Its status, for a kind that has one.
    pub status: Option<Status>,
}

/// A role in the list of roles.
#[derive(Clone, Debug)]
pub struct ListedRole {
    /// Its ARN, which contains its path.
    pub arn: String,
    /// Its trust policy, if that names a provider of web identities.
    pub web_trust: Option<Document>,
}

/// What can be asked of one account and Region. No method changes anything.
pub trait Read: Send + Sync {
    /// Reads one resource completely, with its status. `None` means that it is certainly absent.
    fn snapshot(&self, id: &ResourceId) -> impl Future<Output = Result<Option<Snapshot>, Fault>> + Send;

    /// Reads one resource completely. `None` means that it is certainly absent.
    fn read(&self, id: &ResourceId) -> impl Future<Output = Result<Option<Resource>, Fault>> + Send {
        async move { Ok(self.snapshot(id).await?.map(|snapshot| snapshot.resource)) }
    }

    /// The queues that may belong to clusters of this bus: by tag, united with all that begin with the prefix. A hint
    /// and never a proof; each is read before anything is planned for it.
    fn cluster_queues(&self, prefix: &QueuePrefix) -> impl Future<Output = Result<BTreeSet<QueueName>, Fault>> + Send;

    /// The names of the queues that begin with this, whoever manages them. A hint and never a proof.
    fn queues(&self, prefix: &str) -> impl Future<Output = Result<BTreeSet<QueueName>, Fault>> + Send;

    /// The queues that have this queue as their dead-letter queue, whoever manages them; `None` if there is no such queue.
    fn dead_letter_sources(
        &self,
        queue: &QueueName,
    ) -> impl Future<Output = Result<Option<BTreeSet<QueueName>>, Fault>> + Send;

    /// The buses of the account and Region whose settings exist.
    fn buses(&self) -> impl Future<Output = Result<BTreeSet<BusName>, Fault>> + Send;

    /// The writes of the hub's settings after this version, as far as the caller may know them.
    fn settings_changes(&self, version: u64) -> impl Future<Output = Vec<SettingsChange>> + Send;

    /// All roles of the account.
    fn listed_roles(&self) -> impl Future<Output = Result<BTreeMap<RoleName, ListedRole>, Fault>> + Send;

    /// The names of the EKS clusters.
    fn eks_clusters(&self) -> impl Future<Output = Result<BTreeSet<ClusterName>, Fault>> + Send;

    /// The EKS pod identity associations of Karpenter's service account, in any namespace of a cluster; `None` if there is
    /// no such cluster.
    fn pod_identity_associations(
        &self,
        cluster: &ClusterName,
    ) -> impl Future<Output = Result<Option<BTreeSet<Association>>, Fault>> + Send;

    /// The URL of the OpenID Connect issuer of an EKS cluster; `None` if there is no such cluster, or it has no issuer.
    fn oidc_issuer(&self, cluster: &ClusterName) -> impl Future<Output = Result<Option<String>, Fault>> + Send;

    /// The names of a role's inline policies, whoever wrote them; `None` if there is no such role.
    fn inline_policy_names(
        &self,
        role: &RoleName,
    ) -> impl Future<Output = Result<Option<BTreeSet<String>>, Fault>> + Send;

    /// One inline policy of a role, whoever wrote it; `None` if it is absent.
    fn inline_policy(
        &self,
        role: &RoleName,
        policy: &str,
    ) -> impl Future<Output = Result<Option<InlinePolicy>, Fault>> + Send;

    /// The inline policies of those of these roles that exist, in few calls, which read every role of the account.
    fn inline_policies(
        &self,
        roles: &BTreeSet<RoleName>,
    ) -> impl Future<Output = Result<BTreeMap<RoleName, Vec<InlinePolicy>>, Fault>> + Send;

    /// What the policies of a user or role, given by its ARN, decide about calls. If IAM does not take its actions together,
    /// there is an answer to each.
    fn simulate(&self, principal: &str, simulation: &Simulation) -> impl Future<Output = Vec<Answered>> + Send;

    /// How many concurrent invocations of the account and Region are reserved for no function; `None` if the answer
    /// does not say.
    fn unreserved_concurrency(&self) -> impl Future<Output = Result<Option<u32>, Fault>> + Send;

    /// The policy of a KMS key; `None` if there is no such key.
    fn key_policy(&self, key: &KmsKey) -> impl Future<Output = Result<Option<Document>, Fault>> + Send;

    /// The settings that a version of a function was published with; `None` if there is no such version.
    fn published_version(
        &self,
        function: &FunctionName,
        version: u64,
    ) -> impl Future<Output = Result<Option<FunctionSettings>, Fault>> + Send;

    /// The event source mappings of a function, its aliases and its versions, whoever created them.
    fn function_mappings(
        &self,
        function: &FunctionName,
    ) -> impl Future<Output = Result<BTreeSet<FunctionMapping>, Fault>> + Send;

    /// The statements of the resource policies of a function, of its live alias and of its versions, whoever added them.
    fn function_permissions(
        &self,
        function: &FunctionName,
    ) -> impl Future<Output = Result<BTreeSet<FunctionPermission>, Fault>> + Send;

    /// The clusters whose events a router dropped in the last day because they are not on its bus, from its log.
    fn dropped_clusters(&self, log: &LogGroupName) -> impl Future<Output = Result<DroppedClusters, Fault>> + Send;

    /// All rules of the default event bus, whoever created them.
    fn event_rules(&self) -> impl Future<Output = Result<Vec<EventRule>, Fault>> + Send;

    /// All targets of a rule; `None` if there is no such rule.
    fn rule_targets(&self, rule: &RuleName) -> impl Future<Output = Result<Option<Vec<RuleTarget>>, Fault>> + Send;

    /// The tags of a rule; `None` if there is no such rule.
    fn rule_tags(&self, rule: &RuleName) -> impl Future<Output = Result<Option<Tags>, Fault>> + Send;

    /// What happened on these queues in the last day. A queue of which nothing is known is missing.
    fn queue_activity(
        &self,
        queues: &BTreeSet<QueueName>,
    ) -> impl Future<Output = Result<BTreeMap<QueueName, QueueActivity>, Fault>> + Send;

    /// The role that the caller has assumed, if it is one.
    fn caller_role(&self) -> Option<RoleName>;

    /// The time of the local clock, in Unix seconds.
    fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.unwrap_or_default().as_secs()
    }

    /// Lets time pass before a read is repeated.
    fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(time)
    }
}

/// What can be changed in one account and Region.
pub trait Write: Send + Sync {
    /// Reads a resource that exists by the refusal of a create; `None` if it is absent. If a read may miss it because it is
    /// new, waits until a read finds it.
    fn read_back(
        &self,
        id: &ResourceId,
        waiting: Waiting<'_>,
    ) -> impl Future<Output = Result<Option<Resource>, Fault>> + Send;

    /// Reads what a step must know before its write, while the steps before it are in progress. It changes nothing. A
    /// fault is left to the write, which reads again.
    fn prepare(&self, _: &Op) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Makes one step of a plan, and returns when it is in force; a delete, when it is accepted. A wait that a person
    /// would wonder about is reported to `waiting`, with its reason. On a request to stop, a wait ends with
    /// [`FaultKind::Stopped`]; AWS calls in progress are finished.
    fn write(&self, op: &Op, waiting: Waiting<'_>) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Waits until AWS no longer answers for a resource whose delete it has accepted. It takes few calls and much time, so
    /// many of these waits may run at once.
    fn gone(&self, id: &ResourceId, waiting: Waiting<'_>) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// How a write waits for AWS: to whom it reports why, and who may ask it to stop.
#[derive(Clone, Copy)]
pub struct Waiting<'a> {
    report: &'a (dyn Fn(&str) + Sync),
    stop: Option<&'a watch::Receiver<bool>>,
}

impl<'a> Waiting<'a> {
    /// Reports to `report`; ends once `stop` is true.
    pub fn new(report: &'a (dyn Fn(&str) + Sync), stop: &'a watch::Receiver<bool>) -> Self {
        let stop = Some(stop);
        Self { report, stop }
    }

    /// Reports to nobody, and nobody asks it to stop.
    pub fn unattended() -> Self {
        Self {
            report: &|_| {},
            stop: None,
        }
    }

    /// Reports why the write waits.
    pub fn report(self, reason: &str) {
        (self.report)(reason);
    }

    /// Returns once someone asks to stop.
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

/// What `verify --probe` needs: an event of kibus's own, and what becomes of it.
pub trait Probe: Send + Sync {
    /// Puts an event on the default event bus, which adds its id and time.
    fn put_event(&self, event: &Value) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Receives and deletes the copies of a probe from the probe queue, and messages of self-tests; waits for some
    /// seconds. Gives the number of copies.
    fn take_probe(&self, queue: &QueueName, probe: &str) -> impl Future<Output = Result<u32, Fault>> + Send;

    /// Looks at the messages of a queue. Hides what it shows from the consumer for a second.
    fn look(&self, queue: &QueueName) -> impl Future<Output = Result<Look, Fault>> + Send;

    /// Invokes a function's alias with a probe and waits until it is routed. Gives the function's counts, or its error
    /// message.
    fn route_probe(
        &self,
        function: &FunctionName,
        alias: &str,
        probe: &Value,
    ) -> impl Future<Output = Result<Result<Value, String>, Fault>> + Send;

    /// Asks the version behind a function's alias for its self-test, without waiting for anything that is in progress.
    /// `None` if the version does not exist or is not ready.
    fn self_test(
        &self,
        function: &FunctionName,
        alias: &str,
    ) -> impl Future<Output = Result<Option<LiveTest>, Fault>> + Send;

    /// How many messages a queue holds; `None` if it is absent.
    fn depth(&self, queue: &QueueName) -> impl Future<Output = Result<Option<Depth>, Fault>> + Send;
}
