//! Evidence of the role that the Karpenter controller of a cluster runs as: EKS pod identity associations of its service
//! account, else trust policies that name the cluster's issuer and that service account. EKS gives a pod with an association
//! no other role (EKS user guide, "EKS Pod Identities"), so those come first.

use std::collections::BTreeSet;

use super::blocked::{RoleSearch, RoleSource};
use super::inventory::roles_with_policy;
use super::role_search::is_saved_and_unconfirmed;
use super::target::{ClusterSetting, RoleOption, Target};
use crate::iam::web_identity::names_service_account;
use crate::model::fact::Fact;
use crate::model::karpenter::SERVICE_ACCOUNT;
use crate::model::name::{ClusterName, RoleName};
use crate::survey::{Query, Survey};

/// What the evidence says.
pub(super) enum Evidence {
    /// There is none, or it was not read.
    Nothing,
    /// This role.
    One(RoleName),
    /// Several roles, or a role of another account.
    Unclear(RoleSearch),
}

/// The evidence for a cluster, as far as it was read.
pub(super) fn of(survey: &Survey, cluster: &ClusterName) -> Evidence {
    let (mut own, mut elsewhere) = (BTreeSet::new(), BTreeSet::new());
    for arn in by_pod_identity(survey, cluster).into_iter().flatten() {
        match survey.scope.own_role(arn) {
            Some(role) => own.insert(role),
            None => elsewhere.insert(arn.clone()),
        };
    }
    if own.is_empty() && elsewhere.is_empty() {
        return weighed(cluster, RoleSource::Trust, by_trust(survey, cluster), BTreeSet::new());
    }
    weighed(cluster, RoleSource::PodIdentity, own, elsewhere)
}

fn weighed(
    cluster: &ClusterName,
    source: RoleSource,
    own: BTreeSet<RoleName>,
    elsewhere: BTreeSet<String>,
) -> Evidence {
    let found: Vec<RoleName> = own.into_iter().collect();
    match found.as_slice() {
        [] if elsewhere.is_empty() => Evidence::Nothing,
        [one] if elsewhere.is_empty() => Evidence::One(one.clone()),
        _ => Evidence::Unclear(RoleSearch {
            source,
            found,
            elsewhere,
            ..RoleSearch::nothing(cluster)
        }),
    }
}

fn by_pod_identity<'a>(survey: &'a Survey, cluster: &ClusterName) -> Option<&'a BTreeSet<String>> {
    survey.eks.pod_identity_roles.get(cluster)?.present()
}

fn by_trust(survey: &Survey, cluster: &ClusterName) -> BTreeSet<RoleName> {
    let issuer = survey.eks.issuers.get(cluster).and_then(Fact::present);
    let Some(provider) = issuer.map(|issuer| survey.scope.oidc_provider_arn(issuer)) else {
        return BTreeSet::new();
    };
    let trusting = survey
        .web_trusts
        .iter()
        .filter(|(_, trust)| names_service_account(trust, &provider, SERVICE_ACCOUNT));
    trusting.map(|(role, _)| role.clone()).collect()
}

/// What to read next for the evidence that a target needs.
pub(super) fn to_read(survey: &Survey, target: &Target) -> Query {
    let mut query = Query::default();
    for cluster in wanted(survey, target) {
        match survey.eks.pod_identity_roles.get(cluster) {
            None | Some(Fact::NotAsked) => drop(query.eks.pod_identity_roles.insert(cluster.clone())),
            Some(Fact::Present(roles)) if !roles.is_empty() => {}
            // There is no such cluster, or EKS does not answer.
            Some(Fact::Absent) => {}
            Some(Fact::Unreadable(fault)) if !fault.is_denied() => {}
            Some(Fact::Present(_) | Fact::Unreadable(_)) => {
                query.eks.issuers.insert(cluster.clone());
                query.role_names = true;
            }
        }
    }
    query
}

/// Whether the evidence for a cluster is still to be read, so that its role is unknown.
pub(super) fn is_open(survey: &Survey, cluster: &ClusterName, setting: &ClusterSetting) -> bool {
    is_wanted(survey, cluster, setting) && !survey.eks.pod_identity_roles.contains_key(cluster)
}

/// The clusters of a target for which evidence decides, or confirms a role.
pub(super) fn wanted<'a>(survey: &Survey, target: &'a Target) -> Vec<&'a ClusterName> {
    let set = target.set().into_iter();
    set.filter_map(|(cluster, setting)| is_wanted(survey, cluster, setting).then_some(cluster))
        .collect()
}

/// Whether evidence decides about the role of a cluster, or confirms it: no role is named, none has the policy of the cluster,
/// and none is saved, or only a tag names it.
fn is_wanted(survey: &Survey, cluster: &ClusterName, setting: &ClusterSetting) -> bool {
    let searches = setting.asks_eks && setting.role == RoleOption::Search;
    searches
        && match survey.saved_tags(cluster) {
            Some(tags) if tags.belong_to(&survey.scope.bus) => is_saved_and_unconfirmed(survey, cluster),
            Some(tags) if tags.controller_role().is_some() => false,
            _ => roles_with_policy(survey, cluster).len() != 1,
        }
}
