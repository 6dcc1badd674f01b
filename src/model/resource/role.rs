//! IAM roles.

use std::collections::BTreeSet;

use serde_json::Value;

use super::edge::Edge;
use super::last;
use super::particulars::Particulars;
use crate::model::document::{Document, texts};
use crate::model::field::{Field, field, field_names};
use crate::model::finding_code::FindingCode;
use crate::model::name::{PermissionsBoundary, RoleName, RolePath};
use crate::model::scope::{Scope, fixed};
use crate::model::tags::Tags;

field_names! {
    /// The fields of a role.
    RoleField {
        Path = "path",
        Trust = "trust",
        PermissionsBoundary = "permissions_boundary",
    }
}

/// A role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    pub name: RoleName,
    /// Its path, which cannot change in place.
    pub path: RolePath,
    /// The trust policy.
    pub trust: Document,
    pub permissions_boundary: Option<PermissionsBoundary>,
    pub tags: Tags,
}

impl Role {
    /// The field that cannot change without a new role.
    pub const PATH: &str = RoleField::Path.path();
}

impl Scope {
    /// The role that the router function runs as. IAM is global, so the Region is part of the name.
    #[must_use]
    pub fn router_role(&self) -> RoleName {
        fixed(format!("{}-router-{}", self.bus, self.region))
    }
}

impl Particulars for Role {
    fn fields(&self) -> Vec<Field> {
        let Self {
            name: _, // names the resource
            path,
            trust,
            permissions_boundary,
            tags: _, // compared key by key
        } = self;
        vec![
            field(RoleField::Path, path.as_str()),
            field(RoleField::Trust, trust.clone()),
            field(
                RoleField::PermissionsBoundary,
                permissions_boundary.as_ref().map(PermissionsBoundary::as_str),
            ),
        ]
    }

    fn is_fixed(&self, path: &str) -> bool {
        path == Self::PATH
    }

    fn edges(&self, _scope: &Scope) -> Vec<Edge> {
        Vec::new()
    }

    fn codes(&self, _of_cluster: bool) -> (FindingCode, FindingCode) {
        (FindingCode::RoleMissing, FindingCode::RoleChanged)
    }

    fn summary(&self) -> String {
        let statements = self.trust.statements();
        let principals = statements.iter().filter_map(|statement| statement.get("Principal"));
        let principals: BTreeSet<&str> = principals
            .flat_map(|principal| match principal {
                Value::Object(kinds) => kinds.values().flat_map(|who| texts(Some(who))).collect(),
                other => texts(Some(other)),
            })
            .collect();
        let mut parts: Vec<String> = principals.into_iter().map(str::to_owned).collect();
        if self.path.as_str() != "/" {
            parts.push(format!("path {}", self.path));
        }
        if let Some(boundary) = &self.permissions_boundary {
            parts.push(format!("boundary {}", last(boundary.as_str(), '/')));
        }
        parts.join(", ")
    }
}
