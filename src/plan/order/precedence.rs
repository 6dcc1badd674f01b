//! Which step must be done before which.

use std::collections::BTreeMap;
#[cfg(test)]
use std::collections::BTreeSet;

use super::node::{KeyStep, Node, Part};
use crate::model::name::PolicyName;
use crate::model::resource::Resource;
#[cfg(test)]
use crate::model::scope::Scope;
use crate::plan::Op;
#[cfg(test)]
use crate::plan::Plan;

/// The steps that must be done before each step, by place. Steps of two clusters never wait for each other, so each step
/// is compared with the hub's steps and with those of its own cluster only.
pub(super) fn before(nodes: &[Node]) -> Vec<Vec<usize>> {
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
pub(in crate::plan) fn before_by_pairs(scope: &Scope, plan: &Plan) -> Vec<BTreeSet<usize>> {
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
        // A replacement deletes first.
        (_, _) if a.change == b.change => a.turn < b.turn,
        // No consumer loses a queue: a key is allowed before the queue uses it.
        (_, _) if opens_for(a, b) => true,
        (_, _) if opens_for(b, a) => false,
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

/// Whether `other` must be in place when `node` is an alias: before it moves, the new version runs its self-test with the
/// router's role, and sends to the probe queue.
fn is_tested_with(node: &Node, other: &Node) -> bool {
    matches!(node.resource(), Resource::Alias(_))
        && matches!(other.part, Part::ProbeQueue | Part::RouterRole | Part::RouterPolicy)
}

/// Whether a policy allows a key to a consumer of a queue whose encryption changes.
fn opens_for(policy: &Node, queue: &Node) -> bool {
    let of_router = policy.part == Part::RouterPolicy && queue.part != Part::Memory;
    // The queue that saves a role is created first.
    let of_controller = is_policy_of(policy, queue) && matches!(queue.op, Op::Update { .. });
    policy.key == KeyStep::Opens && queue.key == KeyStep::Encrypts && (of_router || of_controller)
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
