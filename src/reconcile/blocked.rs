//! Messages about why there is no plan: what could not be read or found, and what a guard refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Serialize, Serializer};

use crate::error::{Error, Hint, listed, quoted};
use crate::iam::operator_policy::printing;
use crate::message::{Message, MessageKind, Subject};
use crate::model::{
    BadDocument, ClusterName, Fact, Fault, FindingCode, ParameterName, ResourceId, RoleName, Scope,
    karpenter::SERVICE_ACCOUNT, usual_roles,
};
use crate::survey::Survey;

/// Why nothing can be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked(pub Vec<Message>);

impl From<Message> for Blocked {
    fn from(message: Message) -> Self {
        Self(vec![message])
    }
}

impl From<Blocked> for Error {
    fn from(Blocked(messages): Blocked) -> Self {
        messages.as_slice().into()
    }
}

impl Blocked {
    /// Whether there is no hub: then nothing could have been changed.
    pub fn is_no_hub(&self) -> bool {
        self.0.iter().any(|message| message.kind == MessageKind::NoHub)
    }
}

/// A controller role that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRole {
    pub cluster: ClusterName,
    pub role: RoleName,
    /// Where its name comes from, unless it is the command line.
    pub sources: BTreeSet<RoleSource>,
    /// Roles that may be meant.
    pub similar: Vec<RoleName>,
}

/// A search for a controller role that did not find exactly one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleSearch {
    pub cluster: ClusterName,
    /// The candidate roles, each with its evidence.
    pub candidates: BTreeMap<RoleName, BTreeSet<RoleSource>>,
    /// The ARNs of candidate roles in other accounts, from pod identity associations.
    pub elsewhere: BTreeSet<String>,
    /// Whether EKS and trust policies show a role: absent if they show none.
    pub evidence: Fact<()>,
    /// Roles that may be meant, if there is no candidate.
    pub similar: Vec<RoleName>,
}

/// Evidence that a role belongs to a controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoleSource {
    /// The record of the cluster names it.
    Record,
    /// An EKS pod identity association in this namespace.
    Association(String),
    /// Its trust policy names the cluster's issuer and the service account.
    Trust,
    /// It has a usual name for the cluster.
    Name,
    /// It has a usual name with a generated suffix, which may be part of another cluster's name.
    Suffix,
}

impl fmt::Display for RoleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record => f.write_str("record of the cluster"),
            Self::Association(namespace) => {
                write!(f, "EKS pod identity association in namespace `{namespace}`")
            }
            Self::Trust => f.write_str("trust policy"),
            Self::Name => f.write_str("usual name"),
            Self::Suffix => f.write_str("usual name with a suffix"),
        }
    }
}

impl Serialize for RoleSource {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl RoleSearch {
    /// A search that found nothing.
    pub(super) fn nothing(cluster: &ClusterName) -> Self {
        Self {
            cluster: cluster.clone(),
            candidates: BTreeMap::new(),
            elsewhere: BTreeSet::new(),
            evidence: Fact::NotAsked,
            similar: Vec::new(),
        }
    }
}

pub(super) fn no_hub(scope: &Scope) -> Blocked {
    let Scope { bus, region, account, .. } = scope;
    let sentence = format!("hub `{bus}` does not exist in {region} of account {account}");
    Message::new(MessageKind::NoHub, "hub", sentence)
        .then(
            "if it exists elsewhere, use --bus, --region or --profile; to list the buses here:",
            scope.kibus_on(None, "list"),
        )
        .then("to create it:", scope.kibus("bootstrap-hub"))
        .into()
}

/// Why a pass ends: these reads, and all resources and records of the survey that could not be read.
pub(super) fn unread<'a>(survey: &'a Survey, needed: impl IntoIterator<Item = (Subject, &'a Fault)>) -> Blocked {
    let mut all: Vec<(Subject, &Fault)> = needed.into_iter().collect();
    let resources = survey.observed.faults().map(|(id, fault)| (id.clone().into(), fault));
    let records = survey.known.records.fault().map(|fault| ("the records of clusters".into(), fault));
    for (about, fault) in resources.chain(records) {
        if all.iter().all(|(other, _)| *other != about) {
            all.push((about, fault));
        }
    }
    Message::unread(&survey.scope, all).into()
}

/// The parameter for the settings of the hub has other content.
pub(super) fn bad_settings(scope: &Scope, bad: &BadDocument, restoring: &str) -> Blocked {
    let parameter = scope.settings_parameter();
    let sentence = format!("parameter `{parameter}` cannot be used: {bad}");
    let message = Message::new(MessageKind::Refused, ResourceId::Parameter(parameter), sentence);
    match bad {
        BadDocument::Future(_) => message.advise("use the kibus version that wrote it, or a newer one"),
        BadDocument::Damaged(_) => message
            .note("Parameter Store keeps its earlier values, which `aws ssm get-parameter-history` shows")
            .then("to replace it with the hub's current options:", scope.kibus(restoring)),
    }
    .into()
}

/// An unusable record of a cluster. Kibus skips the cluster. `is_newer` means that a newer kibus can use the record.
pub(super) fn unusable_record(
    scope: &Scope,
    parameter: &ParameterName,
    cluster: Option<ClusterName>,
    why: &str,
    is_newer: bool,
) -> Message {
    let sentence = format!("parameter `{parameter}` cannot be used as the record of a cluster: {why}");
    let message = Message::refusal(FindingCode::RecordUnusable, ResourceId::Record(parameter.clone()), sentence)
        .note("`aws ssm get-parameter-history` shows its earlier values, and who wrote them")
        .in_cluster(cluster.clone());
    if is_newer {
        return message.advise("use the kibus version that wrote it, or a newer one");
    }
    let delete = scope.aws(format!("ssm delete-parameter --name {parameter} --region {}", scope.region));
    let message =
        message.then("restore an earlier value or, with permission to write the parameter, delete it:", delete);
    match cluster {
        Some(name) => {
            message.then("afterwards, to record its queue again:", scope.kibus(format!("add-cluster {name} --adopt")))
        }
        None => message,
    }
}

/// Resources of the hub exist, but its settings do not. Guessing could turn off protections of the hub, so the user confirms its options.
pub(super) fn lost_settings(scope: &Scope, restoring: &str) -> Blocked {
    let parameter = scope.settings_parameter();
    let sentence = format!(
        "the settings of hub `{}` are lost: its resources exist in {} of account {}, but parameter `{parameter}` does not",
        scope.bus, scope.region, scope.account,
    );
    let message = Message::new(MessageKind::Refused, ResourceId::Parameter(parameter), sentence);
    Message { code: Some(FindingCode::SettingsMissing), ..message }
        .note("events are still routed; kibus does not change a hub with unknown settings")
        .then("check these options, which differ from the defaults; to save them:", scope.kibus(restoring))
        .into()
}

/// Named or found controller roles that do not exist.
pub(super) fn no_such_roles(scope: &Scope, roles: &[MissingRole]) -> Blocked {
    let message = |one: &MissingRole| {
        let MissingRole { cluster, role, sources, similar } = one;
        let sentence = match roles.len() {
            1 => format!("role `{role}` does not exist"),
            _ => format!("cluster `{cluster}`: no role `{role}`"),
        };
        let mut message = Message::new(MessageKind::Blocked, cluster.clone(), sentence);
        if !sources.is_empty() {
            let sources = in_words(sources);
            message = message.note(format!("role `{role}` of cluster `{cluster}` was found by: {sources}"));
        }
        let whose = match roles.len() {
            1 => "this Karpenter controller".to_owned(),
            _ => format!("the Karpenter controller of `{cluster}`"),
        };
        with_similar(message, cluster, similar).then(
            format!("pass the role of {whose}:"),
            scope.kibus(format!("add-cluster {cluster} --controller-role ROLE")),
        )
    };
    Blocked(roles.iter().map(message).collect())
}

fn with_similar(message: Message, cluster: &ClusterName, similar: &[RoleName]) -> Message {
    match similar {
        [] => message,
        roles => message.note(format!("roles that name cluster `{cluster}`: {}", listed(roles))),
    }
}

/// Clusters whose controller role was not found.
pub(super) fn roles_not_found(scope: &Scope, searches: &[RoleSearch]) -> Blocked {
    let message = |search: &RoleSearch| {
        let cluster = &search.cluster;
        let name = |role: &str| scope.kibus(format!("add-cluster {cluster} --controller-role {role}"));
        let mut message = Message::new(MessageKind::Blocked, cluster.clone(), not_one(search));
        message = explained(scope, message, search, searches.len() == 1);
        if search.candidates.is_empty() {
            let text = "to name the role of the Karpenter controller:";
            message = message.then(text, name("ROLE"));
        }
        for (role, by) in &search.candidates {
            let by = in_words(by);
            let text = format!("if the Karpenter controller of `{cluster}` runs as `{role}` ({by}):");
            message = message.then(text, name(&quoted(role.as_str())));
        }
        if let Some(fault) = search.evidence.fault() {
            message = message.note(format!("EKS could not be asked for controller roles: {fault}"));
            if fault.is_denied() {
                let text = "to print the permissions that kibus needs to find the role in EKS:";
                message = message.step(permissions_for_eks(scope, text));
            }
        }
        message.then(
            "to grant the permission by other means:",
            scope.kibus(format!("add-cluster {cluster} --no-controller-role")),
        )
    };
    Blocked(searches.iter().map(message).collect())
}

/// The notes about one search. `is_only` means that there is no other.
fn explained(scope: &Scope, mut message: Message, search: &RoleSearch, is_only: bool) -> Message {
    let cluster = &search.cluster;
    if !search.elsewhere.is_empty() {
        message = message.note(format!(
            "kibus only changes roles in account {}, and Karpenter only finds queues in the account of its role",
            scope.account
        ));
    }
    if !search.candidates.is_empty() || !search.elsewhere.is_empty() {
        return message;
    }
    if is_only {
        message = message.note(format!("searched for {}", listed(usual_roles(cluster))));
        if search.evidence == Fact::Absent {
            message = message.note(format!(
                "no EKS pod identity association and no trust policy names service account `{SERVICE_ACCOUNT}` of this \
                 cluster"
            ));
        }
    }
    with_similar(message, cluster, &search.similar)
}

/// How a role was found.
fn in_words(sources: &BTreeSet<RoleSource>) -> String {
    let words: Vec<String> = sources.iter().map(ToString::to_string).collect();
    words.join(", ")
}

/// Why a search did not find exactly one role.
fn not_one(search: &RoleSearch) -> String {
    let RoleSearch { cluster, candidates, elsewhere, .. } = search;
    let is_weak = |by: &BTreeSet<RoleSource>| by.iter().all(|one| matches!(one, RoleSource::Name | RoleSource::Suffix));
    let all = listed(candidates.keys().map(ToString::to_string).chain(elsewhere.iter().cloned()));
    match (candidates.len(), elsewhere.len()) {
        (0, 1) => format!(
            "Karpenter of cluster `{cluster}` runs as a role of another account, by its EKS pod identity association: {all}"
        ),
        (_, 0) if candidates.values().all(is_weak) => no_single_role(cluster, candidates.keys().collect()),
        (1, 0) => {
            format!("it is unclear whether the Karpenter controller of cluster `{cluster}` runs as role {all}")
        }
        _ => format!("it is unclear which role the Karpenter controller of cluster `{cluster}` runs as: {all}"),
    }
}

/// Why the search for a cluster's controller role found none. It uses none of the candidates.
pub fn no_single_role(cluster: &ClusterName, candidates: Vec<&RoleName>) -> String {
    match candidates.as_slice() {
        [] => format!("no controller role found for cluster `{cluster}`"),
        [one] => format!("role `{one}` could be the controller role of cluster `{cluster}`, or of another cluster"),
        several => format!("several roles could be the controller role of cluster `{cluster}`: {}", listed(several)),
    }
}

/// The command that prints the permissions to read from EKS.
pub fn permissions_for_eks(scope: &Scope, text: impl Into<String>) -> Hint {
    Hint::command(text, scope.kibus("policy operator --for eks"))
}

/// A fact that is unknown because AWS did not answer, and how to allow the call.
pub(super) fn unanswered(scope: &Scope, what: &str, fault: &Fault) -> Hint {
    match printing(scope, Some(fault).filter(|fault| fault.is_denied())).pop() {
        Some(command) => Hint::command(
            format!("{what}: AWS denied {}. Grant the permissions that this command prints:", fault.action),
            scope.kibus(command),
        ),
        None => Hint::text(format!("{what}: {fault}")),
    }
}
