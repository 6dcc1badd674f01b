//! In which order changes are made, and which must wait for which.

use std::collections::BTreeSet;

use super::Plan;
use super::change::{Action, Change, FieldChange, Op};
use crate::model::field::FieldValue;
use crate::model::name::PolicyName;
use crate::model::resource::{Resource, ResourceId};
use crate::model::scope::Scope;
use crate::model::tags::CONTROLLER_ROLE;

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which change it makes or helps to make, by its place in [`Plan::changes`].
    pub change: usize,
    /// What is done.
    pub op: Op,
    /// The steps that must be done before, by their place in [`Plan::steps`]; always earlier ones.
    pub after: BTreeSet<usize>,
}

/// Splits changes into steps, orders the steps, and the changes by their first step.
///
/// # Panics
/// When steps wait for each other in a circle: a mistake in [`must_precede`], which the laws in the tests look for.
pub(super) fn ordered(scope: &Scope, changes: Vec<Change>, unknown: Vec<ResourceId>) -> Plan {
    let nodes: Vec<Node> = changes
        .iter()
        .enumerate()
        .flat_map(|(at, change)| ops(change).into_iter().map(move |op| (at, op)))
        .map(|(at, op)| Node::new(scope, at, op))
        .collect();
    let before: Vec<Vec<usize>> = nodes
        .iter()
        .map(|b| (0..nodes.len()).filter(|a| must_precede(&nodes[*a], b)).collect())
        .collect();
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
    for at in &sorted {
        let node = &nodes[*at];
        if let Some(change) = changes[node.change].take() {
            change_place[node.change] = plan.changes.len();
            plan.changes.push(change);
        }
        plan.steps.push(Step {
            change: change_place[node.change],
            op: node.op.clone(),
            after: before[*at].iter().map(|other| place[*other]).collect(),
        });
    }
    plan
}

fn ops(change: &Change) -> Vec<Op> {
    match (change.action, &change.before, &change.after) {
        (Action::Create, _, Some(after)) => vec![Op::Create(after.clone())],
        (Action::Delete, Some(before), _) => vec![Op::Delete(before.clone())],
        (Action::Replace, Some(before), Some(after)) => vec![Op::Delete(before.clone()), Op::Create(after.clone())],
        (Action::Update, Some(before), Some(after)) => {
            vec![Op::Update {
                from: Box::new(before.clone()),
                to: after.clone(),
                fields: change.fields.clone(),
            }]
        }
        _ => unreachable!("a change has what its action needs: its constructors see to it"),
    }
}

/// Which part of the hub a resource is, where others need that part whatever they look like when they are seen: a rule
/// may have lost its target, a function its role.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The dead-letter queue, which remembers what was chosen for the hub.
    Memory,
    HubQueue,
    RouterRole,
    RouterPolicy,
    Other,
}

impl Part {
    fn of(scope: &Scope, id: &ResourceId) -> Self {
        match id {
            ResourceId::Queue(queue) if *queue == scope.dead_letter_queue() => Self::Memory,
            ResourceId::Queue(queue) if *queue == scope.hub_queue() => Self::HubQueue,
            ResourceId::Role(role) if *role == scope.router_role() => Self::RouterRole,
            ResourceId::RolePolicy(role, policy)
                if *role == scope.router_role() && *policy == scope.router_policy() =>
            {
                Self::RouterPolicy
            }
            _ => Self::Other,
        }
    }
}

/// A step that has no place yet, with what its place depends on.
struct Node {
    change: usize,
    op: Op,
    id: ResourceId,
    part: Part,
    /// If it is about a cluster's queue: the name that the policy of the cluster's controller has, on any role.
    policy: Option<PolicyName>,
    /// Whether a queue has remembered a role until now, and will not remember it any more.
    forgets_a_role: bool,
}

impl Node {
    fn new(scope: &Scope, change: usize, op: Op) -> Self {
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
            change,
            part: Part::of(scope, &id),
            policy,
            forgets_a_role: matches!(&op, Op::Update { fields, .. } if fields.iter().any(forgets)),
            op,
            id,
        }
    }

    fn resource(&self) -> &Resource {
        self.op.resource()
    }
}

/// Whether step `a` must be done before step `b`.
fn must_precede(a: &Node, b: &Node) -> bool {
    match (&a.op, &b.op) {
        // A replacement: first the old one goes.
        (Op::Delete(_), Op::Create(_)) if a.id == b.id => true,
        (Op::Delete(_), Op::Delete(_)) => needs(a, b),
        // What was chosen is remembered before anything follows from it.
        (Op::Delete(_), _) if b.part == Part::Memory => false,
        (_, Op::Delete(_)) if a.part == Part::Memory => true,
        // On a change of role the new policy comes first, then the old one goes ...
        (_, Op::Delete(_)) => same_cluster_policy(a, b),
        // ... and the queue's tag, which remembers the role, changes last.
        (_, _) if is_policy_of(a, b) => b.forgets_a_role,
        // What uses something goes before that is changed to do without its user.
        (Op::Delete(_), _) => needs(a, b),
        (_, _) if is_policy_of(b, a) => !a.forgets_a_role,
        (_, _) => needs(b, a),
    }
}

/// Whether a resource can only be there while the other is.
fn needs(node: &Node, other: &Node) -> bool {
    match (node.resource(), other.resource()) {
        // It comes before everything and goes after everything.
        _ if node.part == Part::Memory => false,
        _ if other.part == Part::Memory => true,
        (Resource::RolePolicy(policy), Resource::Role(role)) => policy.role == role.name,
        // A cluster's queue remembers the role, so it comes before the policy and goes after it.
        (Resource::RolePolicy(_), Resource::Queue(_)) => is_policy_of(node, other),
        (Resource::Function(_), Resource::Role(_)) => other.part == Part::RouterRole,
        // Lambda takes a function on a role without permissions, but not a mapping.
        (Resource::Function(_) | Resource::EventSourceMapping(_), Resource::RolePolicy(_)) => {
            other.part == Part::RouterPolicy
        }
        // Lambda makes a log group of its own, not ours, if a function runs before there is one.
        (Resource::Function(function), Resource::LogGroup(group)) => {
            group.name.as_str().strip_prefix("/aws/lambda/") == Some(function.name.as_str())
        }
        (Resource::Alias(alias), Resource::Function(function)) => alias.function == function.name,
        (Resource::EventSourceMapping(mapping), Resource::Function(function)) => mapping.function == function.name,
        (Resource::EventSourceMapping(mapping), Resource::Alias(alias)) => {
            mapping.function == alias.function && mapping.alias == alias.name
        }
        // Without its target a rule sends nothing, and a target that is not there is a lost event.
        (Resource::EventSourceMapping(_) | Resource::Rule(_), Resource::Queue(_)) => other.part == Part::HubQueue,
        _ => false,
    }
}

/// Whether `policy` is the policy of the controller whose queue `queue` is. The names tell, not the policy's
/// document, which someone may have edited.
fn is_policy_of(policy: &Node, queue: &Node) -> bool {
    matches!(policy.resource(), Resource::RolePolicy(policy) if Some(&policy.name) == queue.policy.as_ref())
}

/// Whether both are the policy of one cluster, on two roles: it has the same name on each.
fn same_cluster_policy(new: &Node, old: &Node) -> bool {
    match (new.resource(), old.resource()) {
        (Resource::RolePolicy(new), Resource::RolePolicy(old)) => new.name == old.name && new.role != old.role,
        _ => false,
    }
}

/// The places of `before`, each after all that `before` has for it, otherwise in their own order.
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
