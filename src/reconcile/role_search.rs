//! The role that a cluster's Karpenter controller runs as. The policy of the cluster on a role is the record; a tag of the
//! queue says only where to look first. Without one record, evidence decides, else the usual names.

use std::collections::BTreeSet;

use super::blocked::{RoleSearch, RoleSource};
use super::inventory::{policy, roles_with_policy};
use super::role_evidence::{self, Candidates, Evidence};
use crate::model::controller_role::{RoleCandidates, is_usual, similar, usual_names};
use crate::model::fact::Fact;
use crate::model::fault::Fault;
use crate::model::inventory::Reading;
use crate::model::name::{ClusterName, RoleName};
use crate::model::tags::Tags;
use crate::plan::Refusal;
use crate::survey::{Query, Survey};

/// The result of a search.
pub(super) enum Found {
    /// This role, by these sources.
    One(RoleName, BTreeSet<RoleSource>),
    /// The cluster is registered, and neither a policy nor the tag names a role: kibus manages none.
    Unmanaged,
    /// No role, or several.
    NotOne(RoleSearch),
    /// Unknown until the names of all roles are read.
    Open,
}

/// Searches for the role of a cluster, whether it is registered or not.
pub(super) fn find(survey: &Survey, name: &ClusterName) -> Found {
    let mut holders = roles_with_policy(survey, name);
    if let (Some(one), 1) = (holders.first(), holders.len()) {
        return Found::One(one.clone(), [RoleSource::Policy].into());
    }
    let tagged = tagged(survey, name);
    match &tagged {
        None if holders.is_empty() && survey.registration(name).is_some() => return Found::Unmanaged,
        Some(role) if holders.is_empty() && is_unread(survey, name, role) => {
            return Found::One(role.clone(), [RoleSource::Tag].into());
        }
        _ => {}
    }
    let evidence = Evidence::of(survey, name);
    if let Some((role, sources)) = evidence.one() {
        return Found::One(role.clone(), sources.clone());
    }
    let exists = |role: &RoleName| {
        let listed = survey.role_names.present().is_some_and(|all| all.contains(role));
        listed || matches!(survey.roles.get(role), Some(Fact::Present(_)))
    };
    let tagged = tagged.filter(exists);
    let usual: Vec<RoleName> = usual_names(name).into_iter().filter(exists).collect();
    let is_bare = evidence.is_empty() && holders.is_empty();
    if let ([one], true) = (
        usual.as_slice(),
        is_bare && tagged.as_ref().is_none_or(|role| usual.contains(role)),
    ) {
        return Found::One(one.clone(), [RoleSource::Name].into());
    }
    let mut search = RoleSearch {
        elsewhere: evidence.elsewhere,
        gone: gone(survey, name),
        evidence: role_evidence::of_nothing(survey, name),
        ..RoleSearch::nothing(name)
    };
    let mut add = |role: RoleName, source| {
        search.candidates.entry(role).or_default().insert(source);
    };
    usual.into_iter().for_each(|role| add(role, RoleSource::Name));
    tagged.into_iter().for_each(|role| add(role, RoleSource::Tag));
    while let Some(role) = holders.pop_first() {
        add(role, RoleSource::Policy);
    }
    merge(&mut search.candidates, evidence.roles);
    if search.candidates.is_empty() && search.elsewhere.is_empty() {
        let Some(all) = survey.role_names.present() else {
            return Found::Open;
        };
        let suffixed = RoleCandidates::of(name, all).suffixed.into_iter();
        search.candidates = suffixed.map(|role| (role, [RoleSource::Suffix].into())).collect();
        if search.candidates.is_empty() {
            search.similar = similar(name, all).into_iter().cloned().collect();
        }
    }
    Found::NotOne(search)
}

fn merge(candidates: &mut Candidates, others: Candidates) {
    for (role, sources) in others {
        candidates.entry(role).or_default().extend(sources);
    }
}

/// The role that the queue of a registered cluster names.
pub(super) fn tagged(survey: &Survey, name: &ClusterName) -> Option<RoleName> {
    survey.registration(name).and_then(Tags::controller_role)
}

/// The role that the queue of a registered cluster names, if it does not exist.
pub(super) fn gone(survey: &Survey, name: &ClusterName) -> Option<RoleName> {
    tagged(survey, name).filter(|role| survey.roles.get(role) == Some(&Fact::Absent))
}

/// The role of a registered cluster by its policy, as far as that was read: else the one that the tag names.
pub(super) fn on_record(survey: &Survey, cluster: &ClusterName) -> Option<RoleName> {
    let holders = roles_with_policy(survey, cluster);
    let tagged = survey.queue_tags(cluster).and_then(Tags::controller_role);
    let named = tagged.filter(|role| holders.contains(role) || is_unread(survey, cluster, role));
    named.or_else(|| holders.first().cloned())
}

/// Whether it is unknown if a role has the policy of a cluster.
pub(super) fn is_unread(survey: &Survey, cluster: &ClusterName, role: &RoleName) -> bool {
    !matches!(
        policy(survey, cluster, role),
        Some(Reading::Present(_) | Reading::Absent)
    )
}

/// Whether the policies do not say which role a registered cluster has: the tag names one without the policy, or several have it.
pub(super) fn is_unclear(survey: &Survey, cluster: &ClusterName) -> bool {
    let holders = roles_with_policy(survey, cluster).len();
    let without_policy = |role: RoleName| !is_unread(survey, cluster, &role);
    holders > 1 || (holders == 0 && tagged(survey, cluster).is_some_and(without_policy))
}

/// The registered clusters among these whose policy was not found on any role so far.
fn without_policy<'a>(survey: &Survey, clusters: impl IntoIterator<Item = &'a ClusterName>) -> Vec<&'a ClusterName> {
    let is_lost = |cluster: &&ClusterName| {
        let unread = tagged(survey, cluster).is_some_and(|role| is_unread(survey, cluster, &role));
        survey.registration(cluster).is_some() && !unread && roles_with_policy(survey, cluster).is_empty()
    };
    clusters.into_iter().filter(is_lost).collect()
}

/// Why it is unknown whether a role has the policy of one of these clusters, if the roles could not be listed.
pub(super) fn not_listed<'a>(
    survey: &'a Survey,
    clusters: impl IntoIterator<Item = &'a ClusterName>,
) -> Option<(&'a ClusterName, &'a Fault)> {
    let fault = survey.role_names.fault()?;
    Some((without_policy(survey, clusters).first()?, fault))
}

/// What to read to find where the policies of registered clusters are, if not on the roles that the tags name: the roles that
/// are named like the controller role of one of them.
pub(super) fn to_read<'a>(survey: &Survey, clusters: impl IntoIterator<Item = &'a ClusterName>) -> Query {
    let lost = without_policy(survey, clusters);
    if lost.is_empty() || !survey.role_names.is_asked() {
        return Query {
            role_names: !lost.is_empty(),
            ..Query::default()
        };
    }
    let may_be_of = |cluster: &ClusterName| match survey.role_names.present() {
        None => usual_names(cluster),
        Some(all) => {
            let named = |role: &&RoleName| is_usual(role) && role.as_str().contains(cluster.as_str());
            all.iter().filter(named).cloned().collect()
        }
    };
    Query {
        roles: lost.into_iter().flat_map(may_be_of).collect(),
        ..Query::default()
    }
}

/// What a check reports about a registered cluster whose role is unclear.
pub(super) fn unclear(survey: &Survey, cluster: &ClusterName) -> Vec<Refusal> {
    let Found::NotOne(search) = find(survey, cluster) else {
        return Vec::new();
    };
    let policy = survey.scope.controller_policy(cluster);
    let holders = roles_with_policy(survey, cluster);
    let tagged = tagged(survey, cluster);
    let Some(first) = tagged
        .clone()
        .filter(|role| holders.contains(role))
        .or(holders.first().cloned())
    else {
        let refusal = |role: RoleName| Refusal::UnconfirmedRole {
            cluster: cluster.clone(),
            is_only: search.candidates.keys().eq([&role]),
            role,
            policy,
        };
        let exists = gone(survey, cluster).is_none();
        return tagged.filter(|_| exists).map(refusal).into_iter().collect();
    };
    let others = holders.into_iter().filter(|role| *role != first);
    let refusal = |role| Refusal::SecondRole {
        cluster: cluster.clone(),
        role,
        policy: policy.clone(),
        first: first.clone(),
    };
    others.map(refusal).collect()
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
        for cluster in survey.registered().into_keys() {
            let holders = roles_with_policy(survey, &cluster);
            let tagged = tagged(survey, &cluster).filter(|role| !holders.contains(role));
            roles.tagged.extend(tagged.map(|role| (cluster.clone(), role)));
            roles
                .holders
                .extend(holders.into_iter().map(|role| (cluster.clone(), role)));
        }
        roles
    }
}
