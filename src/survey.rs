//! All reading: the resources of one hub, its clusters and their controller roles, as one value. A survey decides nothing and
//! prints nothing. What is read follows from what a pass over it asks for.

mod reader;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reader::Reader;
pub use reader::{Known, Query};

use crate::cloud::{Fault, Probe, Read};
pub use crate::cloud::{ListedRole, RolePolicies};
use crate::model::{
    BadSettings, BusName, ClusterName, Depth, Fact, HubOptions, MappingState, Observed, Queue, QueueName, QueuePrefix,
    Resource, ResourceId, RoleName, RouterHandler, Scope, Settings, Status, Tags, VersionState, default_queue_prefix,
    hub,
};

/// Everything that was read of one hub. Each question of the table is a method, which gives the answer, or notes the question if
/// it has none yet. The fields tell what is known so far, and ask nothing.
#[derive(Clone, Debug)]
pub struct Survey {
    pub scope: Scope,
    /// The caller's ARN, as STS gives it.
    pub caller: String,
    /// The role that the caller has assumed, if it is one.
    pub caller_role: Option<RoleName>,
    /// When it was last extended, by the local clock in Unix seconds; 0 if nothing was read yet.
    pub now: u64,
    /// The prefix of cluster queues, if the hub has no settings.
    pub new_prefix: Option<QueuePrefix>,
    /// The resources, by id: of the hub, of clusters, and controllers' policies that kibus wrote or would write.
    pub observed: Observed,
    pub status: BTreeMap<ResourceId, Status>,
    pub known: Known,
    /// Whether settings that are missing were read again, and are lost.
    settings_are_lost: bool,
    /// The questions without an answer.
    open: RefCell<Query>,
}

#[derive(Clone, Copy, Debug)]
pub enum SlowStep {
    /// Messages wait in queues, and their counts are read again.
    Glance,
    /// The same for a minute.
    Watch,
    /// IAM is asked which calls it allows.
    Simulate,
    /// The bus, if so, and this many clusters are probed.
    Probe { bus: bool, clusters: usize },
    /// Results of probes are missing, after this time.
    ProbeGoesOn { missing: usize, all: usize, after: Duration },
}

/// A survey asks at most this often: each time it asks, it knows more.
const ROUNDS: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("after {ROUNDS} rounds of reads, kibus still asks for {0:?}")]
pub struct Endless(Box<Query>);

/// Reads what `pass` asks for, with at most `limit` calls at once, and runs it again until it asks for nothing. Gives its last
/// result. `guess` is read first, with the settings of the hub: what `pass` will certainly ask for, if the hub has the prefix
/// that the survey begins with. What takes long is given to `report`. A survey that does not end is a bug of kibus.
pub async fn survey<T>(
    cloud: &(impl Read + Probe),
    mut survey: Survey,
    limit: usize,
    guess: Query,
    report: &dyn Fn(SlowStep),
    pass: impl Fn(&Survey) -> T,
) -> Result<(Survey, T), Endless> {
    let reader = Reader::new(cloud, limit, report);
    cloud.caller().clone_into(&mut survey.caller);
    survey.caller_role = cloud.caller_role();
    let prefix = survey.queue_prefix();
    let mut query = guess;
    // A survey that goes on has them.
    if !survey.observed.get(&survey.settings_id()).is_asked() {
        query.resources.insert(survey.settings_id());
    }
    for round in 0..ROUNDS {
        reader.answer(&mut survey, &query).await;
        // Queues under another prefix are not those of the clusters that were asked about.
        if round == 0 && survey.queue_prefix() != prefix {
            survey.forget_clusters(&query);
        }
        let result = pass(&survey);
        query = survey.take_open();
        if query.is_empty() {
            return Ok((survey, result));
        }
    }
    Err(Endless(Box::new(query)))
}

pub async fn buses(cloud: &impl Read) -> Result<BTreeSet<BusName>, Fault> {
    Ok(cloud.buses().await?.unwrap_or_default())
}

/// All roles of the account, with their ARNs, which contain their paths.
pub async fn role_arns(cloud: &impl Read) -> Result<BTreeMap<RoleName, String>, Fault> {
    let roles = cloud.listed_roles().await?.unwrap_or_default();
    Ok(roles.into_iter().map(|(name, role)| (name, role.arn)).collect())
}

impl Survey {
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            caller: String::new(),
            caller_role: None,
            now: 0,
            new_prefix: None,
            observed: Observed::default(),
            status: BTreeMap::new(),
            known: Known::default(),
            settings_are_lost: false,
            open: RefCell::default(),
        }
    }

    /// Whether a question has no answer yet, so that what follows from this survey is not final.
    pub fn is_open(&self) -> bool {
        !self.open.borrow().is_empty()
    }

    pub fn take_open(&self) -> Query {
        self.open.take()
    }

    pub fn resource(&self, id: &ResourceId) -> &Fact<Resource> {
        let answer = self.observed.get(id);
        if !answer.is_asked() {
            self.open.borrow_mut().resources.insert(id.clone());
        }
        answer
    }

    /// A queue, whoever manages it, if it exists.
    pub fn queue(&self, name: &QueueName) -> Option<&Queue> {
        self.resource(&ResourceId::Queue(name.clone())).present()?.as_queue()
    }

    /// Finds the queues that may be those of clusters, and reads them.
    pub fn discover(&self) -> &Fact<BTreeSet<QueueName>> {
        let found = self.cluster_queues(&self.queue_prefix());
        let hub = self.scope.hub_queues();
        let queues = found.present().into_iter().flatten();
        for queue in queues.filter(|queue| !hub.contains(queue)) {
            self.queue(queue);
        }
        found
    }

    /// The queues that discovery found.
    pub fn discovered(&self) -> &Fact<BTreeSet<QueueName>> {
        let found = self.known.cluster_queues.get(&self.queue_prefix());
        found.unwrap_or(const { &Fact::NotAsked })
    }

    fn forget_clusters(&mut self, query: &Query) {
        let hub = self.scope.hub_queues();
        let is_of_cluster = |id: &&ResourceId| matches!(id, ResourceId::Queue(queue) if !hub.contains(queue));
        for id in query.resources.iter().filter(is_of_cluster) {
            self.observed.remove(id);
            self.status.remove(id);
        }
    }

    /// The parameter with the settings of the hub, which is known before it exists.
    pub fn settings_id(&self) -> ResourceId {
        ResourceId::Parameter(self.scope.settings_parameter())
    }

    /// The settings in the parameter of the hub.
    pub fn saved(&self) -> Saved<'_> {
        match self.observed.get(&self.settings_id()) {
            Fact::Unreadable(fault) => Saved::Unreadable(fault),
            Fact::Present(parameter) => match parameter.as_parameter().map(|found| &found.settings) {
                Some(Ok(settings)) => Saved::Kept(settings),
                Some(Err(bad)) => Saved::Bad(bad),
                None => Saved::Absent,
            },
            Fact::Absent | Fact::NotAsked => Saved::Absent,
        }
    }

    pub fn settings(&self) -> Option<&Settings> {
        let parameter = self.observed.get(&self.settings_id()).present()?;
        parameter.as_parameter()?.settings()
    }

    pub fn options(&self) -> Option<&HubOptions> {
        self.settings().map(|settings| &settings.options)
    }

    /// Whether something of the hub exists without its settings, as far as it was read, and does not only wait for its delete.
    pub fn has_lost_settings(&self) -> bool {
        let is_part = |part: &Resource| match part.tags() {
            Some(tags) => tags.belong_to(&self.scope.bus) && !tags.being_deleted(self.now),
            None => false,
        };
        let ids = hub::ids(&self.scope, None);
        self.saved() == Saved::Absent && ids.iter().filter_map(|id| self.observed.resource(id)).any(is_part)
    }

    /// Whether only the resources of the hub tell which options it had.
    pub fn lacks_settings(&self) -> bool {
        matches!(self.saved(), Saved::Bad(_)) || self.has_lost_settings()
    }

    /// The prefix of cluster queues on this hub, as far as it is known.
    pub fn queue_prefix(&self) -> QueuePrefix {
        let served = || {
            let function = self.observed.function(self.scope.router_function())?;
            Some(RouterHandler::of(&function.settings)?.prefix)
        };
        let saved = self.options().map(HubOptions::queue_prefix);
        let prefix = saved.or_else(|| self.new_prefix.clone());
        prefix.or_else(served).unwrap_or_else(default_queue_prefix)
    }

    pub fn cluster_queue(&self, cluster: &ClusterName) -> QueueName {
        self.scope.cluster_queue(&self.queue_prefix(), cluster)
    }

    /// The tags of a cluster's queue, whoever manages it; `None` if it is absent or was not read.
    pub fn queue_tags(&self, cluster: &ClusterName) -> Option<&Tags> {
        let queue = self.observed.queue(self.cluster_queue(cluster))?;
        Some(&queue.tags)
    }

    /// What a queue has saved counts unless it is being deleted, or its policy has no statement of kibus.
    pub fn saved_tags(&self, cluster: &ClusterName) -> Option<&Tags> {
        let queue = self.observed.queue(self.cluster_queue(cluster))?;
        let counts = queue.origin(&self.scope).is_some() && !queue.tags.being_deleted(self.now);
        counts.then_some(&queue.tags)
    }

    /// The queue of a cluster, if it is external: another tool manages it. A queue of the hub is none.
    pub fn external_queue(&self, cluster: &ClusterName) -> Option<&Queue> {
        let queue = self.observed.queue(self.cluster_queue(cluster))?;
        let is_its = queue.tags.cluster_of(&self.scope.bus).as_ref() == Some(cluster);
        let is_of_hub = || self.scope.hub_queues().contains(&queue.name);
        (is_its && queue.is_external(&self.scope.bus) && !is_of_hub()).then_some(queue)
    }

    /// The tags of the queue of a cluster, if it is registered.
    pub fn registration(&self, cluster: &ClusterName) -> Option<&Tags> {
        let external = || Some(&self.external_queue(cluster)?.tags);
        let tags = self.saved_tags(cluster).or_else(external)?;
        (tags.cluster_of(&self.scope.bus).as_ref() == Some(cluster)).then_some(tags)
    }

    /// Whom the policy of the queue of a cluster lets use it as the controller: the ARN of a role, or the id of a deleted one. This is
    /// the record of a grant in the policy of a queue.
    pub fn controller_of(&self, cluster: &ClusterName) -> Option<&str> {
        let queue = self.observed.queue(self.cluster_queue(cluster))?;
        let counts = queue.origin(&self.scope).is_some() && !queue.tags.being_deleted(self.now);
        queue.controller().filter(|_| counts)
    }

    /// The role that this is. Only the tag has the name of a deleted one.
    pub fn granted_role(&self, cluster: &ClusterName) -> Option<RoleName> {
        let own = self.scope.own_role(self.controller_of(cluster)?);
        own.or_else(|| self.queue_tags(cluster)?.controller_role())
    }

    /// The ARN of the role of a cluster: as it is listed, else as the policy of the queue has it.
    pub fn controller_arn(&self, cluster: &ClusterName, role: Option<&RoleName>) -> Option<&str> {
        let listed = self.known.listed_roles.present();
        let arn = role.and_then(|role| Some(listed?.get(role)?.arn.as_str()));
        arn.or_else(|| self.controller_of(cluster))
    }

    /// The registered clusters among the queues that were read, with the tags of each queue.
    pub fn registered(&self) -> BTreeMap<ClusterName, &Tags> {
        let mut clusters = self.clusters();
        clusters.retain(|_, tags| !tags.being_deleted(self.now));
        clusters
    }

    /// The clusters that have a queue, registered or being deleted: one with the tags of the bus, and either a statement of kibus
    /// in its policy or the tag of an external one. A tag alone makes no queue one that kibus changes.
    pub fn clusters(&self) -> BTreeMap<ClusterName, &Tags> {
        let known = self.tagged().filter(|(_, queue)| self.is_of_cluster(queue));
        known.map(|(cluster, queue)| (cluster, &queue.tags)).collect()
    }

    fn is_of_cluster(&self, queue: &Queue) -> bool {
        queue.origin(&self.scope).is_some() || queue.is_external(&self.scope.bus)
    }

    /// The clusters whose queues have the tags of the bus and are not external, without a statement of kibus in their policies.
    pub fn only_tagged(&self) -> BTreeMap<ClusterName, &Queue> {
        let others = self.tagged().filter(|(_, queue)| !self.is_of_cluster(queue));
        others.filter(|(_, queue)| !queue.tags.being_deleted(self.now)).collect()
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

    /// How many messages a queue held when it was read.
    pub fn depth(&self, queue: &QueueName) -> Option<Depth> {
        match self.status.get(&ResourceId::Queue(queue.clone())) {
            Some(Status::Queue(depth)) => Some(*depth),
            _ => None,
        }
    }

    pub fn mapping(&self) -> Option<&MappingState> {
        self.status.values().find_map(|status| match status {
            Status::Mapping(state) => Some(state),
            Status::Queue(_) | Status::Version(_) => None,
        })
    }

    pub fn live_version(&self) -> Option<&VersionState> {
        self.status.values().find_map(|status| match status {
            Status::Version(state) => Some(state),
            Status::Queue(_) | Status::Mapping(_) => None,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved<'a> {
    /// The parameter does not exist, or was not read yet.
    Absent,
    Unreadable(&'a Fault),
    /// The parameter holds something else.
    Bad(&'a BadSettings),
    Kept(&'a Settings),
}
