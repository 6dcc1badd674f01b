//! The alias that the event source mapping points to, and the versions available for rollback.

use std::collections::BTreeSet;

use super::ResourceId;
use super::function::FunctionSettings;
use super::particulars::{Edge, Field, Ownership, Particulars, Tie, field, field_names};
use crate::model::{FunctionName, Scope};

field_names! {
    /// The fields of an alias, in addition to those of the version that it points to.
    AliasField {
        Shares = "shares",
        Version = "version",
        Versions = "versions",
    }
}

/// An alias of a function, compared by the settings of the version that it points to. Lambda assigns the number of a new
/// version, so the number is read and shown but not compared, unless the settings of the hub pin one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    pub function: FunctionName,
    pub name: String,
    pub settings: FunctionSettings,
    /// The number of the version that it points to.
    pub version: Option<u64>,
    /// The existing version that it should point to, instead of a new one.
    pub moves_to: Option<u64>,
    /// The other versions that receive a share of the invocations, each with its weight. Kibus sets none.
    pub shares: BTreeSet<String>,
    /// The existing versions that kibus published.
    pub versions: BTreeSet<u64>,
    /// The revision that was read. Lambda creates a new revision with each change.
    pub revision: Option<String>,
}

impl Alias {
    /// The versions available for rollback, latest first. A version that failed its self-test was deleted.
    pub fn before(&self) -> Vec<u64> {
        let earlier = self.versions.iter().rev().copied();
        earlier.filter(|number| Some(*number) < self.version).collect()
    }

    /// The latest version after the one that it points to.
    pub fn later(&self) -> Option<u64> {
        let latest = self.versions.last().copied();
        latest.filter(|latest| self.version.is_some_and(|version| version < *latest))
    }

    /// The version that a rollback makes live: `to`, or the version before the live one.
    pub fn rollback_target(&self, to: Option<u64>) -> Result<u64, NoRollbackVersion> {
        let before = self.before();
        let found = match to {
            Some(version) => before.contains(&version).then_some(version),
            None => before.first().copied(),
        };
        found.ok_or(NoRollbackVersion { requested: to, kept: before, rolled_back_from: None })
    }

    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            function: _, // names the resource
            name: _,     // names the resource
            settings,
            version,
            moves_to,
            shares,
            versions: _, // decided by the plan that moves the alias
            revision: _, // each change has its own
        } = self;
        let mut fields = settings.fields();
        fields.push(field(AliasField::Shares, shares.clone()));
        // Without a version to move to, any number is correct.
        let moves = moves_to.filter(|to| Some(*to) != *version);
        fields.push(field(AliasField::Version, moves.map(|version| version.to_string())));
        fields
    }
}

impl Scope {
    pub fn alias_arn(&self, function: &FunctionName, alias: &str) -> String {
        self.arn("lambda", &format!("function:{function}:{alias}"))
    }
}

impl Particulars for Alias {
    fn ownership(&self, _scope: &Scope) -> Ownership {
        Ownership::TagsOf(vec![ResourceId::Function(self.function.clone())])
    }

    fn edges(&self, scope: &Scope) -> Vec<Edge> {
        let function = ResourceId::Function(self.function.clone());
        let tested = |with| Tie::UsesWhenWritten.to(with, "a version runs its self-test before it is live");
        vec![
            Tie::Needs.to(function, "an alias points to a version of its function"),
            tested(ResourceId::Queue(scope.probe_queue())),
            tested(ResourceId::Role(scope.router_role())),
            tested(ResourceId::RolePolicy(scope.router_role(), scope.router_policy())),
        ]
    }

    fn summary(&self) -> String {
        match self.version {
            Some(version) => format!("version {version}"),
            None => format!("router {}", self.settings.code.version),
        }
    }
}

/// There is no version to roll back to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", match .requested {
    Some(version) => format!("version {version} is not available for rollback"),
    None => "no version of the router is available for rollback".to_owned(),
})]
pub struct NoRollbackVersion {
    pub requested: Option<u64>,
    pub kept: Vec<u64>,
    /// The version that was live before the current rollback.
    pub rolled_back_from: Option<u64>,
}

#[cfg(test)]
mod tests;
