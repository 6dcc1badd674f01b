//! Why there is no plan, in words: what could not be read or found, and what a guard refuses.

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
    /// Whether there is no hub: then nothing could have been changed either.
    pub fn is_no_hub(&self) -> bool {
        self.0.iter().any(|message| message.kind == MessageKind::NoHub)
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
    /// Whether EKS and trust policies show a role: absent if they show none.
    pub evidence: Fact<()>,
    /// Roles that may be meant, if there is no candidate.
    pub similar: Vec<RoleName>,
}

/// What says that a role is the one of a controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoleSource {
    /// The record of the cluster names it.
    Record,
    /// An EKS pod identity association in this namespace.
    Association(String),
    /// Its trust policy names the cluster's issuer and the service account.
    Trust,
    /// Its name is usual for the cluster.
    Name,
    /// Its name is usual with a generated suffix, which may be a part of another cluster's name.
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

/// Why a pass ends: these and all resources and records of the survey that could not be read.
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

/// The parameter with the settings of the hub holds something else.
pub(super) fn bad_settings(scope: &Scope, bad: &BadDocument, restoring: &str) -> Blocked {
    let parameter = scope.settings_parameter();
    let sentence = format!("parameter `{parameter}` cannot be used: {bad}");
    let message = Message::new(MessageKind::Refused, ResourceId::Parameter(parameter), sentence);
    match bad {
        BadDocument::Future(_) => message.advise("use the version of kibus that wrote it, or a later one"),
        BadDocument::Damaged(_) => message
            .note("Parameter Store keeps its earlier values, which `aws ssm get-parameter-history` shows")
            .then("to replace it with the options that the hub has now:", scope.kibus(restoring)),
    }
    .into()
}

/// A record of a cluster that cannot be used. Nothing is done about the cluster. `is_newer` says that a newer kibus can use it.
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
        return message.advise("use the version of kibus that wrote it, or a later one");
    }
    let delete = scope.aws(format!("ssm delete-parameter --name {parameter} --region {}", scope.region));
    let message = message.then("restore an earlier value; or, whoever may write the parameter deletes it:", delete);
    match cluster {
        Some(name) => {
            message.then("afterwards, to record its queue again:", scope.kibus(format!("add-cluster {name} --adopt")))
        }
        None => message,
    }
}

/// Resources of the hub exist, and its settings do not. Guessing could turn off what protects the hub, so a person confirms
/// what it has.
pub(super) fn lost_settings(scope: &Scope, restoring: &str) -> Blocked {
    let parameter = scope.settings_parameter();
    let sentence = format!(
        "the settings of hub `{}` are lost: its resources exist in {} of account {}, and parameter `{parameter}` does not",
        scope.bus, scope.region, scope.account,
    );
    let message = Message::new(MessageKind::Refused, ResourceId::Parameter(parameter), sentence);
    Message { code: Some(FindingCode::SettingsMissing), ..message }
        .note("events are still routed; kibus changes nothing of a hub whose settings it does not know")
        .then("check these options, in which the hub differs from the defaults; to save them:", scope.kibus(restoring))
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
            format!("pass the role that {whose} runs as:"),
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
            let text = "to name the role that the Karpenter controller runs as:";
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
                let text = "to print the permissions with which kibus finds the role in EKS:";
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

/// The notes about one search. `is_only` says that there is no other.
fn explained(scope: &Scope, mut message: Message, search: &RoleSearch, is_only: bool) -> Message {
    let cluster = &search.cluster;
    if !search.elsewhere.is_empty() {
        message = message.note(format!(
            "kibus changes roles of account {} only, and Karpenter finds only queues of the account of its role",
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

/// What a role was found by.
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

/// What prints the permissions to ask EKS.
pub fn permissions_for_eks(scope: &Scope, text: impl Into<String>) -> Hint {
    Hint::command(text, scope.kibus("policy operator --for eks"))
}

/// What a command does not know because AWS did not answer, and how to allow the call.
pub(super) fn unanswered(scope: &Scope, what: &str, fault: &Fault) -> Hint {
    match printing(scope, Some(fault).filter(|fault| fault.is_denied())).pop() {
        Some(command) => Hint::command(
            format!("{what}: AWS denied {}. Grant the permissions that this command prints:", fault.action),
            scope.kibus(command),
        ),
        None => Hint::text(format!("{what}: {fault}")),
    }
}
