//! The rules that a write must keep.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use kibus::model::{
    ClusterName, ClusterRecord, Document, Encryption, KmsKey, Maker, Moment, Queue, QueueName, Resource, ResourceId,
    RoleName, Scope, Tags,
};
use kibus::plan::{Action, Change, diff};
use serde_json::json;

use super::{Resources, State, stands};
use crate::support::policy_simulator::Caller;

/// The keys with which messages in each queue may be encrypted. No time passes here, so no message expires.
pub(super) type MessageKeys = BTreeMap<QueueName, BTreeSet<KmsKey>>;

/// S25: records the current keys of the queues. Messages stay encrypted with them until the queue is deleted.
pub(super) fn note_keys(keys: &mut MessageKeys, resources: &Resources) {
    keys.retain(|queue, _| resources.contains_key(&ResourceId::Queue(queue.clone())));
    for queue in resources.values().filter_map(|one| one.as_queue()) {
        let keys = keys.entry(queue.name.clone()).or_default();
        if let Encryption::Kms(key) = &queue.encryption {
            keys.insert(key.clone());
        }
    }
}

/// Which policies allow which queues, with each key that may encrypt a message in them: the router policy allows all
/// but the dead-letter queue, a controller policy its cluster queue.
pub(super) fn can_use(
    scope: &Scope,
    resources: &Resources,
    keys: &MessageKeys,
    now: u64,
) -> BTreeSet<(ResourceId, ResourceId, Option<KmsKey>)> {
    let mut found = BTreeSet::new();
    for queue in resources.values().filter_map(|one| one.as_queue()) {
        let leaves = queue.tags.being_deleted(now);
        if queue.name == scope.dead_letter_queue() || !is_of_bus(scope, &queue.tags) || leaves {
            continue;
        }
        let controller = tagged_cluster(scope, &queue.tags).map(|cluster| controller_policy(scope, cluster.as_str()));
        for policy in resources.values().filter_map(|one| one.as_role_policy()) {
            let uses = policy.name == scope.router_policy() || Some(policy.name.as_str()) == controller.as_deref();
            if !uses {
                continue;
            }
            let text = LazyCell::new(|| policy.document.compact());
            let pair = |key| {
                let id = ResourceId::RolePolicy(policy.role.clone(), policy.name.clone());
                (id, ResourceId::Queue(queue.name.clone()), key)
            };
            let now = match &queue.encryption {
                Encryption::Kms(key) => text.contains(key.as_str()),
                _ => true,
            };
            found.extend(now.then(|| pair(None)));
            let of_messages = keys.get(&queue.name).into_iter().flatten();
            let opened = of_messages.filter(|key| text.contains(key.as_str()));
            found.extend(opened.map(|key| pair(Some(key.clone()))));
        }
    }
    found
}

/// The queues whose policies deny the router's messages, with the current role.
pub(super) fn locked_out(scope: &Scope, resources: &Resources) -> Vec<QueueName> {
    let role = resources.get(&ResourceId::Role(scope.router_role()));
    let arn = role.and_then(|one| one.as_role()).map(|role| scope.role_arn(&role.path, &role.name));
    let queues = resources.values().filter_map(|one| one.as_queue());
    let delivered = queues.filter(|queue| tagged_cluster(scope, &queue.tags).is_some());
    let router = arn.map(Caller::principal);
    let denies = |queue: &Queue, router: &Caller| {
        let policy = queue.policy.as_ref();
        policy.is_some_and(|policy| !router.may_send(&scope.queue_arn(&queue.name), policy))
    };
    let locked = delivered.filter(|queue| router.as_ref().is_some_and(|router| denies(queue, router)));
    locked.map(|queue| queue.name.clone()).collect()
}

/// Whether this write is allowed: it was shown, kibus manages the resource, what it needs exists, and nothing depends on it. `hub`
/// has every id of the hub.
pub(super) fn allowed(
    scope: &Scope,
    hub: &BTreeSet<ResourceId>,
    state: &mut State,
    change: &Change,
) -> Result<(), String> {
    // Other tasks may run in between.
    let goes_on = change.action == Action::Update && change.after == state.unfinished;
    match state.made(change) {
        true => {}
        false if goes_on => state.unfinished = None,
        false => return Err("was not shown, or was made twice".to_owned()),
    }
    let (resources, now) = (&state.resources, state.now);
    let there = resources.get(&change.id);
    match (change.action, there) {
        // SQS and IAM accept the create of an existing resource with the same settings.
        (Action::Create, Some(there)) if diff(change.resource(), there, &BTreeSet::new()).is_empty() => {}
        (Action::Create, Some(_)) => return Err("exists".to_owned()),
        (Action::Create, None) => {
            if change.resource().tags().is_some_and(|tags| !is_of_bus(scope, tags)) {
                return Err("would not be recognized as managed".to_owned());
            }
        }
        (Action::Update | Action::Delete, None) => return Err("is gone".to_owned()),
        (Action::Update, Some(there)) if change.before.as_ref() != Some(&**there) => {
            return Err("differs from what was read".to_owned());
        }
        (Action::Delete | Action::Update, Some(there)) => {
            let adopts = || change.action == Action::Update && adopts(scope, state, there, change.resource());
            if !ours(scope, resources, there) && !adopts() {
                return Err("is not managed by kibus".to_owned());
            }
        }
    }
    let (resource, cluster) = (change.resource(), cluster_of(scope, change.resource()));
    if change.action == Action::Delete
        && resource.as_queue().is_some()
        && cluster.is_none()
        && !hub.contains(&change.id)
    {
        return Err("is deleted without both tags".to_owned());
    }
    if let (Some(cluster), None) = (cluster, resource.as_alarm())
        && records(scope, resources).get(&cluster).is_none_or(|record| resource.as_queue().is_some() && record.external)
    {
        return Err("has no record of kibus".to_owned());
    }
    match change.action {
        // A queue that is being deleted is unusable.
        Action::Delete if !stands(resources, &change.id, now) => Ok(()),
        Action::Delete => match users(scope, hub, resources, change.resource(), now).next() {
            Some(user) => Err(format!("goes while {user} needs it")),
            None => Ok(()),
        },
        Action::Create | Action::Update => {
            match needed(scope, hub, change.resource()).find(|id| !stands(resources, id, now)) {
                Some(missing) => Err(format!("needs {missing}, which is missing")),
                None => Ok(()),
            }
        }
    }
}

// What belongs to kibus, without the code that decides it in kibus: by the tags, the names and the record of a cluster.

fn is_of_bus(scope: &Scope, tags: &Tags) -> bool {
    tags.get("kibus:bus") == Some(scope.bus.as_str())
}

fn tagged_cluster(scope: &Scope, tags: &Tags) -> Option<ClusterName> {
    tags.get("kibus:cluster").filter(|_| is_of_bus(scope, tags))?.parse().ok()
}

fn controller_policy(scope: &Scope, cluster: &str) -> String {
    format!("{}.{}.{cluster}", scope.bus, scope.region)
}

/// The cluster to which a queue, an alarm or the policy of a controller belongs.
fn cluster_of(scope: &Scope, resource: &Resource) -> Option<ClusterName> {
    match resource {
        Resource::RolePolicy(policy) => policy.name.as_str().strip_prefix(&controller_policy(scope, ""))?.parse().ok(),
        _ => tagged_cluster(scope, resource.tags()?),
    }
}

/// The clusters with a record of kibus, and their records.
fn records<'a>(scope: &Scope, resources: &'a Resources) -> BTreeMap<ClusterName, &'a ClusterRecord> {
    let records = resources.values().filter_map(|one| one.as_record());
    let of_kibus = records.filter_map(|one| {
        let record = one.record().filter(|record| record.made_by == Maker::Kibus)?;
        let name = format!("/kibus/{}/clusters/{}", scope.bus, record.cluster);
        (one.name.as_str() == name).then(|| (record.cluster.clone(), record))
    });
    of_kibus.collect()
}

/// How far the clocks of SQS and Parameter Store may differ.
const SLACK: u64 = 5;

fn is_older(queue: &Queue, since: Moment) -> bool {
    queue.created + SLACK < since.0
}

/// Whether kibus manages the queue of a cluster: it is no older than the record, has no tag of anything else, and has both tags or
/// the lock of the bus.
fn has_own(scope: &Scope, record: &ClusterRecord, queue: &Queue) -> bool {
    let tags = [("kibus:bus", scope.bus.as_str()), ("kibus:cluster", record.cluster.as_str())];
    let tags = tags.map(|(key, value)| queue.tags.get(key).map(|tag| tag == value));
    let is_locked = || queue.policy.as_ref().is_some_and(|policy| has_lock(scope, queue, policy));
    !record.external
        && !record.since.is_some_and(|since| is_older(queue, since))
        && !tags.contains(&Some(false))
        && (tags == [Some(true); 2] || is_locked())
}

/// Whether a denial with the lock's Sid prevents everyone except the router of the bus from sending.
fn has_lock(scope: &Scope, queue: &Queue, policy: &Document) -> bool {
    let locks =
        policy.statements().into_iter().filter(|one| one["Sid"] == "KibusRouterOnly" && one["Effect"] == "Deny");
    let locks = json!({ "Statement": locks.collect::<Vec<_>>() });
    let arn = format!("arn:aws:sqs:{}:{}:{}", scope.region, scope.account, queue.name);
    let may_send = |role: String| {
        let role = format!("arn:aws:iam::{}:role/{role}", scope.account);
        Caller::principal(role).may("sqs:SendMessage", &arn, &locks)
    };
    may_send(format!("{}-router-{}", scope.bus, scope.region)) && !may_send("deploy".to_owned())
}

/// Whether this update adopts the queue, because the command requests it and the record says so.
fn adopts(scope: &Scope, state: &State, before: &Resource, after: &Resource) -> bool {
    let (Some(before), Some(after), Some(cluster)) = (before.as_queue(), after.as_queue(), cluster_of(scope, after))
    else {
        return false;
    };
    let after = Queue { created: before.created, ..after.clone() };
    let records = records(scope, &state.resources);
    state.adopted.contains(&cluster) && records.get(&cluster).is_some_and(|record| has_own(scope, record, &after))
}

/// Whether kibus manages a resource: what belongs to a cluster by the record of that cluster.
fn ours(scope: &Scope, resources: &Resources, resource: &Resource) -> bool {
    let tagged = |id: &ResourceId| {
        let tags = resources.get(id).and_then(|one| one.tags());
        tags.is_some_and(|tags| is_of_bus(scope, tags))
    };
    let has_role =
        |record: &ClusterRecord, role: &RoleName| record.role.iter().chain(&record.former_roles).any(|one| one == role);
    let is_hub_queue = |queue: &QueueName| {
        ["hub", "hub-dlq", "probe"].map(|part| format!("{}-{part}", scope.bus)).contains(&queue.to_string())
    };
    match resource {
        Resource::RolePolicy(r) if r.role == scope.router_role() => tagged(&ResourceId::Role(r.role.clone())),
        Resource::RolePolicy(r) => records(scope, resources).iter().any(|(cluster, record)| {
            controller_policy(scope, cluster.as_str()) == r.name.as_str() && has_role(record, &r.role)
        }),
        Resource::Record(r) => r.record().is_some_and(|record| record.made_by == Maker::Kibus),
        Resource::Queue(r) if !is_hub_queue(&r.name) => {
            let records = records(scope, resources);
            records.values().any(|record| record.queue == r.name && has_own(scope, record, r))
        }
        Resource::Queue(r) => {
            let settings = resources.get(&ResourceId::Parameter(scope.settings_parameter()));
            let since = settings.and_then(|one| one.as_parameter()).and_then(|one| Some(one.settings()?.since));
            is_of_bus(scope, &r.tags) && !since.is_some_and(|since| is_older(r, since))
        }
        Resource::Parameter(r) => r.name == scope.settings_parameter(),
        Resource::Alias(r) => tagged(&ResourceId::Function(r.function.clone())),
        // It may connect a foreign queue to the router, or the hub queue to another function.
        Resource::EventSourceMapping(r) => {
            tagged(&ResourceId::Queue(r.queue.clone())) || tagged(&ResourceId::Function(r.function.clone()))
        }
        _ => tagged(&resource.id()),
    }
}

/// The resources that this one needs.
fn needed(scope: &Scope, hub: &BTreeSet<ResourceId>, resource: &Resource) -> impl Iterator<Item = ResourceId> {
    let dead_letters = ResourceId::Queue(scope.dead_letter_queue());
    let router_policy = ResourceId::RolePolicy(scope.router_role(), scope.router_policy());
    // The settings exist before and after everything else of the bus, and the record of a cluster before and after all its resources.
    let settings = ResourceId::Parameter(scope.settings_parameter());
    let is_tagged = resource.tags().is_some_and(|tags| is_of_bus(scope, tags));
    let is_of_bus = is_tagged || hub.contains(&resource.id()) || resource.as_record().is_some();
    let settings = (is_of_bus && resource.id() != settings).then_some(settings);
    let record = cluster_of(scope, resource).map(|cluster| ResourceId::Record(scope.record_parameter(&cluster)));
    let ids = match resource {
        Resource::Queue(queue) if queue.redrive.is_some() => vec![dead_letters],
        Resource::Rule(_) => vec![dead_letters, ResourceId::Queue(scope.hub_queue())],
        Resource::RolePolicy(policy) if policy.role == scope.router_role() => {
            vec![ResourceId::Role(policy.role.clone())]
        }
        Resource::Function(_) => {
            vec![ResourceId::Role(scope.router_role()), ResourceId::LogGroup(scope.router_log_group())]
        }
        // Its self-test uses all of them.
        Resource::Alias(alias) => {
            vec![ResourceId::Function(alias.function.clone()), ResourceId::Queue(scope.probe_queue()), router_policy]
        }
        Resource::EventSourceMapping(mapping) => vec![
            ResourceId::Queue(mapping.queue.clone()),
            ResourceId::Alias(mapping.function.clone(), mapping.alias.clone()),
            router_policy,
        ],
        _ => Vec::new(),
    };
    ids.into_iter().chain(settings).chain(record)
}

/// The managed resources that need this one. An alias needs more only while it moves.
fn users(
    scope: &Scope,
    hub: &BTreeSet<ResourceId>,
    resources: &Resources,
    used: &Resource,
    now: u64,
) -> impl Iterator<Item = ResourceId> {
    let users: Vec<ResourceId> = resources
        .values()
        .map(|user| &**user)
        .filter(|user| needed(scope, hub, user).any(|id| id == used.id()))
        .filter(|user| ours(scope, resources, user) && stands(resources, &user.id(), now))
        .filter(|user| !matches!((user, used), (Resource::Alias(_), Resource::RolePolicy(_) | Resource::Queue(_))))
        .map(Resource::id)
        .collect();
    users.into_iter()
}
