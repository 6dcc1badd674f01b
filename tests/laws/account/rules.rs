//! The rules that a write must keep.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use kibus::iam::grants::lets_role_receive;
use kibus::model::{
    Encryption, KmsKey, QueueName, Resource, ResourceId, Scope,
    policy::{self, QueueOrigin},
    tags::CLUSTER,
};
use kibus::plan::{Action, Change};

use super::{Desired, State, stands};
use crate::queue_policies::Sender;

/// The keys that messages in each queue may be under. No time passes here, so no message expires.
pub(super) type MessageKeys = BTreeMap<QueueName, BTreeSet<KmsKey>>;

/// S25: notes the keys that the queues have now. Messages stay under them, until the queue is deleted.
pub(super) fn note_keys(keys: &mut MessageKeys, resources: &Desired) {
    keys.retain(|queue, _| resources.contains_key(&ResourceId::Queue(queue.clone())));
    for queue in resources.values().filter_map(Resource::as_queue) {
        let keys = keys.entry(queue.name.clone()).or_default();
        if let Encryption::Kms(key) = &queue.encryption {
            keys.insert(key.clone());
        }
    }
}

/// Which policies allow which queues, with each key that a message in them may be under: the router policy all but the
/// dead-letter queue, a controller policy its cluster queue.
pub(super) fn can_use(
    scope: &Scope,
    resources: &Desired,
    keys: &MessageKeys,
    now: u64,
) -> BTreeSet<(ResourceId, ResourceId, Option<KmsKey>)> {
    let mut found = BTreeSet::new();
    for queue in resources.values() {
        let Resource::Queue(queue) = queue else { continue };
        let leaves = queue.tags.being_deleted(now);
        if queue.name == scope.dead_letter_queue() || !queue.tags.belong_to(&scope.bus) || leaves {
            continue;
        }
        let controller = queue.tags.cluster_of(&scope.bus).map(|cluster| scope.controller_policy(&cluster));
        for policy in resources.values() {
            let Resource::RolePolicy(policy) = policy else { continue };
            let uses = policy.name == scope.router_policy() || Some(&policy.name) == controller.as_ref();
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

/// The queues of clusters that a controller can read: by their own policies, or by a policy on a role.
pub(in crate::laws) fn with_access(scope: &Scope, resources: &Desired) -> BTreeSet<ResourceId> {
    let queues = resources.values().filter_map(Resource::as_queue);
    let readable = queues.filter(|queue| {
        let by_itself = queue
            .controller()
            .is_some_and(|role| lets_role_receive(queue.policy.as_ref().unwrap(), &scope.queue_arn(&queue.name), role));
        let policy = queue.tags.cluster_of(&scope.bus).map(|cluster| scope.controller_policy(&cluster));
        let mut policies = resources.values().filter_map(Resource::as_role_policy);
        by_itself || policies.any(|one| Some(&one.name) == policy.as_ref())
    });
    readable.map(|queue| ResourceId::Queue(queue.name.clone())).collect()
}

/// The queues whose policies deny the router's messages, with the role as it is.
pub(super) fn locked_out(scope: &Scope, resources: &Desired) -> Vec<QueueName> {
    let role = resources.get(&ResourceId::Role(scope.router_role()));
    let arn = role.and_then(Resource::as_role).map(|role| scope.role_arn(&role.path, &role.name));
    let queues = resources.values().filter_map(Resource::as_queue);
    let delivered = queues.filter(|queue| queue.tags.belong_to(&scope.bus) && queue.tags.get(CLUSTER).is_some());
    let locked = delivered.filter(|queue| {
        let router = arn.clone().map(Sender::principal);
        router.is_some_and(|router| queue.policy.as_ref().is_some_and(|policy| !router.may_send(policy)))
    });
    locked.map(|queue| queue.name.clone()).collect()
}

/// Whether this write is allowed: it was shown, kibus manages the resource, and nothing depends on it. `hub` has every id of the
/// hub.
pub(super) fn allowed(
    scope: &Scope,
    hub: &BTreeSet<ResourceId>,
    state: &mut State,
    change: &Change,
) -> Result<(), String> {
    // Other tasks may run in between.
    let goes_on = change.action == Action::Update && change.after == state.unfinished;
    match state.shown.iter().position(|shown| shown == change) {
        Some(place) => drop(state.shown.swap_remove(place)),
        None if goes_on => state.unfinished = None,
        None => return Err("was not shown, or is made twice".to_owned()),
    }
    let (resources, now) = (&state.resources, state.now);
    let there = resources.get(&change.id);
    match (change.action, there) {
        (Action::Create, Some(_)) => return Err("exists".to_owned()),
        (Action::Create, None) => {
            if change.resource().tags().is_some_and(|tags| !tags.belong_to(&scope.bus)) {
                return Err("would not be known as ours".to_owned());
            }
        }
        (Action::Update | Action::Delete, None) => return Err("is gone".to_owned()),
        (Action::Update, Some(there)) if change.before.as_ref().map(numberless) != Some(numberless(there)) => {
            return Err("is not what was seen".to_owned());
        }
        (Action::Delete | Action::Update, Some(there)) => {
            if !ours(scope, resources, there) && !takes_over(scope, change) {
                return Err("is not managed by kibus".to_owned());
            }
        }
    }
    match change.action {
        // Nothing works with a queue that is being deleted.
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

/// A resource without the number of the last write, which a plan of two changes does not know.
fn numberless(resource: &Resource) -> Resource {
    let mut resource = resource.clone();
    if let Resource::Parameter(parameter) = &mut resource {
        parameter.version = 0;
    }
    resource
}

/// Whether a queue without a statement of kibus is taken over, as the command asks.
fn takes_over(scope: &Scope, change: &Change) -> bool {
    let queue = |resource: &Option<Resource>| resource.as_ref().and_then(Resource::as_queue).cloned();
    let (Some(from), Some(to)) = (queue(&change.before), queue(&change.after)) else {
        return false;
    };
    from.origin(scope).is_none() && to.origin(scope) == Some(QueueOrigin::Adopted)
}

fn ours(scope: &Scope, resources: &Desired, resource: &Resource) -> bool {
    let tagged = |id: &ResourceId| {
        let tags = resources.get(id).and_then(Resource::tags);
        tags.is_some_and(|tags| tags.belong_to(&scope.bus))
    };
    match resource {
        Resource::RolePolicy(r) => policy::all_ours(&r.document) || tagged(&ResourceId::Role(r.role.clone())),
        Resource::Alias(r) => tagged(&ResourceId::Function(r.function.clone())),
        Resource::EventSourceMapping(r) => tagged(&ResourceId::Queue(r.queue.clone())),
        _ => tagged(&resource.id()),
    }
}

/// The resources that this one needs.
fn needed(scope: &Scope, hub: &BTreeSet<ResourceId>, resource: &Resource) -> impl Iterator<Item = ResourceId> {
    let dead_letters = ResourceId::Queue(scope.dead_letter_queue());
    let router_policy = ResourceId::RolePolicy(scope.router_role(), scope.router_policy());
    // The settings are there before anything else of the hub, and after it. Policies of controllers need a queue.
    let settings = ResourceId::Parameter(scope.settings_parameter());
    let is_tagged = resource.tags().is_some_and(|tags| tags.belong_to(&scope.bus));
    let is_of_hub = is_tagged || hub.contains(&resource.id());
    let settings = (is_of_hub && resource.id() != settings).then_some(settings);
    let ids = match resource {
        Resource::Queue(queue) if queue.redrive.is_some() => vec![dead_letters],
        Resource::Rule(_) => vec![dead_letters, ResourceId::Queue(scope.hub_queue())],
        Resource::RolePolicy(policy) if policy.role == scope.router_role() => {
            vec![ResourceId::Role(policy.role.clone())]
        }
        // The queue of the policy's cluster saves the role.
        Resource::RolePolicy(policy) => {
            let statements = policy.document.statements();
            let arns = statements.iter().filter_map(|statement| statement["Resource"].as_str());
            let queues = arns.filter_map(|arn| arn.starts_with("arn:aws:sqs:").then(|| arn.rsplit(':').next())?);
            queues.map(|queue| ResourceId::Queue(queue.parse().unwrap())).collect()
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
    ids.into_iter().chain(settings)
}

/// The managed resources that need this one. An
/// alias needs more only while it moves.
fn users(
    scope: &Scope,
    hub: &BTreeSet<ResourceId>,
    resources: &Desired,
    used: &Resource,
    now: u64,
) -> impl Iterator<Item = ResourceId> {
    let users: Vec<ResourceId> = resources
        .values()
        .filter(|user| ours(scope, resources, user) && stands(resources, &user.id(), now))
        .filter(|user| needed(scope, hub, user).any(|id| id == used.id()))
        .filter(|user| !matches!((user, used), (Resource::Alias(_), Resource::RolePolicy(_) | Resource::Queue(_))))
        .map(Resource::id)
        .collect();
    users.into_iter()
}
