//! Evidence of the role that the Karpenter controller of a cluster runs as: EKS pod identity associations of its service
//! account, else trust policies that name the cluster's issuer and that service account. A pod that could have both has the role
//! of the association (aws/amazon-eks-pod-identity-webhook, `pkg/handler/handler.go`).

use std::collections::BTreeSet;

use super::blocked::{RoleSearch, RoleSource};
use crate::iam::web_identity::names_service_account;
use crate::model::fact::Fact;
use crate::model::karpenter::SERVICE_ACCOUNT;
use crate::model::name::{ClusterName, RoleName};
use crate::survey::Survey;

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

/// Whether there is no evidence for a cluster because none exists, or because it could not be read.
pub(super) fn of_nothing(survey: &Survey, cluster: &ClusterName) -> Fact<()> {
    let (roles, issuer) = (
        survey.eks.pod_identity_roles.get(cluster),
        survey.eks.issuers.get(cluster),
    );
    let fault = roles.and_then(Fact::fault).or(issuer.and_then(Fact::fault));
    match fault {
        Some(fault) => Fact::Unreadable(fault.clone()),
        None if roles.is_some() => Fact::Absent,
        None => Fact::NotAsked,
    }
}
