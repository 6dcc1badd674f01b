//! The clusters of a target: which exist, and their desired resources beside those that were read.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::blocked::{RoleSearch, RoleSource, call_failed, no_such_roles, roles_not_found};
use super::hub::former_options;
use super::roles::{self, FoundRole, policy_on, read_policy, roles_of, roles_with_policy};
use super::target::{ClusterSetting, Target, Wish, checked_clusters};
use super::{Blocked, adoption, external};
use crate::error::listed;
use crate::message::{Message, MessageKind};
use crate::model::{
    Cluster, ClusterName, Desired, Fact, Grant, HubOptions, Observed, QueueName, ResourceId, RoleCandidates, RoleName,
    Scope, Settings,
    policy::{QueueOrigin, without_ours, without_permissions},
    usual_roles,
};
use crate::survey::Survey;

/// A cluster, its queue and its controller role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ClusterObject"))]
pub struct ClusterSummary {
    pub name: ClusterName,
    /// The value for Karpenter's `settings.interruptionQueue`.
    #[serde(rename = "queue_name")]
    pub queue: QueueName,
    #[cfg_attr(test, schemars(regex(pattern = "^arn:")))]
    pub queue_arn: String,
    /// The role of the cluster's Karpenter controller. Null if kibus does not manage its policy.
    pub controller_role: Option<RoleName>,
    /// What that role was found by. Present only if it was searched for and does not have the policy yet.
    #[serde(rename = "controller_role_found_by", skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub found_by: BTreeSet<RoleSource>,
}

impl ClusterSummary {
    pub(super) fn of(scope: &Scope, cluster: &Cluster) -> Self {
        Self {
            name: cluster.name.clone(),
            queue: cluster.queue.clone(),
            queue_arn: scope.queue_arn(&cluster.queue),
            controller_role: cluster.controller_role.clone(),
            found_by: BTreeSet::new(),
        }
    }

    /// A cluster as it was read.
    pub(super) fn read(survey: &Survey, name: &ClusterName) -> Self {
        let queue = survey.cluster_queue(name);
        Self {
            name: name.clone(),
            queue_arn: survey.scope.queue_arn(&queue),
            queue,
            controller_role: roles::on_record(survey, name),
            found_by: BTreeSet::new(),
        }
    }
}

/// What the roles of clusters were found by, if they were searched for and do not have the policies yet.
pub(super) type FoundBy = BTreeMap<ClusterName, BTreeSet<RoleSource>>;

/// The clusters that are set, each with its decided role.
pub(super) fn to_set(survey: &Survey, target: &Target, hub: &Settings) -> Result<(Vec<Cluster>, FoundBy), Blocked> {
    let (mut clusters, mut found_by) = (Vec::new(), FoundBy::new());
    let (mut missing, mut not_found) = (Vec::new(), Vec::new());
    adoption::check_queues(survey, target)?;
    for (name, setting) in target.set() {
        let role = match roles::decide(survey, name, setting, &hub.options) {
            FoundRole::One(role, sources) => {
                if !sources.contains(&RoleSource::Policy) {
                    found_by.insert(name.clone(), sources);
                }
                Some(role)
            }
            FoundRole::Unmanaged => None,
            FoundRole::NotOne(search) => {
                not_found.push(search);
                continue;
            }
            FoundRole::Missing(role) => {
                missing.push(role);
                continue;
            }
            // What else must be read is asked for in the same round.
            FoundRole::Open if survey.is_open() => None,
            FoundRole::Open => {
                if let Some(fault) = survey.known.listed_roles.fault() {
                    return Err(call_failed(&survey.scope, "list the roles", fault));
                }
                not_found.push(RoleSearch::nothing(name));
                continue;
            }
        };
        clusters.push(set(survey, hub, name, role, setting));
    }
    if !missing.is_empty() {
        return Err(no_such_roles(&survey.scope, target, &missing));
    }
    if !not_found.is_empty() {
        return Err(roles_not_found(&survey.scope, target, &not_found));
    }
    Ok((clusters, found_by))
}

/// A registered cluster as its queue is. An adopted queue keeps what its owner's policy says.
pub(super) fn registered(survey: &Survey, hub: &Settings, name: ClusterName, role: Option<RoleName>) -> Cluster {
    let mut cluster = Cluster::new(&survey.scope, &hub.options.queue_prefix(), name, role);
    if roles::grant(survey, &cluster.name, None, &hub.options) == Grant::QueuePolicy {
        cluster.granted = survey.controller_arn(&cluster.name, cluster.controller_role.as_ref()).map(str::to_owned);
    }
    if let Some(live) = survey.observed.queue(cluster.queue.clone()) {
        cluster.origin = live.origin(&survey.scope).unwrap_or(QueueOrigin::Created);
        cluster.owner_policy = live.policy.as_ref().and_then(without_ours);
    }
    cluster
}

/// A cluster that is set. A queue whose policy does not say that kibus created it is an adopted one.
fn set(
    survey: &Survey,
    hub: &Settings,
    name: &ClusterName,
    role: Option<RoleName>,
    setting: &ClusterSetting,
) -> Cluster {
    let live = survey.observed.queue(survey.cluster_queue(name));
    let origin = match live {
        Some(live) => live.origin(&survey.scope).unwrap_or(QueueOrigin::Adopted),
        None => QueueOrigin::Created,
    };
    let mut cluster = registered(survey, hub, name.clone(), role);
    if setting.drop_old_senders == Some(true) {
        cluster.owner_policy = cluster.owner_policy.as_ref().and_then(without_permissions);
    }
    let is_by_queue = roles::grant(survey, name, Some(setting), &hub.options) == Grant::QueuePolicy;
    let role = cluster.controller_role.as_ref().filter(|_| is_by_queue);
    let granted = role.and_then(|role| survey.controller_arn(name, Some(role)));
    Cluster {
        origin,
        granted: granted.map(str::to_owned),
        tags: setting.tags(),
        untag: setting.untag.iter().cloned().collect(),
        ..cluster
    }
}

/// What is compared of the clusters: those that are set, as decided, and all others that the target is about. `follow` says
/// that all clusters follow a change of the hub.
pub(super) fn compared(
    survey: &Survey,
    target: &Target,
    hub: &Settings,
    set: &[Cluster],
    follow: bool,
) -> (Desired, Observed) {
    let (scope, is_check) = (&survey.scope, target.is_check());
    let removes_all = target.others == Wish::Remove;
    let (mut desired, mut observed) = (Desired::default(), Observed::default());
    let mut saved = match (removes_all, follow) {
        (true, _) => survey.clusters(),
        (false, true) => survey.registered(),
        (false, false) => checked_clusters(survey, target),
    };
    saved.retain(|name, _| !target.clusters.contains_key(name) || is_check);
    for name in saved.keys().chain(target.removed()) {
        let by_queue = survey.controller_of(name).is_some();
        observed.extend(of_cluster(survey, name, None, by_queue, &hub.options));
    }
    if removes_all {
        for name in survey.only_tagged().into_keys() {
            observed.extend(of_cluster(survey, &name, None, false, &hub.options));
        }
    }
    let is_external = |name: &&ClusterName| survey.external_queue(name).is_some();
    for name in saved.keys().chain(target.removed()).filter(is_external) {
        desired.extend(external::desired(survey, target, hub, name, &observed));
    }
    saved.retain(|name, _| !is_external(&name));
    if !is_check {
        desired.extend(adoption::handed_back(survey, &observed));
    }
    if removes_all {
        let strays = roles::strays(survey).into_iter();
        for (_, policy) in strays.filter_map(|stray| stray.orphan) {
            observed.insert(policy.id(), Fact::Present(policy));
        }
    } else {
        for (name, tags) in saved {
            let role = match roles::find(survey, &name) {
                FoundRole::One(role, sources) if is_check || !roles::is_guess(&sources) => Some(role),
                FoundRole::Unmanaged => None,
                // Nothing of it changes: neither the tag, nor which roles have the policy.
                FoundRole::One(..) | FoundRole::NotOne(_) | FoundRole::Missing(_) | FoundRole::Open => {
                    let holders = roles_with_policy(survey, &name);
                    let gone = roles::gone(survey, &name).filter(|_| is_check && holders.is_empty());
                    let cluster = registered(survey, hub, name, tags.controller_role());
                    desired.extend(cluster.with_policy_on(holders.iter().chain(&gone), scope, hub));
                    continue;
                }
            };
            let cluster = registered(survey, hub, name, role);
            desired.extend(cluster.desired(scope, hub));
        }
    }
    for cluster in set {
        let role = cluster.controller_role.as_ref();
        let by_queue = match role {
            Some(_) => cluster.granted.is_some(),
            None => survey.controller_of(&cluster.name).is_some(),
        };
        observed.extend(of_cluster(survey, &cluster.name, role, by_queue, &hub.options));
        desired.extend(cluster.desired(scope, hub));
    }
    (desired, observed)
}

/// The queue of a cluster, its alarm if the hub has or had those, and its policy on each role that may have it: the decided one, and
/// those of [`roles_of`]. If it has access by the policy of its queue, a role is not read for it, and keeps no policy that was found.
fn of_cluster(
    survey: &Survey,
    cluster: &ClusterName,
    decided: Option<&RoleName>,
    by_queue: bool,
    after: &HubOptions,
) -> Observed {
    let queue = ResourceId::Queue(survey.cluster_queue(cluster));
    let answer = survey.resource(&queue).clone();
    let mut roles = roles_of(survey, cluster);
    roles.extend(decided.cloned());
    roles.retain(|role| !by_queue || policy_on(survey, cluster, role).present().is_some());
    let policies = roles.iter().map(|role| {
        let id = Cluster::policy_id(&survey.scope, cluster, role);
        (id, read_policy(survey, cluster, role))
    });
    // Beside an external queue, a policy may be its owner's, whatever its name.
    let is_external = survey.external_queue(cluster).is_some();
    let policies = policies.filter(|(_, policy)| !is_external || external::is_leftover(policy));
    let may_have_alarm = after.has_reader_alarms() || former_options(survey).has_reader_alarms();
    let alarm = may_have_alarm.then(|| Cluster::alarm_id(&survey.scope, cluster));
    let alarm = alarm.map(|id| (id.clone(), survey.resource(&id).clone()));
    std::iter::once((queue, answer)).chain(policies).chain(alarm).collect()
}

/// Fails if it is unknown which clusters exist, and the target is about all of them.
pub(super) fn clusters_known(survey: &Survey, target: &Target, follow: bool) -> Result<(), Blocked> {
    let all = follow || target.others == Wish::Remove;
    if all || target.is_check() {
        survey.discover();
    }
    if all {
        if let Some(fault) = survey.discovered().fault() {
            return Err(call_failed(&survey.scope, "list the queues of clusters", fault));
        }
        super::readable(&survey.scope, &survey.observed)?;
    }
    // A denial is a warning: who may not read IAM may still remove a cluster whose role kibus does not manage.
    if let Some((_, fault)) = roles::not_listed(survey, target.removed())
        && !fault.is_denied()
    {
        return Err(call_failed(&survey.scope, "list the roles", fault));
    }
    Ok(())
}

/// A name is close to another if it differs in one edit, or in one edit for this many letters.
const LETTERS_PER_EDIT: usize = 4;

/// Fails if a named cluster cannot be meant.
pub(super) fn names_known(survey: &Survey, target: &Target) -> Result<(), Blocked> {
    none_unknown(survey, target)?;
    known_to_eks(survey, target)
}

/// Fails if a cluster is to be removed that never existed, if something of the others would be removed, or its name is close to
/// that of a registered cluster.
fn none_unknown(survey: &Survey, target: &Target) -> Result<(), Blocked> {
    seek_traces(survey, target);
    let mut never = never_existed(survey, target);
    let mut others: BTreeSet<ClusterName> = target.removed().cloned().collect();
    let clusters = survey.clusters();
    others.retain(|name| clusters.contains_key(name) || !roles_with_policy(survey, name).is_empty());
    if others.is_empty() {
        let registered = survey.registered();
        never.retain(|name| !close(name, registered.keys().cloned()).is_empty());
    }
    all_known(survey, &never, &others)
}

/// Fails if there are names that no registered cluster has, unless it is unknown which are registered.
pub fn check_names(survey: &Survey, names: &BTreeSet<ClusterName>) -> Result<(), Blocked> {
    if survey.discovered().fault().is_some() {
        return Ok(());
    }
    let registered = survey.registered().into_keys().collect();
    all_known(survey, &(names - &registered), &BTreeSet::new())
}

/// Fails if there are names that no cluster has, beside these others.
pub(super) fn all_known(
    survey: &Survey,
    unknown: &BTreeSet<ClusterName>,
    others: &BTreeSet<ClusterName>,
) -> Result<(), Blocked> {
    let others: Vec<&str> = others.iter().map(ClusterName::as_str).collect();
    let unknown = unknown.iter().map(|name| {
        let sentence = format!("no cluster `{name}` on bus `{}`", survey.scope.bus);
        let message = unknown_name(name, sentence, survey.registered().into_keys())
            .then("to list the clusters:", survey.scope.kibus("status"));
        if others.is_empty() {
            message
        } else {
            message.then("to remove the others:", survey.scope.kibus(format!("remove-cluster {}", others.join(" "))))
        }
    });
    let unknown: Vec<Message> = unknown.collect();
    if unknown.is_empty() { Ok(()) } else { Err(Blocked(unknown)) }
}

/// A cluster that does not exist, and which of these may be meant.
fn unknown_name(name: &ClusterName, sentence: String, all: impl Iterator<Item = ClusterName>) -> Message {
    let message = Message::new(MessageKind::Blocked, name.clone(), sentence);
    let similar = close(name, all);
    if similar.is_empty() {
        message
    } else {
        message.note(format!("did you mean {} instead of `{name}`?", listed(&similar)))
    }
}

/// The clusters to be removed of which nothing exists, unless that is ignored.
pub(super) fn never_existed(survey: &Survey, target: &Target) -> BTreeSet<ClusterName> {
    if target.ignore_missing {
        return BTreeSet::new();
    }
    let mut names = unregistered(survey, target.removed());
    names.retain(|name| !leaves_traces(survey, name));
    names
}

/// Asks for what tells whether those of the names that are not registered are of earlier clusters.
fn seek_traces(survey: &Survey, target: &Target) {
    for cluster in target.removed() {
        roles::seek_policy(survey, cluster);
    }
    let unknown = unregistered(survey, target.removed());
    let kept = unregistered(survey, target.kept());
    for role in unknown.union(&kept).flat_map(usual_roles) {
        survey.roles(&role);
    }
    // The alarm stays when the owner of an external queue deletes it.
    if survey.options().is_some_and(HubOptions::has_reader_alarms) {
        for name in &unknown {
            survey.resource(&Cluster::alarm_id(&survey.scope, name));
        }
    }
    if !unknown.is_empty() {
        survey.discover();
        roles::read_usual_roles(survey);
    }
}

/// Those of the names that have no queue, as far as that was read.
fn unregistered<'a>(survey: &Survey, names: impl Iterator<Item = &'a ClusterName>) -> BTreeSet<ClusterName> {
    let registered = survey.clusters();
    let queue = |name: &ClusterName| ResourceId::Queue(survey.cluster_queue(name));
    let missing = |name: &&ClusterName| !registered.contains_key(*name) && survey.resource(&queue(name)).is_asked();
    names.filter(missing).cloned().collect()
}

/// Whether a controller role or a policy of a cluster that has no queue of kibus exists, or a queue of others with the name
/// of its queue: it was registered, or could be.
pub(super) fn leaves_traces(survey: &Survey, name: &ClusterName) -> bool {
    let exists = |role: &RoleName| matches!(survey.known.roles.get(role), Some(Fact::Present(_)));
    let listed = survey.known.listed_roles.present();
    usual_roles(name).iter().any(exists)
        || listed.is_some_and(|all| RoleCandidates::of(name, all) != RoleCandidates::default())
        || !roles_with_policy(survey, name).is_empty()
        || survey.queue_tags(name).is_some()
        || survey.observed.resource(&Cluster::alarm_id(&survey.scope, name)).is_some()
}

/// Those of the clusters whose names are close.
pub(super) fn close(name: &ClusterName, clusters: impl Iterator<Item = ClusterName>) -> BTreeSet<ClusterName> {
    let is_close = |other: &ClusterName| {
        let edits = strsim::osa_distance(name.as_str(), other.as_str());
        edits <= (name.as_str().len() / LETTERS_PER_EDIT).max(1)
    };
    clusters.filter(is_close).collect()
}

/// Fails if EKS lists clusters, and not these. An account may be without clusters for now.
fn known_to_eks(survey: &Survey, target: &Target) -> Result<(), Blocked> {
    let asked = roles::first_registered(survey, target);
    if asked.is_empty() {
        return Ok(());
    }
    let Some(all) = survey.eks_clusters().present().filter(|all| !all.is_empty()) else {
        return Ok(());
    };
    let unknown = asked.into_iter().filter(|name| !all.contains(*name));
    let Scope { region, account, .. } = &survey.scope;
    let unknown = unknown.map(|name| {
        let sentence = format!("EKS has no cluster `{name}` in {region} of account {account}");
        unknown_name(name, sentence, all.iter().cloned()).then(
            "if the cluster will be created later, or is not one of EKS, run again without this check:",
            survey.scope.again(" --no-eks-check"),
        )
    });
    let unknown: Vec<Message> = unknown.collect();
    if unknown.is_empty() { Ok(()) } else { Err(Blocked(unknown)) }
}
