//! All reads: the resources of one hub, its clusters and their controller roles, as one value. A survey decides nothing
//! and prints nothing. A pass over the survey determines what is read.

mod reader;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reader::Reader;
pub use reader::{Known, Query};

use crate::cloud::{Fault, Probe, Read};
pub use crate::cloud::{ListedRole, RolePolicies};
use crate::model::{
    BadDocument, BusName, ClusterName, ClusterRecord, Depth, EventRule, Fact, HubOptions, MappingState, Observed,
    Queue, QueueName, QueueTemplate, Resource, ResourceId, RoleName, RouterHandler, RuleName, Scope, Settings, Signal,
    Standing, Status, VersionState, default_queue_template, hub,
};

/// Everything that was read about one hub. Each question of the table is a method, which returns the answer, or records
/// the question if there is no answer yet. The fields contain what is known so far, and record no questions.
#[derive(Clone, Debug)]
pub struct Survey {
    pub scope: Scope,
    /// The role that the caller has assumed, if it is one.
    pub caller_role: Option<RoleName>,
    /// When it was last extended, by AWS's clock in Unix seconds; 0 if nothing was read yet.
    pub now: u64,
    /// The template of cluster queue names, if the hub has no settings.
    pub new_template: Option<QueueTemplate>,
    /// The resources, by id: those of the hub and of clusters, and controller policies that kibus wrote or would write.
    pub observed: Observed,
    pub status: BTreeMap<ResourceId, Status>,
    pub known: Known,
    /// Whether missing settings were read again, and are lost.
    settings_are_lost: bool,
    /// The questions without an answer.
    open: RefCell<Query>,
}

#[derive(Clone, Copy, Debug)]
pub enum SlowStep {
    /// A queue that was marked for deletion still answers.
    QueueLeaves,
    /// The bus, if set, and this many clusters are being probed.
    Probe { bus: bool, clusters: usize },
    /// Some probe results are still missing after this time.
    ProbeGoesOn { missing: usize, all: usize, after: Duration },
}

/// The maximum number of rounds of a survey: it knows more after each round.
const ROUNDS: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("after {ROUNDS} rounds of reads, kibus still requests {0:?}")]
pub struct Endless(Box<Query>);

/// Reads what `pass` requests, with at most `limit` concurrent calls, and runs it again until it requests nothing.
/// Returns its last result. `guess` is read first, with the settings of the hub: what `pass` will certainly request, if
/// the hub has the queue names that the survey begins with. Slow steps are reported to `report`. A survey that does not
/// end is a bug of kibus.
pub async fn survey<T>(
    cloud: &(impl Read + Probe),
    mut survey: Survey,
    limit: usize,
    guess: Query,
    report: &dyn Fn(SlowStep),
    pass: impl Fn(&Survey) -> T,
) -> Result<(Survey, T), Endless> {
    let reader = Reader::new(cloud, limit, report);
    survey.caller_role = cloud.caller_role();
    let template = survey.queue_template();
    let mut query = guess;
    // Answers that the survey had at the start.
    if !survey.observed.get(&survey.settings_id()).is_asked() {
        query.resources.insert(survey.settings_id());
    }
    for round in 0..ROUNDS {
        reader.answer(&mut survey, &query).await;
        // If the queue names differ, the queues that were read are not those of the clusters.
        if round == 0 && survey.queue_template() != template {
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

/// The buses in the account and Region, and, if buses without settings could not be listed, why.
pub async fn buses(cloud: &impl Read) -> Result<(BTreeSet<BusName>, Option<Fault>), Fault> {
    let (saved, tagged) = tokio::join!(cloud.buses(), cloud.tagged_buses());
    let mut buses = saved?.unwrap_or_default();
    let unknown = match tagged {
        Ok(tagged) => {
            buses.extend(tagged.unwrap_or_default());
            None
        }
        Err(fault) => Some(fault),
    };
    Ok((buses, unknown))
}

/// All roles in the account, with their ARNs, which contain their paths.
pub async fn role_arns(cloud: &impl Read) -> Result<BTreeMap<RoleName, String>, Fault> {
    let roles = cloud.listed_roles().await?.unwrap_or_default();
    Ok(roles.into_iter().map(|(name, role)| (name, role.arn)).collect())
}

impl Survey {
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            caller_role: None,
            now: 0,
            new_template: None,
            observed: Observed::default(),
            status: BTreeMap::new(),
            known: Known::default(),
            settings_are_lost: false,
            open: RefCell::default(),
        }
    }

    /// Whether a question has no answer yet, so that conclusions from this survey are not final.
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

    /// Requests the fate of a queue that a plan would create, but that still answers with the deletion mark.
    pub fn wait_for_leaving(&self, name: &QueueName) {
        if self.queue(name).is_some_and(|queue| queue.tags.being_deleted(self.now)) {
            self.leaving_queues(name);
        }
    }

    /// The rules that may send the same events past the router: enabled, for Karpenter's events, and not named like a
    /// rule of this bus. The targets of this bus's rules are read with the hub, where every foreign target is refused.
    fn other_rules(&self) -> impl Iterator<Item = &EventRule> {
        let all = self.event_rules().present().into_iter().flatten();
        let own = Signal::ALL.map(|signal| self.scope.rule(signal));
        let is_candidate = move |rule: &&EventRule| {
            rule.enabled && !rule.matched(&self.scope.account).signals.is_empty() && !own.contains(&rule.name)
        };
        all.filter(is_candidate)
    }

    /// The ones that send to a queue. Unreadable rules are left out: a check needs no permission for foreign rules.
    pub fn rules_of_queue(&self, queue: &QueueName) -> BTreeMap<&RuleName, &EventRule> {
        let arn = self.scope.queue_arn(queue);
        let sends = |rule: &&EventRule| {
            let mut targets = self.rule_targets(&rule.name).present().into_iter().flatten();
            targets.any(|target| target.arn == arn)
        };
        self.other_rules().filter(sends).map(|rule| (&rule.name, rule)).collect()
    }

    /// The record of a cluster, as far as it was read: a record that is not in the complete list is absent.
    pub fn record_answer(&self, cluster: &ClusterName) -> &Fact<Resource> {
        let id = self.record_id(cluster);
        let answer = self.observed.get(&id);
        if !answer.is_asked() && self.known.records.present().is_some() {
            return const { &Fact::Absent };
        }
        self.resource(&id)
    }

    pub fn record_id(&self, cluster: &ClusterName) -> ResourceId {
        ResourceId::Record(self.scope.record_parameter(cluster))
    }

    /// The record of a cluster, if it was read and can be used: it names the queue that the hub computes.
    pub fn record(&self, cluster: &ClusterName) -> Option<&ClusterRecord> {
        let record = self.observed.resource(&self.record_id(cluster))?.as_record()?.record()?;
        (record.queue == self.cluster_queue(cluster)).then_some(record)
    }

    /// The records that were read and can be used, by their clusters.
    pub fn recorded(&self) -> BTreeMap<ClusterName, &ClusterRecord> {
        let records = self.observed.resources().filter_map(|resource| resource.as_record()?.record());
        let usable = records.filter_map(|record| self.record(&record.cluster));
        usable.map(|record| (record.cluster.clone(), record)).collect()
    }

    /// The queue of a cluster, if it exists, and how it relates to the bus; nothing if kibus does not manage it.
    pub fn own_queue(&self, record: &ClusterRecord) -> Option<(&Queue, Standing)> {
        let queue = self.queue(&record.queue).filter(|_| record.has_own_queue())?;
        Some((queue, queue.standing(&self.scope, record)))
    }

    fn forget_clusters(&mut self, query: &Query) {
        let hub = self.scope.hub_queues();
        let is_of_cluster = |id: &&ResourceId| matches!(id, ResourceId::Queue(queue) if !hub.contains(queue));
        for id in query.resources.iter().filter(is_of_cluster) {
            self.observed.remove(id);
            self.status.remove(id);
        }
    }

    /// The parameter for the settings of the hub, whose id is known before it exists.
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

    /// Whether, as far as was read, some resource of the hub exists without the settings.
    pub fn has_lost_settings(&self) -> bool {
        !self.parts_without_settings().is_empty()
    }

    /// The resources of the hub that exist while its settings do not. A queue that is only waiting for its deletion
    /// counts as gone with the settings, unless it stayed after the wait.
    pub fn parts_without_settings(&self) -> BTreeSet<ResourceId> {
        if self.saved() != Saved::Absent {
            return BTreeSet::new();
        }
        let stays =
            |queue: &QueueName| self.known.leaving_queues.get(queue).is_some_and(|found| found.present().is_some());
        let is_part = |part: &Resource| {
            part.tags().is_some_and(|tags| {
                let leaves = tags.being_deleted(self.now) && !part.as_queue().is_some_and(|queue| stays(&queue.name));
                tags.belong_to(&self.scope.bus) && !leaves
            })
        };
        let mut ids = hub::ids(&self.scope, None);
        ids.retain(|id| self.observed.resource(id).is_some_and(is_part));
        ids
    }

    /// Whether only the resources of the hub show which options it had.
    pub fn lacks_settings(&self) -> bool {
        matches!(self.saved(), Saved::Bad(_)) || self.has_lost_settings()
    }

    /// The template of cluster queue names on this hub, as far as it is known.
    pub fn queue_template(&self) -> QueueTemplate {
        let served = || {
            let function = self.observed.function(self.scope.router_function())?;
            Some(RouterHandler::from_settings(&function.settings)?.template)
        };
        let saved = self.options().map(HubOptions::queue_template);
        let template = saved.or_else(|| self.new_template.clone());
        template.or_else(served).unwrap_or_else(default_queue_template)
    }

    pub fn cluster_queue(&self, cluster: &ClusterName) -> QueueName {
        self.scope.cluster_queue(&self.queue_template(), cluster)
    }

    /// The number of messages that a queue held when it was read.
    pub fn depth(&self, queue: &QueueName) -> Option<Depth> {
        match self.status.get(&ResourceId::Queue(queue.clone())) {
            Some(Status::Queue(depth)) => Some(*depth),
            _ => None,
        }
    }

    pub fn mapping(&self) -> Option<&MappingState> {
        self.status.values().find_map(|status| match status {
            Status::Mapping(state) => Some(state),
            _ => None,
        })
    }

    pub fn live_version(&self) -> Option<&VersionState> {
        self.status.values().find_map(|status| match status {
            Status::Version(state) => Some(state),
            _ => None,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved<'a> {
    /// The parameter does not exist, or was not read yet.
    Absent,
    Unreadable(&'a Fault),
    /// The parameter has other content.
    Bad(&'a BadDocument),
    Kept(&'a Settings),
}
