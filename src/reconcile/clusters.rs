//! The clusters of a target: which ones are recorded, and their desired resources next to those that were read.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::blocked::{RoleSearch, RoleSource, no_such_roles, roles_not_found, unread, unusable_record};
use super::hub::former_options;
use super::roles::{self, FoundRole, read_policy};
use super::target::{ClusterSetting, Target, Wish};
use super::{Blocked, Case, Say, external, unrecorded};
use crate::error::{Hint, listed};
use crate::message::{Message, MessageKind};
use crate::model::{
    BadDocument, BusName, ClusterName, ClusterRecord, Desired, Fact, FindingCode, Moment, Observed, Queue, QueueName,
    Resource, ResourceId, RoleName, Scope, Settings, Standing, counted, policy,
    tags::{BUS, CLUSTER, DELETING},
};
use crate::survey::Survey;

/// A cluster, its queue and its controller role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ClusterObject"))]
pub struct ClusterSummary {
    pub name: ClusterName,
    /// The value for Karpenter's `settings.interruptionQueue`.
    #[serde(rename = "queue_name")]
    pub queue: QueueName,
    #[cfg_attr(test, schemars(regex(pattern = "^arn:")))]
    pub queue_arn: String,
    /// The role of the cluster's Karpenter controller. Null if kibus does not manage its policy.
    pub controller_role: Option<RoleName>,
    /// Whether another tool manages the queue.
    pub external: bool,
    /// What keeps events from the cluster, as far as its queue shows it. Null if nothing does.
    pub damage: Option<String>,
    /// How that role was found. Present only if kibus searched for it and it is not recorded yet.
    #[serde(rename = "controller_role_found_by", skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub found_by: BTreeSet<RoleSource>,
}

impl ClusterSummary {
    pub(super) fn from_record(scope: &Scope, record: &ClusterRecord) -> Self {
        Self {
            name: record.cluster.clone(),
            queue: record.queue.clone(),
            queue_arn: scope.queue_arn(&record.queue),
            controller_role: record.role.clone(),
            external: record.external,
            damage: None,
            found_by: BTreeSet::new(),
        }
    }

    /// A recorded cluster, with the evidence from its queue.
    pub(super) fn with_damage(survey: &Survey, record: &ClusterRecord) -> Self {
        Self { damage: damage(survey, record), ..Self::from_record(&survey.scope, record) }
    }
}

/// What keeps events from a recorded cluster, as far as its queue shows it: `verify` reports more.
fn damage(survey: &Survey, record: &ClusterRecord) -> Option<String> {
    let scope = &survey.scope;
    let damage = match survey.resource(&ResourceId::Queue(record.queue.clone())) {
        Fact::NotAsked | Fact::Unreadable(_) => return None,
        Fact::Absent => "queue missing",
        Fact::Present(found) => {
            let queue = found.as_queue()?;
            let has_lock = || queue.policy.as_ref().is_some_and(|policy| policy::has_lock(scope, &queue.name, policy));
            match queue.standing(scope, record) {
                _ if queue.tags.get(DELETING).is_some() => "queue marked as being deleted",
                _ if record.external && queue.tags.cluster_of(&scope.bus).as_ref() != Some(&record.cluster) => {
                    "queue lacks tags"
                }
                _ if !record.has_own_queue() => return None,
                Standing::Foreign => "queue not managed by kibus",
                Standing::LacksTags => "queue lacks tags",
                Standing::Ours if !has_lock() => "queue policy changed",
                Standing::Ours => return None,
            }
        }
    };
    Some(damage.to_owned())
}

/// How the roles of clusters were found, if kibus searched for them and they are not recorded yet.
pub(super) type FoundBy = BTreeMap<ClusterName, BTreeSet<RoleSource>>;

/// The records of the clusters that are set, each with its decided role.
pub(super) fn to_set(
    survey: &Survey,
    target: &Target,
    hub: &Settings,
) -> Result<(Vec<ClusterRecord>, FoundBy), Blocked> {
    let (mut records, mut found_by) = (Vec::new(), FoundBy::new());
    let (mut missing, mut not_found) = (Vec::new(), Vec::new());
    for (name, setting) in target.set() {
        let role = match roles::decide(survey, name, setting) {
            FoundRole::One(role, sources) => {
                if !sources.contains(&RoleSource::Record) {
                    found_by.insert(name.clone(), sources);
                }
                Some(role)
            }
            FoundRole::Unmanaged => None,
            FoundRole::NotOne(search) => {
                not_found.push(search);
                continue;
            }
            FoundRole::Missing(role) => {
                missing.push(role);
                continue;
            }
            // Everything else that must be read is requested in the same round.
            FoundRole::Open if survey.is_open() => None,
            FoundRole::Open => {
                if let Some(fault) = survey.known.listed_roles.fault() {
                    return Err(unread(survey, [("the roles in the account".into(), fault)]));
                }
                not_found.push(RoleSearch::nothing(name));
                continue;
            }
        };
        records.push(set(survey, hub, name, role, setting));
    }
    if !missing.is_empty() {
        return Err(no_such_roles(&survey.scope, &missing));
    }
    if !not_found.is_empty() {
        return Err(roles_not_found(&survey.scope, &not_found));
    }
    Ok((records, found_by))
}

/// The record that a cluster has once it is set.
fn set(
    survey: &Survey,
    hub: &Settings,
    name: &ClusterName,
    role: Option<RoleName>,
    setting: &ClusterSetting,
) -> ClusterRecord {
    let before = survey.record(name).cloned();
    let new = || ClusterRecord::new(&survey.scope, &hub.options, name.clone(), Moment(survey.now));
    let mut record = before.unwrap_or_else(new);
    // An adopted queue keeps its own age.
    if let Some(queue) = survey.queue(&record.queue).filter(|_| setting.adopts())
        && queue.is_older_than(record.since.unwrap_or_default())
    {
        record.since = Some(Moment(queue.created));
    }
    record.external = setting.external() || record.external && !setting.adopts();
    record.role = role;
    record.former_roles = BTreeSet::new();
    record.tags.extend(setting.tags().0);
    record.tags.retain(|key, _| !setting.removed.untag.contains(key));
    record
}

/// The parts of the clusters that are compared: the clusters that are set, as decided, and all others that the target
/// covers. `follow` means that all clusters follow a change of the hub.
pub(super) fn compared(
    survey: &Survey,
    target: &Target,
    hub: &Settings,
    set: &[ClusterRecord],
    follow: bool,
) -> (Desired, Observed) {
    let mut parts = Parts { survey, hub, desired: Desired::default(), observed: Observed::default() };
    for record in set {
        let adopts = target.setting(&record.cluster).is_some_and(ClusterSetting::adopts);
        parts.set(record, adopts);
    }
    for (name, record) in survey.recorded() {
        if !target.wants(&name) {
            parts.remove(record);
        } else if target.checks(&name) {
            parts.check(record);
        } else if follow && !target.clusters.contains_key(&name) {
            parts.follow(record);
        }
    }
    (parts.desired, parts.observed)
}

/// The desired resources of clusters, and the answers to compare them with.
struct Parts<'a> {
    survey: &'a Survey,
    hub: &'a Settings,
    desired: Desired,
    observed: Observed,
}

impl Parts<'_> {
    /// A cluster in its desired state. A queue that kibus may not change is left out: a guard refuses it.
    fn set(&mut self, record: &ClusterRecord, adopts: bool) {
        let Self { survey, hub, .. } = *self;
        let before = survey.record(&record.cluster);
        let mut desired = record.desired(&survey.scope, hub);
        let queue = ResourceId::Queue(record.queue.clone());
        if record.has_own_queue() {
            match survey.queue(&record.queue) {
                Some(live) if !adopts && !before.is_some_and(|before| is_own(survey, live, before)) => {
                    desired.remove(&queue);
                }
                _ => self.observe(queue.clone()),
            }
        } else if survey.resource(&queue).fault().is_some() && !before.is_some_and(|before| before.external) {
            // It is unknown whether it has the tags of the cluster.
            self.observe(queue.clone());
        }
        let leaves = before.into_iter().flat_map(|before| before.tags.keys());
        let leaves: Vec<String> = leaves.filter(|key| !record.tags.contains_key(*key)).cloned().collect();
        desired.untag(queue, leaves);
        self.observe(survey.record_id(&record.cluster));
        let former = before.map(ClusterRecord::roles).unwrap_or_default();
        self.policies(&record.cluster, former.into_iter().chain(record.role.clone()).collect());
        self.alarm(&record.cluster);
        self.desired.extend(desired);
    }

    /// A cluster to remove. A record that another tool created belongs to that tool, and so does a queue that kibus does not manage.
    fn remove(&mut self, record: &ClusterRecord) {
        self.alarm(&record.cluster);
        if !record.is_of_kibus() {
            return;
        }
        self.own_queue(record);
        self.observe(self.survey.record_id(&record.cluster));
        self.policies(&record.cluster, record.roles());
    }

    /// The queue of a cluster if it belongs to kibus, is absent or is unreadable: nothing is planned around a queue that could not be read.
    fn own_queue(&mut self, record: &ClusterRecord) {
        let is_read = match self.survey.own_queue(record) {
            Some((_, standing)) => standing == Standing::Ours,
            None => record.has_own_queue(),
        };
        if is_read {
            self.observe(ResourceId::Queue(record.queue.clone()));
        }
    }

    /// A cluster as recorded, without the leftovers of an interrupted change.
    fn check(&mut self, record: &ClusterRecord) {
        let kept = ClusterRecord { former_roles: BTreeSet::new(), ..record.clone() };
        if record.is_of_kibus() {
            self.set(&kept, false);
        } else {
            self.alarm(&record.cluster);
            let alarm = kept.desired(&self.survey.scope, self.hub);
            self.desired.extend(alarm.resources().filter(|one| one.as_alarm().is_some()).cloned().collect());
        }
    }

    /// A cluster that follows a change of the hub: the key of its queue and of its policies, and its alarm. No role
    /// receives a policy that it lacks.
    fn follow(&mut self, record: &ClusterRecord) {
        let Self { survey, hub, .. } = *self;
        self.alarm(&record.cluster);
        let wanted = record.desired(&survey.scope, hub);
        let alarm = wanted.resources().filter(|one| one.as_alarm().is_some());
        self.desired.extend(alarm.cloned().collect());
        let encryption = wanted.resources().find_map(Resource::as_queue).map(|queue| queue.encryption.clone());
        self.own_queue(record);
        if let (Some((live, Standing::Ours)), Some(encryption)) = (survey.own_queue(record), encryption) {
            self.desired.insert(Resource::Queue(Queue { encryption, ..live.clone() }));
        }
        // A tool that created the record has also created the policy.
        for role in record.roles().into_iter().filter(|_| record.is_of_kibus()) {
            if let Fact::Present(policy) = read_policy(survey, &record.cluster, &role) {
                self.observed.insert(policy.id(), Fact::Present(policy));
                self.desired.insert(record.policy_on(&role, &survey.scope, hub));
            }
        }
    }

    fn observe(&mut self, id: ResourceId) {
        let answer = match (&id, self.survey.scope.cluster_of_record(&id.name())) {
            (ResourceId::Record(_), Some(cluster)) => self.survey.record_answer(&cluster).clone(),
            _ => self.survey.resource(&id).clone(),
        };
        self.observed.insert(id, answer);
    }

    fn policies(&mut self, cluster: &ClusterName, roles: BTreeSet<RoleName>) {
        for role in roles {
            let id = self.survey.scope.controller_policy_id(cluster, &role);
            self.observed.insert(id, read_policy(self.survey, cluster, &role));
        }
    }

    fn alarm(&mut self, cluster: &ClusterName) {
        if self.hub.options.has_reader_alarms() || former_options(self.survey).has_reader_alarms() {
            self.observe(self.survey.scope.reader_alarm_id(cluster));
        }
    }
}

fn is_own(survey: &Survey, queue: &Queue, record: &ClusterRecord) -> bool {
    record.has_own_queue() && queue.standing(&survey.scope, record) != Standing::Foreign
}

/// Fails if it is unknown which clusters exist, or which of them a target covers.
pub(super) fn clusters_known(survey: &Survey, target: &Target, follow: bool) -> Result<(), Blocked> {
    let named: Vec<&ClusterName> = target.clusters.keys().collect();
    let answers: Vec<&Fact<Resource>> = named.iter().map(|name| survey.record_answer(name)).collect();
    let all = follow || target.is_of_all();
    let list = all.then(|| survey.records());
    if target.is_check() {
        return Ok(());
    }
    if answers.iter().any(|answer| answer.fault().is_some()) || list.is_some_and(|list| list.fault().is_some()) {
        return Err(unread(survey, []));
    }
    let is_about = |name: &ClusterName| all || target.clusters.contains_key(name);
    let unusable: Vec<Message> = unusable(survey)
        .into_iter()
        .filter(|(cluster, _)| cluster.as_ref().is_none_or(is_about))
        .map(|(_, message)| message)
        .collect();
    if !unusable.is_empty() {
        return Err(Blocked(unusable));
    }
    for name in target.set().map(|(name, _)| name) {
        survey.wait_for_leaving(&survey.cluster_queue(name));
    }
    Ok(())
}

/// The unusable records, with their clusters, which kibus skips.
pub(super) fn unusable(survey: &Survey) -> Vec<(Option<ClusterName>, Message)> {
    let records = survey.observed.resources().filter_map(Resource::as_record);
    let unusable = records.filter_map(|found| {
        let cluster = survey.scope.cluster_of_record(found.name.as_str());
        let why = match &found.content {
            Err(bad) => bad.to_string(),
            Ok(record) => {
                let wanted = survey.cluster_queue(&record.cluster);
                if record.queue == wanted {
                    return None;
                }
                format!("it names queue `{}`, but the queue of the cluster is `{wanted}`", record.queue)
            }
        };
        let is_newer = matches!(found.content, Err(BadDocument::Future(_)));
        Some((cluster.clone(), unusable_record(&survey.scope, &found.name, cluster, &why, is_newer)))
    });
    unusable.collect()
}

/// What prevents clusters from being set or removed. A check reports it.
pub(super) fn refusals(case: &Case<'_>, say: &mut Say) {
    let survey = case.survey;
    for record in &case.set {
        let Some(setting) = case.target.setting(&record.cluster) else { continue };
        say.refusals.extend(of_tool(case, &record.cluster));
        say.refusals.extend(if record.external {
            external::refusal(survey, record)
        } else {
            not_own(case, record, setting.adopts())
        });
    }
    for (name, record) in survey.recorded() {
        if case.target.removed().any(|removed| *removed == name) {
            say.refusals.extend(of_tool(case, &name));
        }
        if !case.target.wants(&name)
            && let Some((queue, Standing::LacksTags)) = survey.own_queue(record)
        {
            say.refusals.push(lacks_tags(&survey.scope, record, &queue.name));
        }
        if case.target.checks(&name) {
            say.refusals.extend(not_own(case, record, false));
        }
    }
    for name in case.target.removed().filter(|name| survey.record(name).is_none()) {
        let is_its = |queue: &Queue| {
            !queue.tags.being_deleted(survey.now) && queue.tags.cluster_of(&survey.scope.bus).as_ref() == Some(name)
        };
        match unrecorded(case, name, is_its) {
            // A repeated removal is not refused because of a queue that another owner keeps.
            Some(left) if case.target.ignore_missing => {
                say.warn(Hint::text(format!("{}; the queue stays", left.sentence)));
            }
            left => say.refusals.extend(left),
        }
    }
}

/// A record that another tool created.
fn of_tool(case: &Case<'_>, name: &ClusterName) -> Option<Message> {
    let record = case.survey.record(name).filter(|record| !record.is_of_kibus())?;
    let id = case.survey.record_id(name);
    let sentence = format!("{} created {id}, and only it changes and deletes it", record.made_by);
    let advice = format!(
        "change or remove it there, together with queue `{}` and the permission of the controller role",
        record.queue
    );
    Some(Message::refusal(FindingCode::NotManaged, id, sentence).in_cluster(Some(name.clone())).advise(advice))
}

/// Why kibus may not change the queue of a cluster to set or check, if the queue exists.
fn not_own(case: &Case<'_>, record: &ClusterRecord, adopts: bool) -> Option<Message> {
    let (survey, scope) = (case.survey, &case.survey.scope);
    if let Some(message) = of_other_bus(survey, record) {
        return Some(message);
    }
    if adopts {
        return missing(case, record);
    }
    let Some(before) = survey.record(&record.cluster) else {
        return unrecorded(case, &record.cluster, |_| true);
    };
    let (queue, standing) = survey.own_queue(before)?;
    if standing != Standing::Foreign {
        return None;
    }
    let name = &queue.name;
    let why = match queue.tags.get(BUS) {
        Some(bus) if bus != scope.bus.as_str() => format!("its tag names bus `{}`", bus.escape_debug()),
        _ if queue.is_older_than(before.since.unwrap_or_default()) => {
            "it is older than the record of the cluster".to_owned()
        }
        _ => match queue.tags.get(CLUSTER) {
            Some(other) if other != record.cluster.as_str() => {
                format!("its tag names cluster `{}`", other.escape_debug())
            }
            _ => "it has neither the tags nor the lock of this bus".to_owned(),
        },
    };
    let sentence = format!("queue `{name}` of cluster `{}` is not managed by kibus: {why}", record.cluster);
    let message =
        Message::refusal(FindingCode::NotManaged, name.clone(), sentence).in_cluster(Some(record.cluster.clone()));
    Some(ways(case, &record.cluster, message).advise("otherwise delete the queue, if nothing needs it"))
}

/// A queue with the tag of another bus, unless its record and its lock show that it belongs to this one.
fn of_other_bus(survey: &Survey, record: &ClusterRecord) -> Option<Message> {
    let ClusterRecord { cluster, queue, .. } = record;
    let found = survey.queue(queue)?;
    let bus: BusName = found.tags.get(BUS)?.parse().ok()?;
    let is_locked = found.policy.as_ref().is_some_and(|found| policy::has_lock(&survey.scope, queue, found));
    let before = survey.record(cluster);
    if bus == survey.scope.bus || before.is_some_and(|before| before.external || is_locked) {
        return None;
    }
    let sentence = format!("queue `{queue}` of cluster `{cluster}` belongs to bus `{bus}`, by its tag");
    let message = Message::refusal(FindingCode::NotManaged, queue.clone(), sentence).in_cluster(Some(cluster.clone()));
    let remove = survey.scope.kibus_on(Some(&bus), format!("remove-cluster {cluster}"));
    Some(message.advise("to keep both buses, give this bus its own queue names with `bootstrap-hub --queue-name`").then(
        "only one bus serves a cluster; to move the cluster, first remove it there, or remove its tag if that bus no longer exists:",
        remove,
    ))
}

/// An existing queue whose cluster has no record.
fn unrecorded(case: &Case<'_>, cluster: &ClusterName, counts: impl Fn(&Queue) -> bool) -> Option<Message> {
    let survey = case.survey;
    let queue = survey.queue(&survey.cluster_queue(cluster)).filter(|queue| counts(queue))?;
    let name = &queue.name;
    let waiting = match survey.depth(name).map_or(0, |depth| depth.messages()) {
        0 => String::new(),
        1 => "; about 1 message is waiting in it".to_owned(),
        count => format!("; about {} are waiting in it", counted(count, "message")),
    };
    let bus = &survey.scope.bus;
    let sentence = format!("queue `{name}` exists, but cluster `{cluster}` has no record on bus `{bus}`{waiting}");
    let message = Message::refusal(FindingCode::Unrecorded, name.clone(), sentence).in_cluster(Some(cluster.clone()));
    Some(ways(case, cluster, message))
}

/// The ways to record the queue of a cluster; the given command adopts it if it adds this cluster alone.
fn ways(case: &Case<'_>, cluster: &ClusterName, message: Message) -> Message {
    let scope = &case.survey.scope;
    let is_given =
        case.target.clusters.len() == 1 && case.target.setting(cluster).is_some_and(|given| !given.external());
    let adopt = if is_given { scope.again(" --adopt") } else { scope.kibus(format!("add-cluster {cluster} --adopt")) };
    unrecorded::ways_to_record(scope, cluster, message, adopt)
}

/// There is no queue to adopt.
fn missing(case: &Case<'_>, record: &ClusterRecord) -> Option<Message> {
    let queue = ResourceId::Queue(record.queue.clone());
    (*case.survey.observed.get(&queue) == Fact::Absent).then(|| {
        let sentence = format!("no queue to adopt: `{}` does not exist", record.queue);
        Message::new(MessageKind::Blocked, record.cluster.clone(), sentence)
            .note("kibus adopts only a standard queue with the name that the hub requires, never a FIFO queue")
            .then("to create a new queue instead:", case.survey.scope.kibus(format!("add-cluster {}", record.cluster)))
    })
}

/// A queue to delete that has lost its tags.
fn lacks_tags(scope: &Scope, record: &ClusterRecord, queue: &QueueName) -> Message {
    let sentence = format!(
        "queue `{queue}` has lost the tags of cluster `{}`, and kibus deletes no queue without them",
        record.cluster
    );
    Message::refusal(FindingCode::NotManaged, queue.clone(), sentence)
        .in_cluster(Some(record.cluster.clone()))
        .then("restore its tags first:", scope.kibus(format!("add-cluster {}", record.cluster)))
}

/// Warnings about queues that kibus takes over, and about queues that a removal leaves behind.
pub(super) fn warnings(case: &Case<'_>, say: &mut Say) {
    let survey = case.survey;
    let adopted =
        case.set.iter().filter(|record| case.target.setting(&record.cluster).is_some_and(ClusterSetting::adopts));
    for (record, queue) in adopted.filter_map(|record| Some((record, survey.queue(&record.queue)?))) {
        if survey.record(&record.cluster).is_some_and(|before| is_own(survey, queue, before)) {
            continue;
        }
        let (name, since) = (&queue.name, String::from(Moment(queue.created)));
        let depth = survey.depth(name).unwrap_or_default();
        let tags: Vec<String> =
            queue.tags.0.iter().map(|(key, value)| format!("{key}={value}").escape_debug().to_string()).collect();
        let tags = if tags.is_empty() { "no tags".to_owned() } else { format!("the tags {}", listed(tags)) };
        say.warn(Hint::text(format!(
            "queue `{name}` has existed since {since}, with {tags}; it holds about {}, and {} in flight. Its policy \
             will be replaced, and its reader will receive the waiting messages",
            counted(depth.waiting, "message"),
            depth.in_flight
        )));
        say.warn(Hint::text(format!(
            "a tool that manages queue `{name}` would undo these changes: release the queue there first. From now on, \
             `remove-cluster` deletes the queue"
        )));
    }
    for record in survey.recorded().into_values().filter(|record| !case.target.wants(&record.cluster)) {
        if let Some((queue, Standing::Foreign)) = survey.own_queue(record) {
            let name = &queue.name;
            say.warn(Hint::text(format!(
                "queue `{name}` of cluster `{}` is not managed by kibus and stays",
                record.cluster
            )));
        }
    }
    if case.target.others == Wish::Remove {
        unrecorded::left(case, say);
    }
}

/// A name is close to another if it differs by one edit, or by one edit per this many letters.
const LETTERS_PER_EDIT: usize = 4;

/// Fails if a named cluster cannot be the one that the user meant.
pub(super) fn names_known(survey: &Survey, target: &Target) -> Result<(), Blocked> {
    none_unknown(survey, target)?;
    known_to_eks(survey, target)
}

/// Fails if a cluster to remove has no record. A cluster whose queue still has its tags is refused later.
fn none_unknown(survey: &Survey, target: &Target) -> Result<(), Blocked> {
    let is_recorded = |name: &&ClusterName| survey.record_answer(name) != &Fact::Absent;
    let (known, mut unknown): (BTreeSet<ClusterName>, BTreeSet<ClusterName>) =
        target.removed().cloned().partition(|name| is_recorded(&name));
    if unknown.is_empty() || target.ignore_missing {
        return Ok(());
    }
    // The user may have meant other clusters.
    survey.records();
    unknown.retain(|name| {
        let queue = survey.queue(&survey.cluster_queue(name));
        queue.and_then(|queue| queue.tags.cluster_of(&survey.scope.bus)).as_ref() != Some(name)
    });
    all_known(survey, &unknown, &known)
}

/// Fails if there are names without a recorded cluster, unless it is unknown which clusters are recorded.
pub fn check_names(survey: &Survey, names: &BTreeSet<ClusterName>) -> Result<(), Blocked> {
    if survey.records().present().is_none() {
        return Ok(());
    }
    let recorded = survey.recorded().into_keys().collect();
    all_known(survey, &(names - &recorded), &BTreeSet::new())
}

/// Fails if there are names that no cluster has, in addition to these others.
fn all_known(survey: &Survey, unknown: &BTreeSet<ClusterName>, others: &BTreeSet<ClusterName>) -> Result<(), Blocked> {
    let others: Vec<&str> = others.iter().map(ClusterName::as_str).collect();
    let unknown = unknown.iter().map(|name| {
        let sentence = format!("no cluster `{name}` on bus `{}`", survey.scope.bus);
        let message = unknown_name(name, sentence, survey.recorded().into_keys())
            .then("to list the clusters:", survey.scope.kibus("list"));
        if others.is_empty() {
            message
        } else {
            message.then(
                "to remove the other clusters:",
                survey.scope.kibus(format!("remove-cluster {}", others.join(" "))),
            )
        }
    });
    let unknown: Vec<Message> = unknown.collect();
    if unknown.is_empty() { Ok(()) } else { Err(Blocked(unknown)) }
}

/// A cluster that does not exist, and which of these the user may have meant.
fn unknown_name(name: &ClusterName, sentence: String, all: impl Iterator<Item = ClusterName>) -> Message {
    let message = Message::new(MessageKind::Blocked, name.clone(), sentence);
    let similar = close(name, all);
    if similar.is_empty() {
        message
    } else {
        message.note(format!("did you mean {} instead of `{name}`?", listed(&similar)))
    }
}

/// The clusters with similar names.
pub(super) fn close(name: &ClusterName, clusters: impl Iterator<Item = ClusterName>) -> BTreeSet<ClusterName> {
    let is_close = |other: &ClusterName| {
        let edits = strsim::osa_distance(name.as_str(), other.as_str());
        edits <= (name.as_str().len() / LETTERS_PER_EDIT).max(1)
    };
    clusters.filter(is_close).collect()
}

/// Fails if EKS lists clusters, but not these. An account may have no clusters yet.
fn known_to_eks(survey: &Survey, target: &Target) -> Result<(), Blocked> {
    let asked = roles::first_recorded(survey, target);
    if asked.is_empty() {
        return Ok(());
    }
    let Some(all) = survey.eks_clusters().present().filter(|all| !all.is_empty()) else {
        return Ok(());
    };
    let unknown = asked.into_iter().filter(|name| !all.contains(*name));
    let Scope { region, account, .. } = &survey.scope;
    let unknown = unknown.map(|name| {
        let sentence = format!("EKS has no cluster `{name}` in {region} of account {account}");
        unknown_name(name, sentence, all.iter().cloned()).then(
            "if the cluster will be created later, or is not an EKS cluster, run again without this check:",
            survey.scope.again(" --no-eks-check"),
        )
    });
    let unknown: Vec<Message> = unknown.collect();
    if unknown.is_empty() { Ok(()) } else { Err(Blocked(unknown)) }
}
