//! A change without a place, and which of two changes comes first.

use std::cmp::Ordering;

use crate::model::resource::{Edge, Effect, Other};
use crate::model::scope::Scope;
use crate::plan::{Action, Change};

/// A change without a place.
pub(super) struct Node<'a> {
    pub(super) change: &'a Change,
    pub(super) edges: Vec<Edge>,
    effects: Vec<Effect>,
}

impl<'a> Node<'a> {
    pub(super) fn new(scope: &Scope, change: &'a Change) -> Self {
        let resource = change.resource();
        Self {
            change,
            edges: resource.edges(scope),
            effects: match change.action {
                Action::Create | Action::Update => resource.particulars().effects(change.before.as_ref()),
                Action::Delete => Vec::new(),
            },
        }
    }

    /// Whether this change comes first (`Less`) or the other one (`Greater`), by the edges of this one, and why.
    pub(super) fn order(&self, other: &Self) -> Option<(Ordering, &'static str)> {
        if self.change.id == other.change.id {
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
        let deletes = |node: &Self| node.change.action == Action::Delete;
        let first = edge.tie.order(deletes(self), deletes(other))?;
        Some((first, edge.because))
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
