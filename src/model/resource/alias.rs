//! The alias that the event source mapping points to, and the versions that it can be rolled back to.

mod history;

use std::collections::BTreeSet;

pub use history::{History, KEPT};

use super::ResourceId;
use super::edge::{Edge, Effect, Tie};
use super::function::FunctionSettings;
use super::particulars::{Ownership, Particulars};
use crate::model::field::{Field, field, field_names};
use crate::model::name::FunctionName;
use crate::model::scope::Scope;

field_names! {
    /// The fields of an alias beside those of the version that it points to.
    AliasField {
        Shares = "shares",
        Rollback = "rollback",
        Versions = "versions",
    }
}

/// An alias of a function, compared by the settings of the version that it points to.
///
/// Lambda assigns the number of a new version, so the number is read and shown but not compared. Only a rollback sets
/// the number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    pub function: FunctionName,
    pub name: String,
    /// The settings of the published version.
    pub settings: FunctionSettings,
    /// The number of the version that it points to.
    pub version: Option<u64>,
    /// The other versions that receive a share of the invocations, each with its weight. Kibus sets none.
    pub shares: BTreeSet<String>,
    /// The versions that kibus moved it to before.
    pub history: History,
    /// The existing versions that kibus published.
    pub versions: BTreeSet<u64>,
}

impl Alias {
    /// The versions to keep when the alias moves from this state, the latest first: those that kibus published and
    /// that were live. `publishes` says that the settings change, so that a new version is published and one fewer is
    /// kept.
    #[must_use]
    pub fn kept(&self, publishes: bool) -> Vec<u64> {
        let mut kept: Vec<u64> = Vec::new();
        for number in self.version.iter().chain(&self.history.before) {
            if self.versions.contains(number) && !kept.contains(number) {
                kept.push(*number);
            }
        }
        kept.truncate(if publishes { KEPT } else { KEPT + 1 });
        kept
    }

    /// The version that a rollback makes live: `to`, or the one before the live version. `None` if it is live already.
    ///
    /// # Errors
    /// When no such version is kept.
    pub fn rollback_target(&self, to: Option<u64>) -> Result<Option<u64>, NoRollbackVersion> {
        let none = || NoRollbackVersion {
            requested: to,
            kept: self.history.before.clone(),
            rolled_back_from: self.history.rolled_back_from,
        };
        match to {
            // A second rollback without a number changes nothing, so an interrupted command can be run again.
            None if self.history.rolled_back_from.is_some() => Ok(None),
            None => self.history.before.first().copied().map(Some).ok_or_else(none),
            Some(_) if self.version == to => Ok(None),
            Some(version) if self.history.before.contains(&version) => Ok(Some(version)),
            Some(_) => Err(none()),
        }
    }

    /// The same alias after a rollback to version `to`, which has these settings.
    #[must_use]
    pub fn rolled_back(&self, to: u64, settings: FunctionSettings) -> Self {
        Self {
            settings,
            version: Some(to),
            shares: BTreeSet::new(),
            history: History {
                before: self.history.before.iter().copied().filter(|kept| *kept < to).collect(),
                rolled_back_from: self.history.rolled_back_from.or(self.version),
            },
            ..self.clone()
        }
    }

    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            function: _, // names the resource
            name: _,     // names the resource
            settings,
            version,
            shares,
            history: History {
                before: _,
                rolled_back_from,
            }, // earlier versions are no difference
            versions: _, // a plan that moves the alias decides on them
        } = self;
        let mut fields = settings.fields();
        fields.push(field(AliasField::Shares, shares.clone()));
        let rollback = rolled_back_from.map(|from| match version {
            Some(version) => format!("from version {from} to version {version}"),
            None => format!("from version {from}"),
        });
        fields.push(field(AliasField::Rollback, rollback));
        fields
    }
}

impl Scope {
    /// The ARN of a function's alias.
    #[must_use]
    pub fn alias_arn(&self, function: &FunctionName, alias: &str) -> String {
        self.arn("lambda", &format!("function:{function}:{alias}"))
    }
}

impl Particulars for Alias {
    fn ownership(&self, _scope: &Scope) -> Ownership {
        Ownership::TagsOf(vec![ResourceId::Function(self.function.clone())])
    }

    fn edges(&self, scope: &Scope) -> Vec<Edge> {
        let function = || ResourceId::Function(self.function.clone());
        let tested = |with| Tie::UsesWhenWritten.to(with, "a version runs its self-test before it is live");
        vec![
            Tie::Needs.to(function(), "an alias points to a version of its function"),
            Tie::Free
                .to(function(), "reserved concurrency limits mappings only")
                .when(None, Effect::LowersReserved),
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
    /// The version that was live before the rollback that is kept.
    pub rolled_back_from: Option<u64>,
}

#[cfg(test)]
mod tests;
