//! What a check finds: from a plan, its refusals and what was seen of the traffic to findings, each with a stable
//! code, what it is about, and what fixes it.

mod code;
mod delivery;
mod drift;

pub use code::Code;
pub use delivery::{Look, traffic};
pub use drift::{changed, key, not_registered, orphan, refused, unreadable};

use crate::model::name::ClusterName;
use crate::model::resource::ResourceId;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The stable code.
    pub code: Code,
    /// What it is about.
    pub subject: Subject,
    /// What is so, in a few words without a full stop.
    pub message: String,
    /// What fixes it.
    pub fix: Fix,
    /// Which change of the plan would fix it, by its place there.
    pub change: Option<usize>,
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A resource.
    Resource(ResourceId),
    /// A cluster, of which there is no resource.
    Cluster(ClusterName),
    /// Something without a name, like "the queues of clusters".
    Other(String),
}

impl Subject {
    /// The kind, as the plan names it, and the name.
    #[must_use]
    pub fn words(&self) -> (String, String) {
        match self {
            Self::Resource(id) => (id.kind().replace('-', " "), id.name()),
            Self::Cluster(name) => ("cluster".to_owned(), name.to_string()),
            Self::Other(what) => (String::new(), what.clone()),
        }
    }
}

/// What fixes a finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fix {
    /// Setting the hub up again.
    BootstrapHub,
    /// Adding this cluster again.
    AddCluster(ClusterName),
    /// Removing what is left of this cluster.
    RemoveCluster(ClusterName),
    /// A command of another program.
    Command(String),
    /// What a person has to do, in a sentence without a full stop.
    ByHand(String),
}
