//! Reconciliation: a pure function from a survey and a request to an intent, one file per command.
//!
//! A recipe states what it needs to read ([`Recipe::query`]), then what it needs after that ([`Recipe::more`]), and then
//! returns the intent. It reads nothing, changes nothing and prints nothing.

pub mod add_cluster;
mod blocked;
pub mod bootstrap_hub;
mod cluster;
mod confirm;
mod controllers;
pub mod dead_letters;
mod inventory;
mod key;
mod live_version;
mod names;
mod old_key;
mod orphan;
pub mod probe;
mod redrive;
pub mod remove_cluster;
mod role_search;
pub mod rollback;
mod router_code;
mod second_source;
mod senders;
pub mod status;
pub mod teardown;
pub mod verify;

pub use blocked::{Blocked, MissingRole, RoleSearch, UnknownCluster};
pub use cluster::{ClusterSummary, Controller};
pub use confirm::{Comparison, Difference};
pub use old_key::{of_controller as old_keys_of_controller, of_router as old_keys_of_router};
pub use role_search::SavedRoles;
pub use router_code::{ArchiveNeed, OfferedRouter};

use crate::error::Hint;
use crate::model::document::Document;
use crate::plan::finding::Finding;
use crate::plan::{Plan, Refusal, SecondSources};
use crate::survey::{Query, Survey};

/// The recipe of a command, with the request that its arguments make.
pub trait Recipe: Send + Sync {
    /// The first query.
    fn query(&self) -> Query;

    /// The next query, given the survey so far. An empty query ends the survey.
    fn more(&self, survey: &Survey) -> Query {
        let _ = survey;
        Query::default()
    }

    /// The intent of the command.
    ///
    /// # Errors
    /// When nothing can be planned: no hub, an unreadable resource, a name that nothing has.
    fn intent(&self, survey: &Survey) -> Result<Intent, Blocked>;
}

/// The intent of a command for one hub.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    /// The changes.
    pub plan: Plan,
    /// The reasons not to apply the plan.
    pub refusals: Vec<Refusal>,
    /// The findings of a check.
    pub findings: Vec<Finding>,
    /// Warnings, shown before the changes are applied.
    pub warnings: Vec<Hint>,
    /// Queues of other tools that the clusters' controllers may read; they are shown as warnings.
    pub second_sources: SecondSources,
    /// The controllers that must stop using their queues before the changes are applied.
    pub release: Vec<Controller>,
    /// The message if nothing changes.
    pub unchanged: String,
    /// The steps after the changes.
    pub next: Vec<NextStep>,
    /// How many resources could not be read, if that does not stop the command.
    pub incomplete: usize,
    /// The clusters of the command.
    pub clusters: Vec<ClusterSummary>,
    /// How the plan is confirmed.
    pub confirmation: Confirmation,
}

/// How a person confirms a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confirmation {
    /// With yes or no.
    #[default]
    YesNo,
    /// By typing a word, for changes that cannot be undone.
    Typed(String),
}

/// A step that is left to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// A sentence with a command.
    Run(Hint),
    /// Set the queue in the Karpenter of each cluster.
    ConfigureKarpenter(Vec<Controller>),
    /// The Karpenter settings that should be in place already.
    RemindOfSettings(Vec<Controller>),
    /// Attach a policy to the controller roles of these clusters.
    AttachPolicy {
        /// The clusters.
        clusters: Vec<Controller>,
        /// The policy, for the queue of the first.
        policy: Document,
    },
}

#[cfg(test)]
mod tests;
