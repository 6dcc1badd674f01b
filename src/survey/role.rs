//! The inline policies of a controller role.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::inline_policy::InlinePolicy;

/// The inline policies of a role, as far as they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolePolicies {
    /// The names of all of them.
    pub names: BTreeSet<String>,
    /// Those whose documents were read.
    pub documents: BTreeMap<String, InlinePolicy>,
}

impl RolePolicies {
    /// Every policy, if all documents were read.
    #[must_use]
    pub fn all(&self) -> Option<Vec<InlinePolicy>> {
        (self.names.len() == self.documents.len()).then(|| self.documents.values().cloned().collect())
    }
}
