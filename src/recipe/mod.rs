//! What each command wants: a pure function from a survey and a request to an intent, one file per command.
//!
//! A recipe first says what it needs to know ([`Recipe::query`]), then what else, now that it knows that
//! ([`Recipe::more`]), and in the end what it intends. It reads nothing, changes nothing and prints nothing.

pub mod add_cluster;
mod blocked;
pub mod bootstrap_hub;
mod cluster;
mod controllers;
mod inventory;
mod key;
mod live_version;
mod names;
mod orphan;
pub mod probe;
pub mod remove_cluster;
pub mod rollback;
pub mod status;
pub mod teardown;
pub mod verify;

pub use blocked::{Blocked, MissingRole, RoleSearch, UnknownCluster};
pub use cluster::{ClusterSummary, Controller};

use crate::error::Hint;
use crate::model::document::Document;
use crate::plan::finding::Finding;
use crate::plan::{Plan, Refusal};
use crate::survey::{Query, Survey};

/// The recipe of a command, with the request that its arguments make.
pub trait Recipe: Send + Sync {
    /// What it needs to know.
    fn query(&self) -> Query;

    /// What else it needs to know, given what it knows. An empty query ends the survey.
    fn more(&self, survey: &Survey) -> Query {
        let _ = survey;
        Query::default()
    }

    /// What the command intends.
    ///
    /// # Errors
    /// When there is nothing to plan from: no hub, an unreadable resource, a name that nothing has.
    fn intent(&self, survey: &Survey) -> Result<Intent, Blocked>;
}

/// What a command intends for one hub.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    /// The changes.
    pub plan: Plan,
    /// Why the plan is not applied.
    pub refusals: Vec<Refusal>,
    /// What a check has found.
    pub findings: Vec<Finding>,
    /// What a person should know before the changes are made.
    pub warnings: Vec<Hint>,
    /// The controllers that must stop using their queues before the changes are made.
    pub release: Vec<Controller>,
    /// What to say when there is nothing to change.
    pub unchanged: String,
    /// What to do after the changes.
    pub next: Vec<NextStep>,
    /// How many things could not be read, where that does not stop the command.
    pub incomplete: usize,
    /// The clusters that the command is about.
    pub clusters: Vec<ClusterSummary>,
    /// How the question is asked.
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
