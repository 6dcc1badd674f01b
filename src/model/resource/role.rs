//! IAM roles and their inline policies.

use crate::model::document::Document;
use crate::model::field::{Field, field, field_names};
use crate::model::name::{PermissionsBoundary, PolicyName, RoleName, RolePath};
use crate::model::tags::Tags;

field_names! {
    /// The fields of a role.
    RoleField {
        Path = "path",
        Trust = "trust",
        PermissionsBoundary = "permissions_boundary",
    }
}

field_names! {
    /// The fields of an inline policy.
    RolePolicyField {
        Document = "document",
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

    pub(super) fn fields(&self) -> Vec<Field> {
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
}

/// An inline policy of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolePolicy {
    pub role: RoleName,
    /// The policy's name.
    pub name: PolicyName,
    pub document: Document,
}

impl RolePolicy {
    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            role: _, // names the resource
            name: _, // names the resource
            document,
        } = self;
        vec![field(RolePolicyField::Document, document.clone())]
    }
}
