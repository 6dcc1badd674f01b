//! The order of changes, and which steps wait for which.

mod node;
mod precedence;
mod split;

use std::collections::BTreeSet;

#[cfg(test)]
pub(super) use precedence::before_by_pairs;

use super::Plan;
use super::change::{Change, Op};
use crate::model::resource::ResourceId;
use crate::model::scope::Scope;
use node::Node;
use precedence::before;
use split::split;

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
/// When steps wait for each other in a cycle. That is a mistake in [`precedence`], which the laws in the tests find.
pub(super) fn ordered(scope: &Scope, changes: Vec<Change>, unknown: Vec<ResourceId>) -> Plan {
    let nodes: Vec<Node> = changes
        .iter()
        .enumerate()
        .flat_map(|at| {
            let ops = split(at.1).into_iter().enumerate();
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
