//! The reasons why there is no intent, as data. The command layer turns them into errors.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{NothingToAdopt, hub};
use crate::model::answer::{Fact, Fault};
use crate::model::name::{ClusterName, RoleName};
use crate::model::resource::{NoRollbackVersion, ParameterName, ResourceId};
use crate::model::settings::BadSettings;
use crate::plan::Refusal;
use crate::survey::Survey;

/// Why nothing can be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// There is no hub of this bus.
    NoHub,
    /// This is missing, so no router can be invoked.
    NoRouter(ResourceId),
    /// A resource could not be read.
    Unreadable(ResourceId, Box<Fault>),
    /// A question that is not about one resource failed; the text names the operation, like "list the roles".
    CallFailed(&'static str, Box<Fault>),
    /// The parameter with the settings of the hub holds something else.
    BadSettings {
        parameter: ParameterName,
        bad: BadSettings,
        /// The command that replaces damaged settings.
        restoring: String,
    },
    /// Resources of the hub exist, and its settings do not. This command restores them.
    LostSettings(String),
    /// A check refuses the request, whatever the plan.
    Refused(Vec<Refusal>),
    /// Named or found controller roles that do not exist.
    NoSuchRoles(Vec<MissingRole>),
    /// Clusters whose controller role was not found.
    RolesNotFound(Vec<RoleSearch>),
    /// Queues that are to be taken over do not exist.
    NothingToAdopt(Vec<NothingToAdopt>),
    /// Names of clusters that do not exist, and those that are to be removed with them.
    UnknownClusters(Vec<UnknownCluster>, BTreeSet<ClusterName>),
    /// Clusters to register that EKS does not have, although it has others.
    NotInEks(Vec<UnknownCluster>),
    /// There is no version of the router to roll back to.
    NoVersion(NoRollbackVersion),
    /// The version to roll back to was deleted.
    VersionGone(u64),
    /// Kibus did not publish the version to roll back to.
    NotPublished(u64),
}

impl Blocked {
    pub(super) fn unreadable(id: ResourceId, fault: &Fault) -> Self {
        Self::Unreadable(id, Box::new(fault.clone()))
    }

    pub(super) fn bad_settings(survey: &Survey, bad: BadSettings) -> Self {
        Self::BadSettings {
            parameter: survey.scope.settings_parameter(),
            bad,
            restoring: hub::restoring(survey),
        }
    }

    pub(super) fn call_failed(operation: &'static str, fault: &Fault) -> Self {
        Self::CallFailed(operation, Box::new(fault.clone()))
    }
}

/// A controller role that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRole {
    pub cluster: ClusterName,
    pub role: RoleName,
    /// What names it, unless the command line does.
    pub sources: BTreeSet<RoleSource>,
    /// Roles that may be meant.
    pub similar: Vec<RoleName>,
}

/// A search for a controller role that did not find exactly one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleSearch {
    pub cluster: ClusterName,
    /// The roles that may be the one, each with what speaks for it.
    pub candidates: BTreeMap<RoleName, BTreeSet<RoleSource>>,
    /// The ARNs of roles of other accounts that may be the one, by pod identity associations.
    pub elsewhere: BTreeSet<String>,
    /// The role that the tag of the queue names, if it does not exist.
    pub gone: Option<RoleName>,
    /// Whether EKS and trust policies show a role: absent if they show none.
    pub evidence: Fact<()>,
    /// Roles that may be meant, if there is no candidate.
    pub similar: Vec<RoleName>,
}

/// What says that a role is the one of a controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoleSource {
    /// It has the policy of the cluster.
    Policy,
    /// An EKS pod identity association in this namespace.
    Association(String),
    /// Its trust policy names the cluster's issuer and the service account.
    Trust,
    /// Its name is usual for the cluster.
    Name,
    /// The same with a generated suffix, which may be a part of another cluster's name.
    Suffix,
    /// The tag of the cluster's queue names it.
    Tag,
}

impl fmt::Display for RoleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy => f.write_str("policy for the cluster"),
            Self::Association(namespace) => {
                write!(f, "EKS pod identity association in namespace `{namespace}`")
            }
            Self::Trust => f.write_str("trust policy"),
            Self::Name => f.write_str("usual name"),
            Self::Suffix => f.write_str("usual name with a suffix"),
            Self::Tag => f.write_str("tag of the queue"),
        }
    }
}

impl RoleSearch {
    /// A search that found nothing.
    pub(super) fn nothing(cluster: &ClusterName) -> Self {
        Self {
            cluster: cluster.clone(),
            candidates: BTreeMap::new(),
            elsewhere: BTreeSet::new(),
            gone: None,
            evidence: Fact::NotAsked,
            similar: Vec::new(),
        }
    }
}

/// The name of a cluster that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCluster {
    pub name: ClusterName,
    /// The registered clusters whose names are close.
    pub similar: BTreeSet<ClusterName>,
}

impl From<Refusal> for Blocked {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(vec![refusal])
    }
}
