//! Inline policies of IAM roles.

use std::collections::BTreeMap;

use super::particulars::{Edge, Ownership, Particulars, Tie, fields};
use super::record::follows_record;
use super::{Kind, Resource, ResourceId};
use crate::model::{
    ClusterName, Document, RoleName, Scope,
    calls::{kms, sqs},
    counted,
    name::{all, names},
    policy,
    scope::{cut_with_hash, fixed},
    texts,
};

names! {
    /// The name of an inline policy (IAM API reference, `PutRolePolicy`).
    PolicyName: "policy name",
        "1 to 128 letters, digits and `_+=,.@-`",
        |s| !s.is_empty() && s.len() <= 128 && all(s, "_+=,.@-");
}

fields! {
    RolePolicyField of RolePolicy {
        role: _, name: _, // name the resource
        document,
    } {
        Document = "document": document.clone(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolePolicy {
    pub role: RoleName,
    pub name: PolicyName,
    pub document: Document,
}

impl RolePolicy {
    fn is_of_router(&self, scope: &Scope) -> bool {
        self.role == scope.router_role() && self.name == scope.router_policy()
    }
}

impl Scope {
    /// The inline policy of the router's role; it has the role's name.
    pub fn router_policy(&self) -> PolicyName {
        fixed(format!("{}-router-{}", self.bus, self.region))
    }

    /// The inline policy of the role of a drill; it has the role's name.
    pub fn drill_policy(&self) -> PolicyName {
        fixed(self.drill_role().to_string())
    }

    /// The prefix of the inline policies on controller roles. No part of it can contain a dot, so no other bus has this prefix.
    pub fn controller_policies_prefix(&self) -> String {
        format!("{}.{}.", self.bus, self.region)
    }

    pub fn controller_policy(&self, cluster: &ClusterName) -> PolicyName {
        let prefix = self.controller_policies_prefix();
        fixed(cut_with_hash(&format!("{prefix}{cluster}"), 128))
    }

    /// The cluster in the name of an inline policy that [`Self::controller_policy`] made; `None` for other names. A
    /// shortened policy name results in a name that no cluster has.
    pub fn cluster_of_policy(&self, policy: &PolicyName) -> Option<ClusterName> {
        let name = policy.as_str().strip_prefix(&self.controller_policies_prefix())?;
        name.parse().ok()
    }
}

impl Particulars for RolePolicy {
    /// A controller's policy belongs to the bus according to its name, which contains bus, Region and cluster, and its statements.
    fn ownership(&self, scope: &Scope) -> Ownership {
        if self.is_of_router(scope) {
            Ownership::TagsOf(vec![ResourceId::Role(self.role.clone())])
        } else {
            Ownership::Content(policy::all_ours(&self.document))
        }
    }

    fn cluster(&self, scope: &Scope, policies: &BTreeMap<PolicyName, ClusterName>) -> Option<ClusterName> {
        if self.name == scope.router_policy() {
            return None;
        }
        let known = policies.get(&self.name).cloned();
        known.or_else(|| scope.cluster_of_policy(&self.name))
    }

    fn edges(&self, scope: &Scope) -> Vec<Edge> {
        if self.is_of_router(scope) {
            let role = ResourceId::Role(self.role.clone());
            return vec![Tie::Needs.to(role, "an inline policy is part of its role")];
        }
        vec![
            Tie::TakesOver.to(Kind::RolePolicy, "a controller always has a role that can read its queue"),
            follows_record(),
        ]
    }

    /// It allows another key.
    fn adds_to(&self, before: &Resource) -> bool {
        before.as_role_policy().is_some_and(|before| {
            let had = policy::allowed_keys(&before.document);
            !policy::allowed_keys(&self.document).is_subset(&had)
        })
    }

    fn summary(&self) -> String {
        let statements = self.document.statements();
        if self.role.as_str() == self.name.as_str() {
            return counted(statements.len(), "statement");
        }
        let actions = statements.iter().flat_map(|statement| texts(statement.get("Action")));
        let actions: Vec<&str> = actions.map(short_action).collect();
        format!("{}: {}", self.name, actions.join(", "))
    }
}

fn short_action(action: &str) -> &str {
    match action {
        sqs::RECEIVE_MESSAGE => "receive",
        sqs::DELETE_MESSAGE => "delete",
        sqs::GET_QUEUE_URL => "get URL",
        kms::DECRYPT => "decrypt",
        other => other,
    }
}
