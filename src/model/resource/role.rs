//! IAM roles.

use std::collections::BTreeSet;

use super::last;
use super::particulars::{Particulars, fields};
use crate::model::{
    Document, HubOptions, PermissionsBoundary, RoleName, RolePath, Scope, Tags, principals, scope::fixed,
};

fields! {
    RoleField of Role {
        name: _, // names the resource
        path, trust, permissions_boundary,
        tags: _, // compared key by key
    } {
        Path = "path": path.as_str(),
        Trust = "trust": trust.clone(),
        PermissionsBoundary = "permissions_boundary": permissions_boundary.as_ref().map(PermissionsBoundary::as_str),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    pub name: RoleName,
    /// Its path, which cannot change in place.
    pub path: RolePath,
    pub trust: Document,
    pub permissions_boundary: Option<PermissionsBoundary>,
    pub tags: Tags,
}

impl Scope {
    /// The role that the router function runs as. IAM is global, so the Region is part of the name.
    pub fn router_role(&self) -> RoleName {
        fixed(format!("{}-router-{}", self.bus, self.region))
    }

    /// The role of a drill, which AWS FIS runs as. A second drill stops when it finds this role.
    pub fn drill_role(&self) -> RoleName {
        fixed(format!("{}-drill-{}", self.bus, self.region))
    }

    /// The permissions boundary of that role: the hub's, or AWS's own policy for experiments on EC2. Without one,
    /// anyone who can create the role could grant FIS any permission.
    pub fn drill_boundary(&self, options: &HubOptions) -> PermissionsBoundary {
        let of_aws = || {
            let policy = "policy/service-role/AWSFaultInjectionSimulatorEC2Access";
            fixed(format!("arn:{}:iam::aws:{policy}", self.partition))
        };
        options.boundary().cloned().unwrap_or_else(of_aws)
    }

    pub fn role_arn(&self, path: &RolePath, role: &RoleName) -> String {
        format!("arn:{}:iam::{}:role{path}{role}", self.partition, self.account)
    }

    /// The ARN of a role by its path and name without the first slash, or a pattern of both.
    pub fn roles_arn(&self, pattern: &str) -> String {
        format!("arn:{}:iam::{}:role/{pattern}", self.partition, self.account)
    }

    /// The role with an ARN; `None` if it is not in this account.
    pub fn own_role(&self, arn: &str) -> Option<RoleName> {
        let path_and_name = arn.strip_prefix(&self.roles_arn(""))?;
        path_and_name.rsplit('/').next()?.parse().ok()
    }

    /// The ARN of the IAM OpenID Connect provider for an issuer, by its URL.
    pub fn oidc_provider_arn(&self, issuer: &str) -> String {
        let issuer = issuer.split_once("://").map_or(issuer, |(_, rest)| rest);
        format!("arn:{}:iam::{}:oidc-provider/{issuer}", self.partition, self.account)
    }
}

impl Particulars for Role {
    fn summary(&self) -> String {
        let statements = self.trust.statements();
        let principals: BTreeSet<&str> = statements.into_iter().flat_map(principals).collect();
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
