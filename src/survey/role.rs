//! The policies of a controller role.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::document::Document;
use crate::model::fact::Fact;
use crate::model::inline_policy::InlinePolicy;

/// The policies of a role, as far as they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolePolicies {
    /// The names of all inline policies.
    pub names: BTreeSet<String>,
    /// Those whose documents were read.
    pub documents: BTreeMap<String, InlinePolicy>,
    /// The attached managed policies that may name a queue, by ARN.
    pub managed: Fact<BTreeMap<String, Fact<Document>>>,
}

impl RolePolicies {
    /// Every inline policy, if all documents were read.
    #[must_use]
    pub fn all(&self) -> Option<Vec<InlinePolicy>> {
        (self.names.len() == self.documents.len()).then(|| self.documents.values().cloned().collect())
    }
}
