//! The order of steps as data: the edges from a resource to others, each with its reason.

use std::cmp::Ordering;

use super::{Kind, ResourceId};

/// Why the steps of two resources have an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The reason, in one sentence without a full stop.
    pub because: &'static str,
    pub other: Other,
    pub tie: Tie,
    /// The effects of this step and of the other one that the edge is about. Between two such steps no other edge counts.
    pub of_effects: Option<(Option<Effect>, Effect)>,
}

/// The other end of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Other {
    Id(ResourceId),
    /// Every other resource of this kind that belongs to the same cluster.
    OfCluster(Kind),
}

impl From<ResourceId> for Other {
    fn from(id: ResourceId) -> Self {
        Self::Id(id)
    }
}

impl From<Kind> for Other {
    fn from(kind: Kind) -> Self {
        Self::OfCluster(kind)
    }
}

/// What an edge says about the steps of its two resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// It depends on the other: it is written after the other, and deleted before the other changes or is deleted.
    Needs,
    /// The other saves that it exists: the other is written first and deleted last.
    SavedIn,
    /// The other holds the settings that it follows from: the same, and the other is also written before it is deleted.
    FollowsFrom,
    /// It is written after the other, and deleted at any time.
    UsesWhenWritten,
    /// It is written or deleted before the other is written.
    Precedes,
    /// It is written before the other is deleted.
    TakesOver,
    /// Neither waits.
    Free,
}

impl Tie {
    /// The edge of this tie to another resource.
    pub(super) fn to(self, other: impl Into<Other>, because: &'static str) -> Edge {
        Edge {
            because,
            other: other.into(),
            tie: self,
            of_effects: None,
        }
    }

    /// Whether the step of this resource comes first (`Less`) or the step of the other one (`Greater`), if one must.
    pub fn order(self, this_deletes: bool, other_deletes: bool) -> Option<Ordering> {
        match (self, this_deletes, other_deletes) {
            (Self::Needs | Self::SavedIn | Self::FollowsFrom | Self::UsesWhenWritten, false, false)
            | (Self::FollowsFrom, true, false) => Some(Ordering::Greater),
            (Self::Needs | Self::SavedIn | Self::FollowsFrom, true, true)
            | (Self::Needs, true, false)
            | (Self::Precedes, _, false)
            | (Self::TakesOver, false, true) => Some(Ordering::Less),
            _ => None,
        }
    }
}

/// An effect of a step that matters to the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A queue is created, or its encryption changes.
    Encrypts,
    /// The encryption of an existing queue changes.
    Reencrypts,
    /// A policy that was in use allows another key.
    AllowsKey,
    /// The settings of the hub lose something that they remembered.
    Forgets,
    /// A queue no longer saves the role that it saved.
    ForgetsRole,
    /// A function has less reserved concurrency than before.
    LowersReserved,
    /// A rule no longer sends as a role.
    DropsRole,
    /// A queue to which EventBridge could send denies other senders.
    Locks,
}

impl Edge {
    /// The same for steps with these effects only.
    pub(super) fn when(self, this: impl Into<Option<Effect>>, other: Effect) -> Self {
        Self {
            of_effects: Some((this.into(), other)),
            ..self
        }
    }
}
