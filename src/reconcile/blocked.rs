//! The reasons why there is no intent, as data. The command layer turns them into errors.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{NothingToAdopt, hub};
use crate::model::fact::Fact;
use crate::model::fault::Fault;
use crate::model::name::{ClusterName, QueueName, RoleName};
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
    /// SQS may be deleting these wanted queues, for as long as each mark counts from the time of the survey.
    BeingDeleted(BTreeMap<QueueName, Duration>),
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
    /// Named or saved controller roles that do not exist.
    NoSuchRoles(Vec<MissingRole>),
    /// Clusters whose controller role was not found.
    RolesNotFound(Vec<RoleSearch>),
    /// Queues that are to be taken over do not exist.
    NothingToAdopt(Vec<NothingToAdopt>),
    /// Names of clusters that do not exist, each close to registered clusters.
    UnknownClusters(Vec<UnknownCluster>),
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
    pub origin: RoleOrigin,
    /// Roles that may be meant.
    pub similar: Vec<RoleName>,
}

/// What says that a role is the one of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleOrigin {
    /// The option.
    Named,
    /// The tag of the cluster's queue.
    Saved,
    /// An EKS pod identity association, as the only evidence of roles that may not exist.
    PodIdentity,
}

/// A search for a controller role that did not find exactly one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleSearch {
    pub cluster: ClusterName,
    /// Where it found them.
    pub source: RoleSource,
    /// The roles that may be the one: several with equal evidence, or those with a usual name and a generated suffix.
    pub found: Vec<RoleName>,
    /// The ARNs of roles of other accounts that may be the one.
    pub elsewhere: BTreeSet<String>,
    /// Whether EKS and trust policies show a role, for a search among names: absent if they show none.
    pub evidence: Fact<()>,
    /// Roles that may be meant, if none was found.
    pub similar: Vec<RoleName>,
}

/// Where roles were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleSource {
    /// In EKS pod identity associations.
    PodIdentity,
    /// In trust policies that name the cluster's issuer and the service account.
    Trust,
    /// Among the names of roles.
    Names,
}

impl RoleSearch {
    /// A search that found nothing.
    pub(super) fn nothing(cluster: &ClusterName) -> Self {
        Self {
            cluster: cluster.clone(),
            source: RoleSource::Names,
            found: Vec::new(),
            elsewhere: BTreeSet::new(),
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
