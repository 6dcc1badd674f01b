//! What IAM says that policies decide about calls, without the calls.

use std::collections::{BTreeMap, BTreeSet};

use super::fault::Fault;

/// An action on a resource: an ARN, or `*` for an action that takes none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub action: String,
    pub resource: String,
}

/// Calls whose requests hold the same. IAM answers for each action on each resource, also for pairs that are not asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulation {
    pub calls: BTreeSet<Call>,
    /// The condition keys of the requests, with their values.
    pub context: BTreeMap<String, Vec<String>>,
}

impl Simulation {
    /// The actions.
    pub fn actions(&self) -> BTreeSet<&str> {
        self.calls.iter().map(|call| call.action.as_str()).collect()
    }

    /// The resources.
    pub fn resources(&self) -> BTreeSet<&str> {
        self.calls.iter().map(|call| call.resource.as_str()).collect()
    }

    /// A simulation for each action.
    pub fn by_action(&self) -> Vec<Self> {
        let of = |action: &str| Self {
            calls: self
                .calls
                .iter()
                .filter(|call| call.action == action)
                .cloned()
                .collect(),
            context: self.context.clone(),
        };
        self.actions().into_iter().map(of).collect()
    }
}

/// The answer to a simulation, or to one of its actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// What was asked about. A call may have no decision.
    pub calls: BTreeSet<Call>,
    pub decisions: Result<BTreeMap<Call, Decision>, Fault>,
}

/// What policies decide about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// They allow it. A statement that denies it under a condition may still apply to the real request.
    Allowed,
    /// No policy of the principal allows it.
    NoPolicy {
        /// The condition keys for which the simulation has no value, of all policies of the principal, also of statements about
        /// other actions. No other decision comes with such keys.
        keys: BTreeSet<String>,
    },
    /// These policies of the principal deny it.
    Policies(BTreeSet<String>),
    /// The permissions boundary of the principal does not allow it.
    Boundary,
    /// A service control policy of the organization does not allow it.
    Organization,
    /// IAM gave another answer than those that kibus knows.
    Other,
}

impl Decision {
    /// Why the call is denied to a principal, such as `the caller`; `None` if it is not denied.
    pub fn denial(&self, principal: &str) -> Option<String> {
        Some(match self {
            Self::Allowed | Self::Other => return None,
            Self::NoPolicy { .. } => format!("no policy of {principal} allows it"),
            Self::Policies(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
                match names.as_slice() {
                    [] => "a policy denies it".to_owned(),
                    [one] => format!("policy {one} denies it"),
                    several => format!("policies {} deny it", several.join(", ")),
                }
            }
            Self::Boundary => format!("the permissions boundary of {principal} does not allow it"),
            Self::Organization => "a service control policy of the organization does not allow it".to_owned(),
        })
    }
}
