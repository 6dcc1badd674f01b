//! A step without a place, and which of two steps comes first.

use std::cmp::Ordering;

use crate::model::name::ClusterName;
use crate::model::resource::{Edge, Effect, Other, ResourceId};
use crate::model::scope::Scope;
use crate::plan::{Change, Op};

/// A step without a place.
pub(super) struct Node {
    pub(super) change: usize,
    pub(super) op: Op,
    pub(super) id: ResourceId,
    pub(super) cluster: Option<ClusterName>,
    pub(super) edges: Vec<Edge>,
    effects: Vec<Effect>,
}

impl Node {
    pub(super) fn new(scope: &Scope, (place, change): (usize, &Change), op: Op) -> Self {
        let resource = op.resource();
        Self {
            change: place,
            id: resource.id(),
            cluster: change.cluster.clone(),
            edges: resource.edges(scope),
            effects: match &op {
                Op::Create(to) => to.particulars().effects(change.before.as_ref()),
                Op::Update { from, to, .. } => to.particulars().effects(Some(from)),
                Op::Delete(_) => Vec::new(),
            },
            op,
        }
    }

    /// Whether this step comes first (`Less`) or the other one (`Greater`), by the edges of this one, and why.
    pub(super) fn order(&self, other: &Self) -> Option<(Ordering, &'static str)> {
        if self.change == other.change {
            return None;
        }
        let between = || self.edges.iter().filter(|edge| self.has_edge_to(edge, other));
        let has = |node: &Self, effect| node.effects.contains(&effect);
        let of_these = |edge: &&Edge| {
            let about = edge.of_effects;
            about.is_some_and(|(this, that)| this.is_none_or(|this| has(self, this)) && has(other, that))
        };
        let edge = between()
            .find(of_these)
            .or_else(|| between().find(|edge| edge.of_effects.is_none()))?;
        let deletes = |node: &Self| matches!(node.op, Op::Delete(_));
        let first = edge.tie.order(deletes(self), deletes(other))?;
        Some((first, edge.because))
    }

    fn has_edge_to(&self, edge: &Edge, other: &Self) -> bool {
        match &edge.other {
            Other::Id(id) => other.id == *id,
            Other::OfCluster(kind) => {
                other.id.of_kind() == *kind
                    && other.id != self.id
                    && self.cluster.is_some()
                    && other.cluster == self.cluster
            }
        }
    }
}
