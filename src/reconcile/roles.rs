//! The role that a cluster's Karpenter controller runs as. The policy of the cluster on a role is the record; a tag of the queue
//! says only where to look first. Without one record, evidence decides, else the usual names. A policy of kibus whose cluster has no
//! queue is a stray one.

use std::collections::{BTreeMap, BTreeSet};

use super::blocked::{MissingRole, RoleSearch, RoleSource};
use super::target::{ClusterSetting, RoleOption, Target};
use crate::error::Hint;
use crate::iam::grants::{names_service_account, queues_received_from};
use crate::model::{
    Cluster, ClusterName, Fact, Fault, Grant, HubOptions, QueueName, Resource, ResourceId, RoleCandidates, RoleName,
    RolePolicy, Tags, first_of, is_usual_role,
    karpenter::{NAMESPACES, SERVICE_ACCOUNT},
    policy::{self, InlinePolicy},
    similar_roles, usual_roles,
};
use crate::survey::{ListedRole, RolePolicies, Survey};

/// Which role a cluster's controller runs as.
pub(super) enum FoundRole {
    /// This role, by these sources; by none if the command line names it.
    One(RoleName, BTreeSet<RoleSource>),
    /// Kibus does not manage a policy on it: the command line says so, or the cluster is registered, and neither a policy nor the
    /// tag names a role.
    Unmanaged,
    /// No role, or several.
    NotOne(RoleSearch),
    /// A role that does not exist.
    Missing(MissingRole),
    /// Unknown until more is read.
    Open,
}

/// The controller role of a cluster that is set, on a hub with these options: named now, or found.
pub(super) fn decide(survey: &Survey, name: &ClusterName, setting: &ClusterSetting, hub: &HubOptions) -> FoundRole {
    // Whether the cluster is registered says where to look.
    let queue = ResourceId::Queue(survey.cluster_queue(name));
    if !survey.resource(&queue).is_asked() {
        return FoundRole::Open;
    }
    seek_evidence(survey, name, setting);
    let grant = grant(survey, name, Some(setting), hub);
    let found = match &setting.role {
        RoleOption::Unmanaged => FoundRole::Unmanaged,
        RoleOption::Named(template) => match template.role(name) {
            Ok(role) => existing(survey, name, role, BTreeSet::new(), grant),
            Err(_) => FoundRole::NotOne(RoleSearch::nothing(name)),
        },
        RoleOption::Search => match find(survey, name) {
            FoundRole::One(role, sources) => existing(survey, name, role, sources, grant),
            other => other,
        },
    };
    match &found {
        // A new cluster has no policy that the one of its queue replaces.
        FoundRole::One(role, _) if grant == Grant::QueuePolicy => {
            let registered = survey.registration(name).map(|_| role.clone());
            for role in registered.into_iter().chain(tagged(survey, name)) {
                survey.roles(&role);
            }
        }
        FoundRole::One(role, _) => {
            read_policy(survey, name, role);
            if let Fact::Unreadable(_) = survey.roles(role) {
                survey.resource(&ResourceId::Role(role.clone()));
            }
        }
        // The message about it names roles that may be meant.
        FoundRole::Open | FoundRole::Missing(_) => {
            survey.listed_roles();
        }
        // One of the candidates may have the policy of the cluster.
        FoundRole::NotOne(search) => {
            for role in search.candidates.keys() {
                survey.roles(role);
            }
        }
        FoundRole::Unmanaged => {}
    }
    found
}

/// How a cluster has access to its queue, or will: as its setting says, else as it has it now, else as the hub says for new clusters.
pub(super) fn grant(
    survey: &Survey,
    cluster: &ClusterName,
    setting: Option<&ClusterSetting>,
    hub: &HubOptions,
) -> Grant {
    let has_policy = || {
        let unread = |role: RoleName| is_unread(survey, cluster, &role);
        let is_registered = survey.registration(cluster).is_some();
        tagged(survey, cluster).is_some_and(unread) || is_registered && !roles_with_policy(survey, cluster).is_empty()
    };
    match setting.and_then(|setting| setting.grant) {
        Some(given) => given,
        None if survey.controller_of(cluster).is_some() => Grant::QueuePolicy,
        None if has_policy() => Grant::RolePolicy,
        None => hub.grant(),
    }
}

/// Whether a role was found by what may be wrong: only a person who sees it may let it have the policy.
pub(super) fn is_guess(sources: &BTreeSet<RoleSource>) -> bool {
    let is_record = |source: &RoleSource| matches!(source, RoleSource::Policy | RoleSource::Tag);
    !sources.iter().any(is_record)
}

/// The role, unless it certainly does not exist. One that the policy of a queue names must certainly exist.
fn existing(
    survey: &Survey,
    cluster: &ClusterName,
    role: RoleName,
    sources: BTreeSet<RoleSource>,
    grant: Grant,
) -> FoundRole {
    let absent = match survey.known.roles.get(&role) {
        _ if grant == Grant::QueuePolicy => match survey.listed_roles().present() {
            Some(all) => !all.contains_key(&role),
            None => return FoundRole::Open,
        },
        Some(Fact::Absent) => true,
        Some(Fact::Unreadable(_)) => *survey.observed.get(&ResourceId::Role(role.clone())) == Fact::Absent,
        _ => false,
    };
    if !absent {
        return FoundRole::One(role, sources);
    }
    let listed = survey.known.listed_roles.present();
    let similar = listed.map(|all| similar_roles(cluster, all));
    FoundRole::Missing(MissingRole {
        cluster: cluster.clone(),
        sources,
        role,
        similar: similar.unwrap_or_default().into_iter().cloned().collect(),
    })
}

/// Searches for the role of a cluster, whether it is registered or not.
pub(super) fn find(survey: &Survey, name: &ClusterName) -> FoundRole {
    // Its owner gives it the permission, so no policy is the record.
    if let Some(queue) = survey.external_queue(name) {
        seek_policy(survey, name);
        let role = queue.tags.controller_role();
        return role.map_or(FoundRole::Unmanaged, |role| FoundRole::One(role, [RoleSource::Tag].into()));
    }
    let tagged = tagged(survey, name);
    // The policy of the queue says which role it is.
    if let Some(role) = tagged.as_ref().filter(|_| survey.controller_of(name).is_none()) {
        read_policy(survey, name, role);
    }
    let mut holders = permitted(survey, name);
    if let (Some(one), 1) = (holders.first(), holders.len()) {
        return FoundRole::One(one.clone(), [RoleSource::Policy].into());
    }
    // The tag may be wrong or missing, so the policy is looked for on other roles too.
    seek_policy(survey, name);
    match &tagged {
        None if holders.is_empty() && survey.registration(name).is_some() => return FoundRole::Unmanaged,
        Some(role) if holders.is_empty() && is_unread(survey, name, role) => {
            return FoundRole::One(role.clone(), [RoleSource::Tag].into());
        }
        _ => {}
    }
    let mut search = by_evidence(survey, name);
    let has_evidence = !search.candidates.is_empty() || !search.elsewhere.is_empty();
    if let Some((role, sources)) = only_one(&search) {
        return FoundRole::One(role.clone(), sources.clone());
    }
    let listed = survey.known.listed_roles.present();
    let exists = |role: &RoleName| {
        listed.is_some_and(|all| all.contains_key(role))
            || matches!(survey.known.roles.get(role), Some(Fact::Present(_)))
    };
    let tagged = tagged.filter(exists);
    let usual: Vec<RoleName> = usual_roles(name).into_iter().filter(exists).collect();
    let is_bare = !has_evidence && holders.is_empty();
    if let ([one], true) = (usual.as_slice(), is_bare && tagged.as_ref().is_none_or(|role| usual.contains(role))) {
        return FoundRole::One(one.clone(), [RoleSource::Name].into());
    }
    usual.into_iter().for_each(|role| add(&mut search, role, RoleSource::Name));
    tagged.into_iter().for_each(|role| add(&mut search, role, RoleSource::Tag));
    while let Some(role) = holders.pop_first() {
        add(&mut search, role, RoleSource::Policy);
    }
    if search.candidates.is_empty() && search.elsewhere.is_empty() {
        let Some(all) = listed else { return FoundRole::Open };
        let suffixed = RoleCandidates::of(name, all).suffixed.into_iter();
        search.candidates = suffixed.map(|role| (role, [RoleSource::Suffix].into())).collect();
        if search.candidates.is_empty() {
            search.similar = similar_roles(name, all).into_iter().cloned().collect();
        }
    }
    FoundRole::NotOne(search)
}

fn add(search: &mut RoleSearch, role: RoleName, source: RoleSource) {
    search.candidates.entry(role).or_default().insert(source);
}

/// The role that the queue of a registered cluster names.
pub(super) fn tagged(survey: &Survey, name: &ClusterName) -> Option<RoleName> {
    survey.registration(name).and_then(Tags::controller_role)
}

/// The role that the queue of a registered cluster names, if it does not exist.
pub(super) fn gone(survey: &Survey, name: &ClusterName) -> Option<RoleName> {
    tagged(survey, name).filter(|role| survey.known.roles.get(role) == Some(&Fact::Absent))
}

/// The role of a registered cluster by its policy, as far as that was read: else the one that the tag names.
pub(super) fn on_record(survey: &Survey, cluster: &ClusterName) -> Option<RoleName> {
    let holders = permitted(survey, cluster);
    let tagged = survey.queue_tags(cluster).and_then(Tags::controller_role);
    let is_external = survey.external_queue(cluster).is_some();
    let is_unread = |role: &RoleName| survey.controller_of(cluster).is_none() && is_unread(survey, cluster, role);
    let named = tagged.filter(|role| is_external || holders.contains(role) || is_unread(role));
    named.or_else(|| holders.first().cloned())
}

/// Whether it is unknown if a role has the policy of a cluster.
pub(super) fn is_unread(survey: &Survey, cluster: &ClusterName, role: &RoleName) -> bool {
    !matches!(policy_on(survey, cluster, role), Fact::Present(_) | Fact::Absent)
}

/// Whether the policies do not say which role a registered cluster has: the tag names one without the policy, or several have it.
pub(super) fn is_unclear(survey: &Survey, cluster: &ClusterName) -> bool {
    let holders = permitted(survey, cluster).len();
    let without_policy = |role: RoleName| !is_unread(survey, cluster, &role);
    holders > 1 || (holders == 0 && tagged(survey, cluster).is_some_and(without_policy))
}

/// The registered clusters among these whose policy was not found on any role so far.
fn without_policy<'a>(survey: &Survey, clusters: impl IntoIterator<Item = &'a ClusterName>) -> Vec<&'a ClusterName> {
    let is_lost = |cluster: &&ClusterName| {
        let unread = tagged(survey, cluster).is_some_and(|role| is_unread(survey, cluster, &role));
        survey.registration(cluster).is_some() && !unread && permitted(survey, cluster).is_empty()
    };
    clusters.into_iter().filter(is_lost).collect()
}

/// Why it is unknown whether a role has the policy of one of these clusters, if the roles could not be listed.
pub(super) fn not_listed<'a>(
    survey: &'a Survey,
    clusters: impl IntoIterator<Item = &'a ClusterName>,
) -> Option<(&'a ClusterName, &'a Fault)> {
    let fault = survey.known.listed_roles.fault()?;
    Some((without_policy(survey, clusters).first()?, fault))
}

/// Looks for the policy of a registered cluster on the roles that are named like its controller role, if it is not on the one that
/// the tag names.
pub(super) fn seek_policy(survey: &Survey, cluster: &ClusterName) {
    if without_policy(survey, [cluster]).is_empty() {
        return;
    }
    let may_have_it: Vec<RoleName> = match survey.listed_roles() {
        Fact::NotAsked => Vec::new(),
        Fact::Absent | Fact::Unreadable(_) => usual_roles(cluster),
        Fact::Present(all) => {
            let named = |role: &&RoleName| is_usual_role(role) && role.as_str().contains(cluster.as_str());
            all.keys().filter(named).cloned().collect()
        }
    };
    for role in &may_have_it {
        survey.roles(role);
    }
}

/// The roles of the registered clusters.
#[derive(Debug, Default)]
pub struct SavedRoles {
    /// Those that have the policy of their cluster.
    pub holders: BTreeSet<(ClusterName, RoleName)>,
    /// Those that only the tag of a queue names.
    pub tagged: BTreeSet<(ClusterName, RoleName)>,
}

impl SavedRoles {
    /// The roles in a survey of all clusters.
    pub fn of(survey: &Survey) -> Self {
        let mut roles = Self::default();
        survey.discover();
        for cluster in survey.registered().into_keys() {
            find(survey, &cluster);
            let holders = roles_with_policy(survey, &cluster);
            let has_record = survey.external_queue(&cluster).is_some() || survey.controller_of(&cluster).is_some();
            let tagged = tagged(survey, &cluster).filter(|role| !has_record && !holders.contains(role));
            roles.tagged.extend(tagged.map(|role| (cluster.clone(), role)));
            roles.holders.extend(holders.into_iter().map(|role| (cluster.clone(), role)));
        }
        roles
    }
}

/// A search with the evidence of the role, as far as it was read: EKS pod identity associations of the service account of Karpenter,
/// and trust policies that name the cluster's issuer and that service account. Both are read, because a leftover of either may name
/// another role than the one in use.
fn by_evidence(survey: &Survey, cluster: &ClusterName) -> RoleSearch {
    let mut search = RoleSearch {
        gone: gone(survey, cluster),
        evidence: no_evidence(survey, cluster),
        ..RoleSearch::nothing(cluster)
    };
    let associations = survey.known.associations.get(cluster).and_then(Fact::present);
    for association in associations.into_iter().flatten() {
        let source = RoleSource::Association(association.namespace.clone());
        match survey.scope.own_role(&association.role_arn) {
            Some(role) => add(&mut search, role, source),
            None => drop(search.elsewhere.insert(association.role_arn.clone())),
        }
    }
    for role in by_trust(survey, cluster) {
        add(&mut search, role, RoleSource::Trust);
    }
    search
}

/// The role, if all evidence names the same one, and associations only in the usual namespaces of Karpenter: who may create a
/// service account elsewhere need not be trusted with Karpenter.
fn only_one(evidence: &RoleSearch) -> Option<(&RoleName, &BTreeSet<RoleSource>)> {
    let elsewhere = |source: &RoleSource| match source {
        RoleSource::Association(namespace) => !NAMESPACES.contains(&namespace.as_str()),
        _ => false,
    };
    let first = evidence.candidates.first_key_value()?;
    let is_clear = evidence.candidates.len() == 1 && evidence.elsewhere.is_empty() && !first.1.iter().any(elsewhere);
    is_clear.then_some(first)
}

fn by_trust(survey: &Survey, cluster: &ClusterName) -> BTreeSet<RoleName> {
    let issuer = survey.known.oidc_issuers.get(cluster).and_then(Fact::present);
    let Some(provider) = issuer.map(|issuer| survey.scope.oidc_provider_arn(issuer)) else {
        return BTreeSet::new();
    };
    let trusts = |role: &ListedRole| {
        let trust = role.web_trust.as_ref();
        trust.is_some_and(|trust| names_service_account(trust, &provider, SERVICE_ACCOUNT))
    };
    let listed = survey.known.listed_roles.present().into_iter().flatten();
    listed.filter(|(_, role)| trusts(role)).map(|(name, _)| name.clone()).collect()
}

/// Whether there is no evidence for a cluster because none exists, or because it could not be read.
fn no_evidence(survey: &Survey, cluster: &ClusterName) -> Fact<()> {
    let roles = survey.known.associations.get(cluster);
    let issuer = survey.known.oidc_issuers.get(cluster);
    let fault = roles.and_then(Fact::fault).or(issuer.and_then(Fact::fault));
    match fault {
        Some(fault) => Fact::Unreadable(fault.clone()),
        None if roles.is_some() => Fact::Absent,
        None => Fact::NotAsked,
    }
}

/// The first of the calls about evidence that failed.
pub(super) fn evidence_fault(survey: &Survey) -> Option<&Fault> {
    let associations = survey.known.associations.values().filter_map(Fact::fault);
    let issuers = survey.known.oidc_issuers.values().filter_map(Fact::fault);
    associations.chain(issuers).next()
}

/// Asks for the evidence of the role of a cluster, if that decides.
fn seek_evidence(survey: &Survey, cluster: &ClusterName, setting: &ClusterSetting) {
    if is_evidence_wanted(survey, cluster, setting) {
        survey.associations(cluster);
        survey.oidc_issuers(cluster);
        // They have the trust policies.
        survey.listed_roles();
    }
}

/// The clusters of a target for which evidence decides.
pub(super) fn wanting_evidence<'a>(survey: &Survey, target: &'a Target) -> Vec<&'a ClusterName> {
    let set = target.set();
    set.filter_map(|(cluster, setting)| is_evidence_wanted(survey, cluster, setting).then_some(cluster)).collect()
}

/// Whether evidence decides about the role of a cluster: no role is named, and the policies do not say which one it is.
fn is_evidence_wanted(survey: &Survey, cluster: &ClusterName, setting: &ClusterSetting) -> bool {
    let searches = setting.asks_eks() && setting.role == RoleOption::Search;
    searches
        && match survey.saved_tags(cluster) {
            Some(tags) if tags.belong_to(&survey.scope.bus) => is_unclear(survey, cluster),
            _ => roles_with_policy(survey, cluster).len() != 1,
        }
}

/// The clusters that are registered for the first time, and about which EKS is asked.
pub(super) fn first_registered<'a>(survey: &Survey, target: &'a Target) -> Vec<&'a ClusterName> {
    let is_registered = |cluster: &ClusterName| {
        let tags = survey.saved_tags(cluster);
        tags.is_some_and(|tags| tags.belong_to(&survey.scope.bus))
    };
    let set = target.set();
    set.filter_map(|(cluster, setting)| (setting.asks_eks() && !is_registered(cluster)).then_some(cluster)).collect()
}

/// The roles that have the policy of a cluster, and the one that its queue names. Without the queue, only what opens the queue is
/// certainly of the cluster.
pub(super) fn roles_of(survey: &Survey, cluster: &ClusterName) -> BTreeSet<RoleName> {
    let mut roles = roles_with_policy(survey, cluster);
    match survey.queue_tags(cluster) {
        Some(tags) => roles.extend(tags.controller_role()),
        None => roles.retain(|role| opens_queue(survey, cluster, role)),
    }
    roles
}

/// Whether the policy of a cluster on a role opens the cluster's queue and no other.
fn opens_queue(survey: &Survey, cluster: &ClusterName, role: &RoleName) -> bool {
    let arn = survey.scope.queue_arn(&survey.cluster_queue(cluster));
    let policy = policy_on(survey, cluster, role);
    let policy = policy.present().and_then(Resource::as_role_policy);
    policy.is_some_and(|policy| queues_received_from(&policy.document).into_iter().eq([arn]))
}

/// The policy of a cluster on a role, which is read if it was not.
pub(super) fn read_policy(survey: &Survey, cluster: &ClusterName, role: &RoleName) -> Fact<Resource> {
    // Who may not list the policies of a role may still be allowed to read the one of kibus.
    if let Fact::Unreadable(_) = survey.roles(role) {
        survey.resource(&Cluster::policy_id(&survey.scope, cluster, role));
    }
    policy_on(survey, cluster, role)
}

/// The policy of a cluster on a role, as far as it was read.
pub(super) fn policy_on(survey: &Survey, cluster: &ClusterName, role: &RoleName) -> Fact<Resource> {
    let direct = survey.observed.get(&Cluster::policy_id(&survey.scope, cluster, role));
    match survey.known.roles.get(role) {
        _ if direct.is_asked() => direct.clone(),
        Some(Fact::NotAsked) | None => Fact::NotAsked,
        Some(Fact::Absent) => Fact::Absent,
        Some(Fact::Unreadable(fault)) => Fact::Unreadable(fault.clone()),
        Some(Fact::Present(policies)) => {
            let name = survey.scope.controller_policy(cluster);
            let found = policies.get(name.as_str());
            found.map_or(Fact::Absent, |found| {
                Fact::Present(Resource::RolePolicy(RolePolicy {
                    role: role.clone(),
                    name,
                    document: found.document_or_text(),
                }))
            })
        }
    }
}

/// The roles that have the policy of a cluster, by its name, which no other policy has.
pub(super) fn roles_with_policy(survey: &Survey, cluster: &ClusterName) -> BTreeSet<RoleName> {
    let name = survey.scope.controller_policy(cluster);
    let has = |policies: &Fact<RolePolicies>| policies.present().is_some_and(|all| all.contains_key(name.as_str()));
    let listed = survey.known.roles.iter().filter(|(_, policies)| has(policies)).map(|(role, _)| role);
    // Who may not list the policies of a role may still be allowed to read this one.
    let direct = survey.observed.resources().filter_map(Resource::as_role_policy);
    let direct = direct.filter(|policy| policy.name == name).map(|policy| &policy.role);
    listed.chain(direct).cloned().collect()
}

/// The roles that may use the queue of a cluster: those with its policy, and the one that the policy of the queue lets in.
pub(super) fn permitted(survey: &Survey, cluster: &ClusterName) -> BTreeSet<RoleName> {
    let mut roles = roles_with_policy(survey, cluster);
    roles.extend(survey.granted_role(cluster));
    roles
}

/// Reads the policies of every role that is named like a controller role, except those that need none.
pub(super) fn read_usual_roles(survey: &Survey) {
    let all = survey.listed_roles().present().into_iter().flat_map(BTreeMap::keys);
    let clusters = survey.registered().into_keys();
    let granted: BTreeSet<RoleName> = clusters.filter_map(|cluster| survey.granted_role(&cluster)).collect();
    for role in all.filter(|role| is_usual_role(role) && !granted.contains(*role)) {
        survey.roles(role);
    }
}

/// A policy with a name of this bus that belongs to no registered cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stray {
    pub(super) role: RoleName,
    /// The name of the policy.
    pub(super) policy: String,
    /// The cluster and the policy, if it is certain that kibus wrote it for a cluster whose queue is missing.
    pub(super) orphan: Option<(ClusterName, Resource)>,
}

/// Where policies of earlier clusters were not looked for, because AWS did not answer.
pub(super) fn unread_roles(survey: &Survey) -> Option<Hint> {
    let unread = |what: &str, fault: &Fault| {
        let text = format!("policies that earlier clusters have left on {what} are not looked for: {fault}");
        Hint::text(text)
    };
    if let Fact::Unreadable(fault) = &survey.known.listed_roles {
        return Some(unread("controller roles", fault));
    }
    let unread_roles = survey.known.roles.iter().filter_map(|(role, policies)| Some((role, policies.fault()?)));
    let (roles, faults): (Vec<_>, Vec<_>) = unread_roles.map(|(role, fault)| (format!("`{role}`"), fault)).unzip();
    let fault = faults.first()?;
    Some(unread(&format!("role {}", first_of(roles, 1)), fault))
}

/// Every policy with a name of this bus, on the roles that were read, that is not one of a cluster with a queue.
pub(super) fn strays(survey: &Survey) -> Vec<Stray> {
    read_usual_roles(survey);
    let clusters = survey.clusters();
    let owned: BTreeSet<(RoleName, String)> = clusters
        .keys()
        .flat_map(|cluster| {
            let name = survey.scope.controller_policy(cluster).to_string();
            let roles = roles_of(survey, cluster).into_iter();
            roles.map(move |role| (role, name.clone()))
        })
        .collect();
    let mut strays = Vec::new();
    for (role, policies) in &survey.known.roles {
        let documents = policies.present().map(|policies| policies.values());
        for policy in documents.into_iter().flatten() {
            let key = (role.clone(), policy.name.clone());
            if !owned.contains(&key) {
                strays.push(Stray {
                    role: role.clone(),
                    policy: policy.name.clone(),
                    orphan: orphan_of(survey, role, policy),
                });
            }
        }
    }
    strays
}

/// The clusters that a policy of kibus on a role names and that are not registered, although their queues exist.
pub(super) fn named_by_policy(survey: &Survey) -> BTreeMap<ClusterName, RoleName> {
    let clusters = survey.clusters();
    let mut found = BTreeMap::new();
    for (role, policies) in &survey.known.roles {
        for policy in policies.present().into_iter().flat_map(BTreeMap::values) {
            let is_ours = policy.document().is_some_and(|document| policy::all_ours(&document));
            if let Some((cluster, queue)) = cluster_of(survey, policy).filter(|_| is_ours)
                && survey.observed.queue(queue).is_some()
                && !clusters.contains_key(&cluster)
            {
                found.insert(cluster, role.clone());
            }
        }
    }
    found
}

/// The orphan that a policy is: its name is the one computed for the cluster whose queue it opens, the queue is one of
/// this account, Region and prefix, and it is missing.
fn orphan_of(survey: &Survey, role: &RoleName, policy: &InlinePolicy) -> Option<(ClusterName, Resource)> {
    let document = policy.document()?;
    let (cluster, queue) = cluster_of(survey, policy)?;
    if !policy::all_ours(&document) || *survey.resource(&ResourceId::Queue(queue)) != Fact::Absent {
        return None;
    }
    let policy = RolePolicy { role: role.clone(), name: survey.scope.controller_policy(&cluster), document };
    Some((cluster, Resource::RolePolicy(policy)))
}

/// The cluster that a policy is named after, and its queue, if that is the one queue that the policy opens.
fn cluster_of(survey: &Survey, policy: &InlinePolicy) -> Option<(ClusterName, QueueName)> {
    let cluster = survey.scope.cluster_of_policy(&policy.name.parse().ok()?)?;
    if survey.scope.controller_policy(&cluster).as_str() != policy.name {
        return None;
    }
    let queue = survey.cluster_queue(&cluster);
    let opened = queues_received_from(&policy.document()?);
    opened.into_iter().eq([survey.scope.queue_arn(&queue)]).then_some((cluster, queue))
}

#[cfg(test)]
mod tests;
