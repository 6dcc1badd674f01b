//! The order of changes, and which steps wait for which.

mod node;
mod split;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use super::change::{Change, Op};
use crate::model::name::ClusterName;
use crate::model::resource::{Other, ResourceId};
use crate::model::scope::Scope;
use node::Node;
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
/// When steps wait for each other in a circle. That is a mistake in the edges of the kinds, which the laws in the tests
/// find.
pub(super) fn ordered(scope: &Scope, changes: Vec<Change>, unknown: Vec<ResourceId>) -> Plan {
    let nodes: Vec<Node> = changes
        .iter()
        .enumerate()
        .flat_map(|at| split(at.1).into_iter().map(move |op| Node::new(scope, at, op)))
        .collect();
    let before = before(&nodes);
    let sorted = topological(&before);
    assert_eq!(sorted.len(), nodes.len(), "{}", circle(&nodes, &sorted));
    let mut place = vec![0; nodes.len()];
    for (at, node) in sorted.iter().enumerate() {
        place[*node] = at;
    }

    let mut change_place = vec![None; changes.len()];
    let mut plan = Plan {
        unknown,
        ..Plan::default()
    };
    for at in sorted {
        let node = &nodes[at];
        let change = *change_place[node.change].get_or_insert_with(|| {
            plan.changes.push(changes[node.change].clone());
            plan.changes.len() - 1
        });
        plan.steps.push(Step {
            change,
            op: node.op.clone(),
            after: before[at].iter().map(|other| place[*other]).collect(),
        });
    }
    plan
}

/// The steps that must be done before each step, by place: the earlier ones of its change, and what the edges say.
fn before(nodes: &[Node]) -> Vec<BTreeSet<usize>> {
    let mut by_id: BTreeMap<&ResourceId, Vec<usize>> = BTreeMap::new();
    let mut by_cluster: BTreeMap<&ClusterName, Vec<usize>> = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        by_id.entry(&node.id).or_default().push(at);
        if let Some(cluster) = &node.cluster {
            by_cluster.entry(cluster).or_default().push(at);
        }
    }
    let mut before = vec![BTreeSet::new(); nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        let others = node.edges.iter().filter_map(|edge| match &edge.other {
            Other::Id(id) => by_id.get(id),
            Other::OfCluster(_) => by_cluster.get(node.cluster.as_ref()?),
        });
        for other in others.flatten().copied() {
            match node.order(&nodes[other]) {
                Some((Ordering::Less, _)) => drop(before[other].insert(at)),
                Some((Ordering::Greater, _)) => drop(before[at].insert(other)),
                Some((Ordering::Equal, _)) | None => {}
            }
        }
        let of_change = by_id[&node.id].iter().copied();
        before[at].extend(of_change.filter(|other| *other < at));
    }
    before
}

/// What [`before`] gives, by comparing every step of a plan with every other.
#[cfg(test)]
pub(super) fn before_by_pairs(scope: &Scope, plan: &Plan) -> Vec<BTreeSet<usize>> {
    let node = |step: &Step| Node::new(scope, (step.change, &plan.changes[step.change]), step.op.clone());
    let nodes: Vec<Node> = plan.steps.iter().map(node).collect();
    let precedes = |a: usize, b: usize| {
        let (first, then) = (&nodes[a], &nodes[b]);
        first.change == then.change && a < b
            || first.order(then).is_some_and(|(order, _)| order == Ordering::Less)
            || then.order(first).is_some_and(|(order, _)| order == Ordering::Greater)
    };
    let places = 0..nodes.len();
    places
        .clone()
        .map(|b| places.clone().filter(|a| precedes(*a, b)).collect())
        .collect()
}

/// Why the steps that could not be sorted wait for each other.
fn circle(nodes: &[Node], sorted: &[usize]) -> String {
    let left: Vec<&Node> = nodes
        .iter()
        .enumerate()
        .filter_map(|(at, node)| (!sorted.contains(&at)).then_some(node))
        .collect();
    let pairs = left.iter().flat_map(|a| left.iter().map(move |b| (a, b)));
    let reasons: Vec<&str> = pairs.filter_map(|(a, b)| Some(a.order(b)?.1)).collect();
    format!("steps wait for each other in a circle: {}", reasons.join("; "))
}

/// A topological order of `before`; independent steps keep their order. Steps in a circle are left out.
fn topological(before: &[BTreeSet<usize>]) -> Vec<usize> {
    let mut followers = vec![Vec::new(); before.len()];
    for (at, earlier) in before.iter().enumerate() {
        for other in earlier {
            followers[*other].push(at);
        }
    }
    let mut waits_for: Vec<usize> = before.iter().map(BTreeSet::len).collect();
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
    sorted
}
