//! In which order changes are made, and which must wait for which.

use std::collections::BTreeSet;

use super::Plan;
use super::change::{Action, Change, Op};
use crate::model::field::FieldValue;
use crate::model::name::QueueName;
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
pub(super) fn ordered(scope: &Scope, changes: Vec<Change>, unknown: Vec<ResourceId>) -> Plan {
    let ops: Vec<(usize, Op)> = changes
        .iter()
        .enumerate()
        .flat_map(|(at, change)| ops(at, change))
        .collect();
    let before = |a: usize, b: usize| must_precede(scope, &ops[a].1, &ops[b].1);
    let sorted = topological(ops.len(), before);

    let place = |index: usize| sorted.iter().position(|other| *other == index);
    let mut change_order: Vec<usize> = Vec::new();
    for index in &sorted {
        if !change_order.contains(&ops[*index].0) {
            change_order.push(ops[*index].0);
        }
    }
    let steps = sorted
        .iter()
        .map(|index| Step {
            change: change_order
                .iter()
                .position(|change| *change == ops[*index].0)
                .unwrap_or_default(),
            op: ops[*index].1.clone(),
            after: (0..ops.len())
                .filter(|other| before(*other, *index))
                .filter_map(place)
                .collect(),
        })
        .collect();
    let mut changes: Vec<Option<Change>> = changes.into_iter().map(Some).collect();
    let changes = change_order.iter().filter_map(|at| changes[*at].take()).collect();
    Plan {
        changes,
        steps,
        unknown,
    }
}

fn ops(at: usize, change: &Change) -> Vec<(usize, Op)> {
    let ops = match (change.action, &change.before, &change.after) {
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
    };
    ops.into_iter().map(|op| (at, op)).collect()
}

/// Whether step `a` must be done before step `b`.
fn must_precede(scope: &Scope, a: &Op, b: &Op) -> bool {
    let memory = ResourceId::Queue(scope.dead_letter_queue());
    match (a, b) {
        // A replacement: first the old one goes.
        (Op::Delete(old), Op::Create(new)) if old.id() == new.id() => true,
        (Op::Delete(old), Op::Delete(other)) => needs(scope, old, &other.id()),
        // What was chosen is remembered before anything follows from it.
        (Op::Delete(_), _) if b.id() == memory => false,
        (_, Op::Delete(_)) if a.id() == memory => true,
        // What uses something goes before that is changed to do without its user.
        (Op::Delete(old), Op::Create(_) | Op::Update { .. }) => needs(scope, old, &b.id()),
        // On a change of role the new policy comes first, then the old one goes.
        (Op::Create(new) | Op::Update { to: new, .. }, Op::Delete(old)) => same_cluster_policy(new, old),
        // ... and the tag that remembers the role comes last.
        (Op::Create(x) | Op::Update { to: x, .. }, Op::Create(y) | Op::Update { to: y, .. }) => {
            if forgets_a_role(a) && policy_of_queue(y, &a.id()) {
                return false;
            }
            (forgets_a_role(b) && policy_of_queue(x, &b.id())) || needs(scope, y, &x.id())
        }
    }
}

/// Whether a resource can only be there while the other is.
fn needs(scope: &Scope, resource: &Resource, other: &ResourceId) -> bool {
    // The dead-letter queue remembers what was chosen, so it comes before everything and goes after everything.
    let memory = ResourceId::Queue(scope.dead_letter_queue());
    if *other == memory {
        return resource.id() != memory;
    }
    match (resource, other) {
        (Resource::RolePolicy(policy), ResourceId::Role(role)) => policy.role == *role,
        // A cluster's queue remembers the role, so it comes before the policy and goes after it.
        (Resource::RolePolicy(policy), ResourceId::Queue(queue)) => names_queue(policy, queue),
        (Resource::Function(function), ResourceId::Role(role)) => function.settings.role.ends_with(&format!("/{role}")),
        // Lambda takes a function on a role without permissions, but not a mapping.
        (Resource::Function(function), ResourceId::RolePolicy(role, _)) => {
            function.settings.role.ends_with(&format!("/{role}"))
        }
        // Lambda makes a log group of its own, not ours, if a function runs before there is one.
        (Resource::Function(function), ResourceId::LogGroup(group)) => {
            group.as_str().strip_prefix("/aws/lambda/") == Some(function.name.as_str())
        }
        (Resource::Alias(alias), ResourceId::Function(function)) => alias.function == *function,
        (Resource::EventSourceMapping(mapping), ResourceId::Alias(function, alias)) => {
            mapping.function == *function && mapping.alias == *alias
        }
        (Resource::EventSourceMapping(mapping), ResourceId::Function(function)) => mapping.function == *function,
        (Resource::EventSourceMapping(mapping), ResourceId::Queue(queue)) => mapping.queue == *queue,
        // Without its target a rule sends nothing, and a target that is not there is a lost event.
        (Resource::Rule(rule), ResourceId::Queue(queue)) => rule
            .target
            .as_ref()
            .is_some_and(|target| last_part(&target.arn) == queue.as_str()),
        _ => false,
    }
}

/// Whether both are the policy of one cluster, on two roles: it has the same name on each.
fn same_cluster_policy(new: &Resource, old: &Resource) -> bool {
    match (new, old) {
        (Resource::RolePolicy(new), Resource::RolePolicy(old)) => new.name == old.name && new.role != old.role,
        _ => false,
    }
}

/// Whether this updates a queue that has remembered a role until now, and will not remember it any more.
fn forgets_a_role(op: &Op) -> bool {
    let Op::Update { fields, .. } = op else { return false };
    let path = format!("tags.{CONTROLLER_ROLE}");
    fields
        .iter()
        .any(|field| field.path == path && field.from != FieldValue::Unset)
}

fn policy_of_queue(resource: &Resource, queue: &ResourceId) -> bool {
    match (resource, queue) {
        (Resource::RolePolicy(policy), ResourceId::Queue(queue)) => names_queue(policy, queue),
        _ => false,
    }
}

fn names_queue(policy: &crate::model::resource::RolePolicy, queue: &QueueName) -> bool {
    policy
        .document
        .statements()
        .iter()
        .filter_map(|statement| statement.get("Resource").and_then(serde_json::Value::as_str))
        .any(|arn| arn.contains(":sqs:") && last_part(arn) == queue.as_str())
}

fn last_part(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or(arn)
}

/// The numbers below `count`, each after all that must precede it, otherwise in their own order.
fn topological(count: usize, precedes: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut sorted = Vec::with_capacity(count);
    let mut left: Vec<usize> = (0..count).collect();
    while !left.is_empty() {
        let free = left
            .iter()
            .position(|b| !left.iter().any(|a| a != b && precedes(*a, *b)));
        #[expect(
            clippy::expect_used,
            reason = "a cycle is a bug in `must_precede`, and the laws are tested over it"
        )]
        let free = free.expect("steps that can be ordered");
        sorted.push(left.remove(free));
    }
    sorted
}
