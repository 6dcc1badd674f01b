//! The role of a cluster's Karpenter controller. The record of the cluster names it. For a cluster without a record,
//! evidence decides, or else the usual names.

use std::collections::{BTreeMap, BTreeSet};

use super::blocked::{MissingRole, RoleSearch, RoleSource};
use super::target::{ClusterSetting, RoleOption, Target};
use crate::iam::grants::names_service_account;
use crate::model::{
    ClusterName, Fact, Fault, Resource, ResourceId, RoleCandidates, RoleName, RolePolicy,
    karpenter::{NAMESPACES, SERVICE_ACCOUNT},
    similar_roles, usual_roles,
};
use crate::survey::{ListedRole, Survey};

/// The role of a cluster's controller.
pub(super) enum FoundRole {
    /// This role, found in these sources; none if the command line names it.
    One(RoleName, BTreeSet<RoleSource>),
    /// Kibus does not manage a policy on the role.
    Unmanaged,
    /// No role, or several.
    NotOne(RoleSearch),
    /// A role that does not exist.
    Missing(MissingRole),
    /// Unknown until more is read.
    Open,
}

/// The controller role of a cluster to set: from the command line, recorded, or found.
pub(super) fn decide(survey: &Survey, name: &ClusterName, setting: &ClusterSetting) -> FoundRole {
    // The record shows where to look.
    if !survey.record_answer(name).is_asked() {
        return FoundRole::Open;
    }
    let recorded = survey.record(name);
    let is_external = setting.external() || recorded.is_some_and(|record| record.external && !setting.adopts());
    let found = match &setting.role {
        _ if is_external => FoundRole::Unmanaged,
        RoleOption::Unmanaged => FoundRole::Unmanaged,
        RoleOption::Named(template) => match template.role(name) {
            Ok(role) => existing(survey, name, role, BTreeSet::new()),
            Err(_) => FoundRole::NotOne(RoleSearch::nothing(name)),
        },
        RoleOption::Search => match recorded.filter(|record| record.has_own_queue()) {
            Some(record) => match &record.role {
                Some(role) => existing(survey, name, role.clone(), [RoleSource::Record].into()),
                None => FoundRole::Unmanaged,
            },
            None => {
                seek_evidence(survey, name, setting);
                match find(survey, name) {
                    FoundRole::One(role, sources) => existing(survey, name, role, sources),
                    other => other,
                }
            }
        },
    };
    match &found {
        FoundRole::One(role, _) => {
            read_policy(survey, name, role);
            if let Fact::Unreadable(_) = survey.roles(role) {
                survey.resource(&ResourceId::Role(role.clone()));
            }
        }
        // The message about it names roles that the user may have meant.
        FoundRole::Open | FoundRole::Missing(_) => {
            survey.listed_roles();
        }
        FoundRole::NotOne(_) | FoundRole::Unmanaged => {}
    }
    found
}

/// The role, unless it certainly does not exist.
fn existing(survey: &Survey, cluster: &ClusterName, role: RoleName, sources: BTreeSet<RoleSource>) -> FoundRole {
    let absent = match survey.known.roles.get(&role) {
        Some(Fact::Absent) => true,
        Some(Fact::Unreadable(_)) => *survey.observed.get(&ResourceId::Role(role.clone())) == Fact::Absent,
        _ => false,
    };
    if !absent {
        return FoundRole::One(role, sources);
    }
    let listed = survey.known.listed_roles.present();
    let similar = listed.map(|all| similar_roles(cluster, all)).unwrap_or_default();
    FoundRole::Missing(MissingRole {
        cluster: cluster.clone(),
        sources,
        role,
        similar: similar.into_iter().cloned().collect(),
    })
}

/// Searches for the role of a cluster that has no record.
fn find(survey: &Survey, name: &ClusterName) -> FoundRole {
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
    let usual: Vec<RoleName> = usual_roles(name).into_iter().filter(exists).collect();
    if let ([one], false) = (usual.as_slice(), has_evidence) {
        return FoundRole::One(one.clone(), [RoleSource::Name].into());
    }
    for role in usual {
        add(&mut search, role, RoleSource::Name);
    }
    if search.candidates.is_empty() && search.elsewhere.is_empty() {
        let Some(all) = listed else { return FoundRole::Open };
        let suffixed = RoleCandidates::among(name, all).suffixed.into_iter();
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

/// The roles of the recorded clusters that have any.
pub fn recorded_roles(survey: &Survey) -> BTreeMap<ClusterName, BTreeSet<RoleName>> {
    survey.records();
    let roles = survey.recorded().into_iter().map(|(cluster, record)| (cluster, record.roles()));
    roles.filter(|(_, roles)| !roles.is_empty()).collect()
}

/// A search with the evidence for the role, as far as it was read: EKS pod identity associations of the Karpenter
/// service account, and trust policies that name the cluster's issuer and that service account. Both are read, because
/// a leftover of either may name a role that is not in use.
fn by_evidence(survey: &Survey, cluster: &ClusterName) -> RoleSearch {
    let mut search = RoleSearch { evidence: no_evidence(survey, cluster), ..RoleSearch::nothing(cluster) };
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

/// The role, if all evidence names the same one, and all associations are in Karpenter's usual namespaces: anyone who
/// can create service accounts elsewhere need not be trusted with Karpenter.
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

/// The first failed call for evidence.
pub(super) fn evidence_fault(survey: &Survey) -> Option<&Fault> {
    let associations = survey.known.associations.values().filter_map(Fact::fault);
    let issuers = survey.known.oidc_issuers.values().filter_map(Fact::fault);
    associations.chain(issuers).next()
}

/// Requests the evidence for the role of a cluster, if it decides.
fn seek_evidence(survey: &Survey, cluster: &ClusterName, setting: &ClusterSetting) {
    if is_evidence_wanted(survey, cluster, setting) {
        survey.associations(cluster);
        survey.oidc_issuers(cluster);
        // The roles contain the trust policies.
        survey.listed_roles();
    }
}

/// The clusters of a target for which evidence decides.
pub(super) fn wanting_evidence<'a>(survey: &Survey, target: &'a Target) -> Vec<&'a ClusterName> {
    let set = target.set();
    set.filter_map(|(cluster, setting)| is_evidence_wanted(survey, cluster, setting).then_some(cluster)).collect()
}

/// Whether evidence decides the role of a cluster: neither the command line nor a record names one.
fn is_evidence_wanted(survey: &Survey, cluster: &ClusterName, setting: &ClusterSetting) -> bool {
    let searches = setting.asks_eks() && setting.role == RoleOption::Search && !setting.external();
    searches && survey.record(cluster).is_none_or(|record| !record.has_own_queue() && setting.adopts())
}

/// The clusters that are recorded for the first time, and are looked up in EKS.
pub(super) fn first_recorded<'a>(survey: &Survey, target: &'a Target) -> Vec<&'a ClusterName> {
    let is_new =
        |cluster: &ClusterName, setting: &ClusterSetting| setting.asks_eks() && survey.record(cluster).is_none();
    target.set().filter_map(|(cluster, setting)| is_new(cluster, setting).then_some(cluster)).collect()
}

/// The policy of a cluster on a role, which is read if it was not.
pub(super) fn read_policy(survey: &Survey, cluster: &ClusterName, role: &RoleName) -> Fact<Resource> {
    // A caller who is not allowed to list a role's policies may still be allowed to read kibus's policy.
    if let Fact::Unreadable(_) = survey.roles(role) {
        survey.resource(&survey.scope.controller_policy_id(cluster, role));
    }
    policy_on(survey, cluster, role)
}

/// The policy of a cluster on a role, as far as it was read.
fn policy_on(survey: &Survey, cluster: &ClusterName, role: &RoleName) -> Fact<Resource> {
    let direct = survey.observed.get(&survey.scope.controller_policy_id(cluster, role));
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

/// The controller roles that certainly do not exist.
pub(super) fn absent_roles(survey: &Survey) -> BTreeSet<RoleName> {
    let absent = survey.known.roles.iter().filter(|(_, policies)| **policies == Fact::Absent);
    absent.map(|(role, _)| role.clone()).collect()
}

/// Every listed role in the account.
pub(super) fn listed(survey: &Survey) -> impl Iterator<Item = &RoleName> {
    survey.listed_roles().present().into_iter().flat_map(BTreeMap::keys)
}

#[cfg(test)]
mod tests;
