//! All reading: the resources of one hub, its clusters and their controller roles, as one value. A survey decides
//! nothing and prints nothing. What is read follows from the target, as a [`Query`].

mod eks;
mod event_rules;
mod query;
mod reader;
mod saved;

use std::collections::{BTreeMap, BTreeSet};

pub use eks::{Eks, EksQuery};
pub use event_rules::EventRules;
pub use query::Query;
pub use saved::Saved;

use crate::cloud::{Fault, Read};
use crate::model::document::Document;
use crate::model::dropped_clusters::DroppedClusters;
use crate::model::fact::Fact;
use crate::model::hub::default_queue_prefix;
use crate::model::inline_policy::InlinePolicy;
use crate::model::inventory::{Observed, Reading};
use crate::model::name::{BusName, ClusterName, KmsKey, QueueName, QueuePrefix, RoleName};
use crate::model::options::HubOptions;
use crate::model::probe::Probed;
use crate::model::resource::{FunctionMapping, FunctionPermission, FunctionSettings, Queue, Resource, ResourceId};
use crate::model::router_handler::RouterHandler;
use crate::model::scope::Scope;
use crate::model::self_test::LiveTest;
use crate::model::simulation::Decision;
use crate::model::status::{Depth, MappingState, QueueState, Status, VersionState};
use crate::model::tags::Tags;
use reader::Reader;

/// Everything that was read of one hub.
#[derive(Clone, Debug)]
pub struct Survey {
    pub scope: Scope,
    /// The role that the caller has assumed, if it is one.
    pub caller_role: Option<RoleName>,
    /// When it was last extended, by the local clock in Unix seconds; 0 if nothing was read yet.
    pub now: u64,
    /// The prefix of cluster queues, if the hub has no settings.
    new_prefix: Option<QueuePrefix>,
    /// The resources, by id: of the hub, of clusters, and controllers' policies that kibus wrote or would write.
    pub observed: Observed,
    pub status: BTreeMap<ResourceId, Status>,
    /// The queues that discovery found.
    pub discovered: Fact<BTreeSet<QueueName>>,
    /// The queues that exist, among those with usual names that were asked about.
    pub usual_queues: Fact<BTreeSet<QueueName>>,
    /// The names of all roles of the account.
    pub role_names: Fact<BTreeSet<RoleName>>,
    /// Their ARNs.
    pub role_arns: BTreeMap<RoleName, String>,
    /// The trust policies of those of them that trust a provider of web identities.
    pub web_trusts: BTreeMap<RoleName, Document>,
    /// What EKS has answered.
    pub eks: Eks,
    /// The policies of this bus on roles; absent if the role does not exist.
    pub roles: BTreeMap<RoleName, Fact<RolePolicies>>,
    /// What policies decide about the calls of controllers, by action, as far as IAM said it.
    pub controller_access: BTreeMap<(ClusterName, RoleName), BTreeMap<String, Decision>>,
    /// All inline policies of roles; absent if the role does not exist.
    pub all_policies: BTreeMap<RoleName, Fact<RolePolicies>>,
    pub key_policies: BTreeMap<KmsKey, Fact<Document>>,
    /// The queues that have a queue as their dead-letter queue, whoever manages them.
    pub dead_letter_sources: BTreeMap<QueueName, Fact<BTreeSet<QueueName>>>,
    /// How much concurrency of the account is reserved for no function.
    pub unreserved_concurrency: Fact<u32>,
    /// Published versions of the router, with their settings.
    pub versions: BTreeMap<u64, Fact<FunctionSettings>>,
    /// The event source mappings of the router, its aliases and its versions, whoever created them.
    pub function_mappings: Fact<BTreeSet<FunctionMapping>>,
    /// The statements of the router's resource policies, whoever added them.
    pub function_permissions: Fact<BTreeSet<FunctionPermission>>,
    /// The clusters whose events the router dropped in the last day because they are not on its bus.
    pub dropped_clusters: Fact<DroppedClusters>,
    /// The rules of the default event bus, and their queues.
    pub event_rules: EventRules,
    pub tried: Tried,
}

/// The inline policies of a role with a name of this bus, by name.
pub type RolePolicies = BTreeMap<String, InlinePolicy>;

/// What was tried on a bus, besides reading it once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// Further samples of queues with waiting messages.
    pub later: BTreeMap<QueueName, Vec<Depth>>,
    /// Whether these samples cover a minute.
    pub watched: bool,
    /// What became of a self-test of the live router.
    pub live: Fact<LiveTest>,
    pub probed: Vec<Probed>,
}

/// A survey asks at most this often: each time it asks, it knows more.
const ROUNDS: usize = 8;

/// The questions did not end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("after {ROUNDS} rounds of reads, kibus still asks for {0:?}")]
pub struct Endless(Box<Query>);

/// Reads what `needs` asks for and was not read yet, with at most `limit` calls at once. It is asked first about a survey in
/// which nothing is read. The survey ends when there is nothing left to read.
///
/// # Errors
/// When it does not end. This is a bug of kibus.
pub async fn survey(
    cloud: &impl Read,
    scope: Scope,
    limit: usize,
    needs: impl Fn(&Survey) -> Query,
) -> Result<Survey, Endless> {
    let mut survey = Survey::new(scope);
    let mut query = needs(&survey);
    for _ in 0..ROUNDS {
        survey.extend(cloud, &query, limit).await;
        query = survey.unread(needs(&survey));
        if query.is_empty() {
            return Ok(survey);
        }
    }
    Err(Endless(Box::new(query)))
}

/// The buses of an account and Region whose settings exist.
pub async fn buses(cloud: &impl Read) -> Result<BTreeSet<BusName>, Fault> {
    cloud.buses().await
}

/// All roles of the account, with their ARNs, which contain their paths.
pub async fn role_arns(cloud: &impl Read) -> Result<BTreeMap<RoleName, String>, Fault> {
    let roles = cloud.listed_roles().await?.into_iter();
    Ok(roles.map(|(name, role)| (name, role.arn)).collect())
}

impl Survey {
    /// A survey of a hub in which nothing is read yet.
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            caller_role: None,
            now: 0,
            new_prefix: None,
            observed: Observed::default(),
            status: BTreeMap::new(),
            discovered: Fact::NotAsked,
            usual_queues: Fact::NotAsked,
            role_names: Fact::NotAsked,
            role_arns: BTreeMap::new(),
            web_trusts: BTreeMap::new(),
            eks: Eks::default(),
            roles: BTreeMap::new(),
            controller_access: BTreeMap::new(),
            all_policies: BTreeMap::new(),
            key_policies: BTreeMap::new(),
            dead_letter_sources: BTreeMap::new(),
            unreserved_concurrency: Fact::NotAsked,
            versions: BTreeMap::new(),
            function_mappings: Fact::NotAsked,
            function_permissions: Fact::NotAsked,
            dropped_clusters: Fact::NotAsked,
            event_rules: EventRules::default(),
            tried: Tried::default(),
        }
    }

    async fn extend(&mut self, cloud: &impl Read, query: &Query, limit: usize) {
        self.new_prefix = query.new_prefix.clone().or(self.new_prefix.take());
        self.caller_role = cloud.caller_role();
        Reader::new(cloud, limit).answer(self, query).await;
        self.now = cloud.now();
    }

    /// The query without what was read already.
    fn unread(&self, mut query: Query) -> Query {
        let is_unread = |id: &ResourceId| self.observed.get(id).is_none();
        query.resources.retain(is_unread);
        let queue = |cluster: &ClusterName| ResourceId::Queue(self.cluster_queue(cluster));
        query.clusters.retain(|cluster| is_unread(&queue(cluster)));
        let sources = &self.dead_letter_sources;
        query.dead_letter_sources.retain(|queue| !sources.contains_key(queue));
        query.roles.retain(|role| !self.roles.contains_key(role));
        query.all_policies.retain(|role| !self.all_policies.contains_key(role));
        query.versions.retain(|version| !self.versions.contains_key(version));
        query.key = query.key.filter(|key| !self.key_policies.contains_key(key));
        self.event_rules.take_from(&mut query);
        query.role_names &= !self.role_names.is_asked();
        let access = &self.controller_access;
        query
            .controller_access
            .retain(|of| !access.contains_key(of) && self.role_arns.contains_key(&of.1));
        query.concurrency &= !self.unreserved_concurrency.is_asked();
        query.eks = self.eks.unread(query.eks);
        query
    }

    /// Whether the resources of the hub were read.
    pub fn has_read_hub(&self) -> bool {
        let role = ResourceId::Role(self.scope.router_role());
        self.observed.get(&role).is_some()
    }

    /// Whether something was read.
    pub fn began(&self) -> bool {
        self.now > 0
    }

    /// The prefix of cluster queues on this hub, as far as it is known.
    pub fn queue_prefix(&self) -> QueuePrefix {
        let saved = self.options().map(HubOptions::queue_prefix);
        let prefix = saved.or_else(|| self.new_prefix.clone());
        prefix
            .or_else(|| self.served_prefix())
            .unwrap_or_else(default_queue_prefix)
    }

    /// The prefix that the router serves.
    fn served_prefix(&self) -> Option<QueuePrefix> {
        let function = self.observed.function(self.scope.router_function())?;
        Some(RouterHandler::of(&function.settings)?.prefix)
    }

    /// The queue of a cluster on this hub.
    pub fn cluster_queue(&self, cluster: &ClusterName) -> QueueName {
        self.scope.cluster_queue(&self.queue_prefix(), cluster)
    }

    /// The tags of a cluster's queue, whoever manages it; `None` if it is absent or was not read.
    pub fn queue_tags(&self, cluster: &ClusterName) -> Option<&Tags> {
        let queue = self.observed.queue(self.cluster_queue(cluster))?;
        Some(&queue.tags)
    }

    /// The same, unless the queue is being deleted or its policy has no statement of kibus: what it has saved does not
    /// count.
    pub fn saved_tags(&self, cluster: &ClusterName) -> Option<&Tags> {
        let queue = self.observed.queue(self.cluster_queue(cluster))?;
        let counts = queue.origin(&self.scope).is_some() && !queue.tags.being_deleted(self.now);
        counts.then_some(&queue.tags)
    }

    /// The tags of the queue of a cluster, if it is registered.
    pub fn registration(&self, cluster: &ClusterName) -> Option<&Tags> {
        let tags = self.saved_tags(cluster)?;
        (tags.cluster_of(&self.scope.bus).as_ref() == Some(cluster)).then_some(tags)
    }

    /// The registered clusters among the queues that were read, with the tags of each queue.
    pub fn registered(&self) -> BTreeMap<ClusterName, &Tags> {
        let mut clusters = self.clusters();
        clusters.retain(|_, tags| !tags.being_deleted(self.now));
        clusters
    }

    /// The clusters that have a queue, registered or being deleted: one with the tags of the bus and a statement of kibus in
    /// its policy. A tag alone makes no queue one of the bus.
    pub fn clusters(&self) -> BTreeMap<ClusterName, &Tags> {
        let ours = self.tagged().filter(|(_, queue)| queue.origin(&self.scope).is_some());
        ours.map(|(cluster, queue)| (cluster, &queue.tags)).collect()
    }

    /// The clusters whose queues have the tags of the bus, and no statement of kibus in their policies.
    pub fn only_tagged(&self) -> BTreeMap<ClusterName, &Queue> {
        let others = self.tagged().filter(|(_, queue)| queue.origin(&self.scope).is_none());
        others
            .filter(|(_, queue)| !queue.tags.being_deleted(self.now))
            .collect()
    }

    /// The queues with the tags of a cluster of the bus. Kibus did not create one that has another name.
    fn tagged(&self) -> impl Iterator<Item = (ClusterName, &Queue)> {
        let prefix = self.queue_prefix();
        let queues = self.observed.resources().filter_map(Resource::as_queue);
        queues.filter_map(move |queue| {
            let cluster = queue.tags.cluster_of(&self.scope.bus)?;
            (self.scope.cluster_queue(&prefix, &cluster) == queue.name).then_some((cluster, queue))
        })
    }

    /// Every reading that failed, with its fault.
    pub fn faults(&self) -> impl Iterator<Item = (&ResourceId, &Fault)> {
        self.observed.iter().filter_map(|(id, reading)| match reading {
            Reading::Unreadable(fault) => Some((id, fault)),
            Reading::Absent | Reading::Present(_) => None,
        })
    }

    /// How many messages a queue held when it was read.
    pub fn depth(&self, queue: &QueueName) -> Option<Depth> {
        self.queue_state(queue).map(|state| state.depth)
    }

    /// The state of a queue when it was read.
    pub fn queue_state(&self, queue: &QueueName) -> Option<QueueState> {
        match self.status.get(&ResourceId::Queue(queue.clone())) {
            Some(Status::Queue(state)) => Some(*state),
            _ => None,
        }
    }

    /// The state of the event source mapping, if it exists.
    pub fn mapping(&self) -> Option<&MappingState> {
        self.status.values().find_map(|status| match status {
            Status::Mapping(state) => Some(state),
            Status::Queue(_) | Status::Version(_) => None,
        })
    }

    /// The state of the live version of the router, if there is one.
    pub fn live_version(&self) -> Option<&VersionState> {
        self.status.values().find_map(|status| match status {
            Status::Version(state) => Some(state),
            Status::Queue(_) | Status::Mapping(_) => None,
        })
    }
}
