//! The order of changes, and which steps wait for which.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use super::change::{Action, Change, FieldChange, Op};
use super::diff;
use crate::model::field::FieldValue;
use crate::model::name::PolicyName;
use crate::model::resource::{Function, FunctionField, Queue, Resource, ResourceId, RolePolicy};
use crate::model::scope::Scope;
use crate::model::tags::CONTROLLER_ROLE;
use crate::model::{policy, queue_policy};

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The change that it belongs to, by its place in [`Plan::changes`].
    pub change: usize,
    /// The write.
    pub op: Op,
    /// The steps that must be done before, by their place in [`Plan::steps`]; always earlier ones. A delete in another
    /// change is done when AWS has accepted it, and one in the same change when the name is free.
    pub after: BTreeSet<usize>,
}

/// Splits changes into steps, orders the steps, and the changes by their first step.
///
/// # Panics
/// When steps wait for each other in a cycle. That is a mistake in [`must_precede`], which the laws in the tests find.
pub(super) fn ordered(scope: &Scope, changes: Vec<Change>, unknown: Vec<ResourceId>) -> Plan {
    let nodes: Vec<Node> = changes
        .iter()
        .enumerate()
        .flat_map(|at| {
            let ops = ops(at.1).into_iter().enumerate();
            ops.map(move |(turn, op)| Node::new(scope, at, turn, op))
        })
        .collect();
    let before = before(&nodes);
    let sorted = topological(&before);
    let mut place = vec![0; nodes.len()];
    for (at, node) in sorted.iter().enumerate() {
        place[*node] = at;
    }

    let mut changes: Vec<Option<Change>> = changes.into_iter().map(Some).collect();
    let mut change_place = vec![0; changes.len()];
    let mut plan = Plan {
        unknown,
        ..Plan::default()
    };
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    for at in &sorted {
        let Some(node) = nodes[*at].take() else { continue };
        if let Some(change) = changes[node.change].take() {
            change_place[node.change] = plan.changes.len();
            plan.changes.push(change);
        }
        plan.steps.push(Step {
            change: change_place[node.change],
            op: node.op,
            after: before[*at].iter().map(|other| place[*other]).collect(),
        });
    }
    plan
}

fn ops(change: &Change) -> Vec<Op> {
    match (change.action, &change.before, &change.after) {
        (Action::Create, _, Some(after)) => vec![Op::Create(after.clone())],
        (Action::Delete, Some(before), _) => vec![Op::Delete(before.clone())],
        (Action::Replace, Some(before), Some(after)) => {
            let mut ops = vec![Op::Delete(before.clone())];
            match both_keys(before, after) {
                Some(both) => ops.extend([Op::Create(both.clone()), update(both, after.clone())]),
                None => ops.push(Op::Create(after.clone())),
            }
            ops
        }
        (Action::Update, Some(before), Some(after)) => {
            let middle = both_keys(before, after).or_else(|| reserved_last(change, before, after));
            match middle {
                Some(middle) => vec![update(before.clone(), middle.clone()), update(middle, after.clone())],
                None => vec![Op::Update {
                    from: Box::new(before.clone()),
                    to: after.clone(),
                    fields: change.fields.clone(),
                }],
            }
        }
        _ => unreachable!("a change has what its action needs: its constructors see to it"),
    }
}

fn update(from: Resource, to: Resource) -> Op {
    let fields = diff(&to, &from);
    Op::Update {
        from: Box::new(from),
        to,
        fields,
    }
}

/// The policy between two policies that allow different keys. It allows both, while some queues have the old key and some
/// the new one.
fn both_keys(before: &Resource, after: &Resource) -> Option<Resource> {
    let (Resource::RolePolicy(old), Resource::RolePolicy(new)) = (before, after) else {
        return None;
    };
    let (old_keys, new_keys) = (policy::keys(&old.document), policy::keys(&new.document));
    let changes = !old_keys.is_subset(&new_keys) && !new_keys.is_subset(&old_keys);
    changes.then(|| {
        Resource::RolePolicy(RolePolicy {
            document: policy::with_keys_too(&new.document, &old_keys),
            ..new.clone()
        })
    })
}

/// The function between two functions of which the second has less reserved concurrency, if they differ in more than
/// that. The reservation is lowered last, after the mapping has been limited.
fn reserved_last(change: &Change, before: &Resource, after: &Resource) -> Option<Resource> {
    let (Resource::Function(old), Resource::Function(new)) = (before, after) else {
        return None;
    };
    let more = change
        .fields
        .iter()
        .any(|field| field.path != FunctionField::ReservedConcurrency.path());
    (more && lowers_reserved(old, new)).then(|| {
        Resource::Function(Function {
            reserved_concurrency: old.reserved_concurrency,
            // With tags that kibus did not set. The last step removes the others.
            tags: old.tags.clone().with_all(&new.tags),
            ..new.clone()
        })
    })
}

/// Whether the second function has less reserved concurrency. One without a reservation has all that the account has.
fn lowers_reserved(old: &Function, new: &Function) -> bool {
    let (old, new) = (old.reserved_concurrency, new.reserved_concurrency);
    new.is_some_and(|new| old.is_none_or(|old| new < old))
}

/// The part of the hub that a resource is. Other resources depend on the part even if their current state does not show
/// it: a rule may have lost its target, a function its role.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The dead-letter queue, which saves the options of the hub.
    Memory,
    HubQueue,
    /// The queue to which the self-test of a router version sends.
    ProbeQueue,
    RouterRole,
    RouterPolicy,
    Other,
}

impl Part {
    fn of(scope: &Scope, id: &ResourceId) -> Self {
        match id {
            ResourceId::Queue(queue) if *queue == scope.dead_letter_queue() => Self::Memory,
            ResourceId::Queue(queue) if *queue == scope.hub_queue() => Self::HubQueue,
            ResourceId::Queue(queue) if *queue == scope.probe_queue() => Self::ProbeQueue,
            ResourceId::Role(role) if *role == scope.router_role() => Self::RouterRole,
            ResourceId::RolePolicy(role, policy)
                if *role == scope.router_role() && *policy == scope.router_policy() =>
            {
                Self::RouterPolicy
            }
            ResourceId::Queue(_)
            | ResourceId::Role(_)
            | ResourceId::RolePolicy(..)
            | ResourceId::LogGroup(_)
            | ResourceId::Function(_)
            | ResourceId::Alias(..)
            | ResourceId::EventSourceMapping(..)
            | ResourceId::Rule(_) => Self::Other,
        }
    }
}

/// A step without a place, and the facts that decide its place.
struct Node {
    change: usize,
    /// The number of the step within its change.
    turn: usize,
    op: Op,
    part: Part,
    /// Whether the step completes an earlier delete, of a queue that is created again.
    completes: bool,
    /// For a cluster's queue: the name of the policy of the cluster's controller, on any role.
    policy: Option<PolicyName>,
    /// Whether the step removes a saved role from a queue.
    forgets_a_role: bool,
    /// Whether the step lowers the reserved concurrency of a function.
    lowers_reserved: bool,
    /// Whether the step lets a rule send as EventBridge, instead of as a role, which a lock of the hub queue denies.
    drops_role: bool,
    /// Whether the step locks the hub queue, and EventBridge could send to it before.
    locks_hub: bool,
    /// For a queue's encryption and for a policy: its effect on customer keys.
    key: KeyStep,
}

/// The effect of a step on customer keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyStep {
    /// It changes or sets the encryption of a queue.
    Encrypts,
    /// It allows a key in a policy.
    Opens,
    /// It stops allowing a key in a policy.
    Closes,
    Nothing,
}

impl KeyStep {
    /// The effect of a step of this change on keys.
    fn of(op: &Op, change: &Change) -> Self {
        let keys = |resource: Option<&Resource>| match resource {
            Some(Resource::RolePolicy(policy)) => policy::keys(&policy.document),
            _ => BTreeSet::new(),
        };
        let (before, after) = match op {
            Op::Create(Resource::Queue(_)) => return Self::Encrypts,
            Op::Update { fields, .. } if fields.iter().any(|field| field.path == Queue::ENCRYPTION) => {
                return Self::Encrypts;
            }
            // A recreated policy continues from the one before. A new policy has no key that must stay allowed.
            Op::Create(to) if change.before.is_some() => (keys(change.before.as_ref()), keys(Some(to))),
            Op::Delete(from) if change.after.is_some() => (keys(Some(from)), keys(change.after.as_ref())),
            Op::Update { from, to, .. } => (keys(Some(from)), keys(Some(to))),
            Op::Create(_) | Op::Delete(_) => return Self::Nothing,
        };
        match op {
            Op::Create(_) | Op::Update { .. } if !after.is_subset(&before) => Self::Opens,
            Op::Delete(_) | Op::Update { .. } if after.is_subset(&before) && after != before => Self::Closes,
            _ => Self::Nothing,
        }
    }
}

impl Node {
    fn new(scope: &Scope, (place, change): (usize, &Change), turn: usize, op: Op) -> Self {
        let id = op.id();
        let policy = match op.resource() {
            Resource::Queue(queue) => queue
                .tags
                .cluster_of(&scope.bus)
                .map(|cluster| scope.controller_policy(&cluster)),
            _ => None,
        };
        let role_tag = format!("tags.{CONTROLLER_ROLE}");
        let forgets = |field: &FieldChange| field.path == role_tag && field.from != FieldValue::Unset;
        Self {
            change: place,
            turn,
            key: KeyStep::of(&op, change),
            part: Part::of(scope, &id),
            completes: matches!(&op, Op::Delete(_))
                && change.action == Action::Replace
                && matches!(id, ResourceId::Queue(_)),
            policy,
            lowers_reserved: match &op {
                Op::Update { from, to, .. } => match (from.as_ref(), to) {
                    (Resource::Function(from), Resource::Function(to)) => lowers_reserved(from, to),
                    _ => false,
                },
                Op::Create(_) | Op::Delete(_) => false,
            },
            drops_role: drops_role(&op),
            locks_hub: Part::of(scope, &id) == Part::HubQueue && locks(&op),
            forgets_a_role: matches!(&op, Op::Update { fields, .. } if fields.iter().any(forgets)),
            op,
        }
    }

    fn resource(&self) -> &Resource {
        self.op.resource()
    }

    /// The name of the controller's policy, if it is about one cluster: its queue, or that policy.
    fn cluster(&self) -> Option<&PolicyName> {
        match self.resource() {
            _ if self.part != Part::Other => None,
            Resource::RolePolicy(policy) => Some(&policy.name),
            _ => self.policy.as_ref(),
        }
    }
}

/// The steps that must be done before each step, by place. Steps of two clusters never wait for each other, so each step
/// is compared with the hub's steps and with those of its own cluster only.
fn before(nodes: &[Node]) -> Vec<Vec<usize>> {
    let mut hub = Vec::new();
    let mut clusters: BTreeMap<&PolicyName, Vec<usize>> = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        match node.cluster() {
            Some(policy) => clusters.entry(policy).or_default().push(at),
            None => hub.push(at),
        }
    }
    let all: Vec<usize> = (0..nodes.len()).collect();
    nodes
        .iter()
        .map(|b| {
            let (near, rest) = match b.cluster() {
                Some(policy) => (hub.as_slice(), clusters[policy].as_slice()),
                None => (all.as_slice(), [].as_slice()),
            };
            let candidates = near.iter().chain(rest).copied();
            candidates.filter(|a| must_precede(&nodes[*a], b)).collect()
        })
        .collect()
}

/// What [`before`] gives, by comparing every step of a plan with every other.
#[cfg(test)]
pub(super) fn before_by_pairs(scope: &Scope, plan: &Plan) -> Vec<BTreeSet<usize>> {
    let mut turns = vec![0; plan.changes.len()];
    let nodes: Vec<Node> = plan
        .steps
        .iter()
        .map(|step| {
            turns[step.change] += 1;
            let change = (step.change, &plan.changes[step.change]);
            Node::new(scope, change, turns[step.change], step.op.clone())
        })
        .collect();
    let before = |b| (0..nodes.len()).filter(|a| must_precede(&nodes[*a], b)).collect();
    nodes.iter().map(before).collect()
}

/// Whether step `a` must be done before step `b`.
fn must_precede(a: &Node, b: &Node) -> bool {
    match (&a.op, &b.op) {
        // A replacement deletes first. A change of key allows the new key before it removes the old one.
        (_, _) if a.change == b.change => a.turn < b.turn,
        // Nothing depends on a queue that is being deleted: the waits for several of them run at the same time.
        (_, Op::Delete(_)) if b.completes => false,
        // No consumer loses a queue: a key is allowed before the queue uses it, and removed after the queue uses another.
        (_, _) if shares_key(a, b) => a.key == KeyStep::Opens,
        (_, _) if shares_key(b, a) => b.key == KeyStep::Closes,
        // A rule that sends as a role would be denied.
        (_, _) if a.drops_role && b.locks_hub => true,
        (_, _) if a.locks_hub && b.drops_role => false,
        // A mapping never runs more invocations than its function has reserved.
        (_, _) if b.lowers_reserved && invokes(a, b) => true,
        (_, _) if a.lowers_reserved && !matches!(b.op, Op::Delete(_)) => false,
        (Op::Delete(_), Op::Delete(_)) => needs(a, b),
        // Options are saved before any change that follows from them.
        (Op::Delete(_), _) if b.part == Part::Memory => false,
        (_, Op::Delete(_)) if a.part == Part::Memory => true,
        // On a change of role, the new policy is created first, then the old one is deleted ...
        (_, Op::Delete(_)) => same_cluster_policy(a, b),
        // ... and the queue's tag, which saves the role, changes last.
        (_, _) if is_policy_of(a, b) => b.forgets_a_role,
        // A resource is deleted before what it depends on changes.
        (Op::Delete(_), _) => needs(a, b),
        (_, _) if is_policy_of(b, a) => !a.forgets_a_role,
        (_, _) => needs(b, a) || is_tested_with(b, a),
    }
}

fn drops_role(op: &Op) -> bool {
    let Op::Update { from, to, .. } = op else { return false };
    let (Resource::Rule(from), Resource::Rule(to)) = (from.as_ref(), to) else {
        return false;
    };
    match (&from.target, &to.target) {
        (Some(from), Some(to)) => from.arn == to.arn && from.role.is_some() && to.role.is_none(),
        _ => false,
    }
}

fn locks(op: &Op) -> bool {
    let Op::Update { from, to, .. } = op else { return false };
    let (Resource::Queue(from), Resource::Queue(to)) = (from.as_ref(), to) else {
        return false;
    };
    match (&from.policy, &to.policy) {
        (Some(from), Some(to)) => queue_policy::only_locks(from, to),
        _ => false,
    }
}

/// Whether `other` must be in place when `node` is an alias: before it moves, the new version runs its self-test with the
/// router's role, and sends to the probe queue.
fn is_tested_with(node: &Node, other: &Node) -> bool {
    matches!(node.resource(), Resource::Alias(_))
        && matches!(other.part, Part::ProbeQueue | Part::RouterRole | Part::RouterPolicy)
}

/// Whether a policy changes the access to a key for a consumer of a queue whose encryption changes.
fn shares_key(policy: &Node, queue: &Node) -> bool {
    let of_router = policy.part == Part::RouterPolicy && queue.part != Part::Memory;
    // The queue that saves a role is created first, and it drops a saved role last.
    let of_controller = is_policy_of(policy, queue)
        && matches!(queue.op, Op::Update { .. })
        && !(queue.forgets_a_role && policy.key == KeyStep::Closes);
    matches!(policy.key, KeyStep::Opens | KeyStep::Closes)
        && queue.key == KeyStep::Encrypts
        && (of_router || of_controller)
}

/// Whether a node is a mapping to the function of the other.
fn invokes(mapping: &Node, function: &Node) -> bool {
    matches!(
        (mapping.resource(), function.resource()),
        (Resource::EventSourceMapping(mapping), Resource::Function(function)) if mapping.function == function.name
    )
}

/// Whether a resource depends on the other.
fn needs(node: &Node, other: &Node) -> bool {
    match (node.resource(), other.resource()) {
        // It is created first and deleted last.
        _ if node.part == Part::Memory => false,
        _ if other.part == Part::Memory => true,
        (Resource::RolePolicy(policy), Resource::Role(role)) => policy.role == role.name,
        // A cluster's queue saves the role, so it is created before the policy and deleted after it.
        (Resource::RolePolicy(_), Resource::Queue(_)) => is_policy_of(node, other),
        (Resource::Function(_), Resource::Role(_)) => other.part == Part::RouterRole,
        // Lambda accepts a function with a role without permissions, but not a mapping.
        (Resource::Function(_) | Resource::EventSourceMapping(_), Resource::RolePolicy(_)) => {
            other.part == Part::RouterPolicy
        }
        // Lambda creates a log group without our tags if a function runs before one exists.
        (Resource::Function(function), Resource::LogGroup(group)) => {
            group.name.as_str().strip_prefix("/aws/lambda/") == Some(function.name.as_str())
        }
        (Resource::Alias(alias), Resource::Function(function)) => alias.function == function.name,
        (Resource::EventSourceMapping(mapping), Resource::Function(function)) => mapping.function == function.name,
        (Resource::EventSourceMapping(mapping), Resource::Alias(alias)) => {
            mapping.function == alias.function && mapping.alias == alias.name
        }
        // Without a target a rule sends nothing. With a missing target every event is lost.
        (Resource::EventSourceMapping(_) | Resource::Rule(_), Resource::Queue(_)) => other.part == Part::HubQueue,
        (Resource::Queue(_) | Resource::Role(_) | Resource::LogGroup(_), _)
        | (Resource::RolePolicy(_) | Resource::Function(_) | Resource::Alias(_), _)
        | (Resource::EventSourceMapping(_) | Resource::Rule(_), _) => false,
    }
}

/// Whether `policy` is the policy of the controller of this queue, by their names: the document may have been edited.
fn is_policy_of(policy: &Node, queue: &Node) -> bool {
    matches!(policy.resource(), Resource::RolePolicy(policy) if Some(&policy.name) == queue.policy.as_ref())
}

/// Whether both are the policy of one cluster, on two roles. It has the same name on each.
fn same_cluster_policy(new: &Node, old: &Node) -> bool {
    match (new.resource(), old.resource()) {
        (Resource::RolePolicy(new), Resource::RolePolicy(old)) => new.name == old.name && new.role != old.role,
        _ => false,
    }
}

/// A topological order of `before`; independent steps keep their order.
fn topological(before: &[Vec<usize>]) -> Vec<usize> {
    let mut followers = vec![Vec::new(); before.len()];
    for (at, earlier) in before.iter().enumerate() {
        for other in earlier {
            followers[*other].push(at);
        }
    }
    let mut waits_for: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut free: BTreeSet<usize> = (0..before.len()).filter(|at| waits_for[*at] == 0).collect();
    let mut sorted = Vec::with_capacity(before.len());
    while let Some(next) = free.pop_first() {
        sorted.push(next);
        for follower in &followers[next] {
            waits_for[*follower] -= 1;
            if waits_for[*follower] == 0 {
                free.insert(*follower);
            }
        }
    }
    assert_eq!(sorted.len(), before.len(), "steps wait for each other in a circle");
    sorted
}
