//! The order of changes, and which changes wait for which.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::{Change, Plan};
use crate::model::{ClusterName, Edge, Effect, Other, ResourceId, Scope};

/// Orders changes.
///
/// # Panics
/// If changes wait for each other in a cycle. That is a mistake in the edges of the kinds, which the laws in the
///   tests find.
pub(super) fn ordered(scope: &Scope, changes: Vec<Change>, unknown: Vec<ResourceId>) -> Plan {
    let nodes: Vec<Node<'_>> = changes.iter().map(|change| Node::new(scope, change)).collect();
    let before = before(&nodes);
    let sorted = topological(&before);
    assert_eq!(sorted.len(), nodes.len(), "{}", circle(&nodes, &sorted));
    let mut place = vec![0; nodes.len()];
    for (at, node) in sorted.iter().enumerate() {
        place[*node] = at;
    }
    let change =
        |at: usize| Change { waits_for: before[at].iter().map(|other| place[*other]).collect(), ..changes[at].clone() };
    Plan { changes: sorted.into_iter().map(change).collect(), unknown }
}

/// The changes that must be made before each change, by place: earlier changes of its resource, and those given by the edges.
fn before(nodes: &[Node<'_>]) -> Vec<BTreeSet<usize>> {
    let mut by_id: BTreeMap<&ResourceId, Vec<usize>> = BTreeMap::new();
    let mut by_cluster: BTreeMap<&ClusterName, Vec<usize>> = BTreeMap::new();
    for (at, Node { change, .. }) in nodes.iter().enumerate() {
        by_id.entry(&change.id).or_default().push(at);
        if let Some(cluster) = &change.cluster {
            by_cluster.entry(cluster).or_default().push(at);
        }
    }
    let mut before = vec![BTreeSet::new(); nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        let others = node.edges.iter().filter_map(|edge| match &edge.other {
            Other::Id(id) => by_id.get(id),
            Other::OfCluster(_) => by_cluster.get(node.change.cluster.as_ref()?),
        });
        for other in others.flatten().copied() {
            match node.order(&nodes[other]) {
                Some((Ordering::Less, _)) => drop(before[other].insert(at)),
                Some((Ordering::Greater, _)) => drop(before[at].insert(other)),
                Some((Ordering::Equal, _)) | None => {}
            }
        }
        let of_resource = by_id[&node.change.id].iter().copied();
        before[at].extend(of_resource.filter(|other| *other < at));
    }
    before
}

/// The result of [`before`], computed by comparing every change of a plan with every other.
#[cfg(test)]
pub(super) fn before_by_pairs(scope: &Scope, plan: &Plan) -> Vec<BTreeSet<usize>> {
    let nodes: Vec<Node<'_>> = plan.changes.iter().map(|change| Node::new(scope, change)).collect();
    let precedes = |a: usize, b: usize| {
        let (first, then) = (&nodes[a], &nodes[b]);
        first.change.id == then.change.id && a < b
            || first.order(then).is_some_and(|(order, _)| order == Ordering::Less)
            || then.order(first).is_some_and(|(order, _)| order == Ordering::Greater)
    };
    let places = 0..nodes.len();
    places.clone().map(|b| places.clone().filter(|a| precedes(*a, b)).collect()).collect()
}

/// Why the changes that could not be sorted wait for each other.
fn circle(nodes: &[Node<'_>], sorted: &[usize]) -> String {
    let left: Vec<&Node<'_>> =
        nodes.iter().enumerate().filter_map(|(at, node)| (!sorted.contains(&at)).then_some(node)).collect();
    let pairs = left.iter().flat_map(|a| left.iter().map(move |b| (a, b)));
    let reasons: Vec<&str> = pairs.filter_map(|(a, b)| Some(a.order(b)?.1)).collect();
    format!("changes wait for each other in a cycle: {}", reasons.join("; "))
}

/// A topological order of `before`; independent changes keep their order. Changes in a cycle are left out.
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

/// How a change affects what other resources have from its resource.
pub(super) fn effect(change: &Change) -> Effect {
    match (&change.before, &change.after) {
        (_, None) => Effect::Deletes,
        (Some(before), Some(after)) if after.particulars().while_leaving(before).is_some() => Effect::Takes,
        (Some(before), Some(after)) if after.particulars().adds_to(before) => Effect::Adds,
        _ => Effect::Keeps,
    }
}

/// A change without its place in the plan.
struct Node<'a> {
    change: &'a Change,
    edges: Vec<Edge>,
    effect: Effect,
}

impl<'a> Node<'a> {
    fn new(scope: &Scope, change: &'a Change) -> Self {
        Self { change, edges: change.resource().edges(scope), effect: effect(change) }
    }

    /// Whether this change comes first (`Less`) or the other one (`Greater`), by the edges of this one, and why.
    fn order(&self, other: &Self) -> Option<(Ordering, &'static str)> {
        if self.change.id == other.change.id {
            return None;
        }
        let between = self.edges.iter().filter(|edge| self.has_edge_to(edge, other));
        let mut orders = between.filter_map(|edge| Some((edge.tie.order(self.effect, other.effect)?, edge.because)));
        orders.next()
    }

    fn has_edge_to(&self, edge: &Edge, other: &Self) -> bool {
        let (this, other) = (self.change, other.change);
        match &edge.other {
            Other::Id(id) => other.id == *id,
            Other::OfCluster(kind) => {
                other.id.of_kind() == *kind && this.cluster.is_some() && other.cluster == this.cluster
            }
        }
    }
}
