//! Evidence of the role that the Karpenter controller of a cluster runs as: EKS pod identity associations of its service
//! account, and trust policies that name the cluster's issuer and that service account. Both are read, because a leftover of
//! either may name another role than the one in use.

use std::collections::{BTreeMap, BTreeSet};

use super::blocked::RoleSource;
use crate::iam::web_identity::names_service_account;
use crate::model::fact::Fact;
use crate::model::karpenter::{NAMESPACES, SERVICE_ACCOUNT};
use crate::model::name::{ClusterName, RoleName};
use crate::survey::Survey;

/// The roles that may be the one of a controller, each with what speaks for it.
pub(super) type Candidates = BTreeMap<RoleName, BTreeSet<RoleSource>>;

/// What EKS and trust policies say about a cluster, as far as they were read.
#[derive(Default)]
pub(super) struct Evidence {
    pub(super) roles: Candidates,
    /// The ARNs of roles of other accounts in associations.
    pub(super) elsewhere: BTreeSet<String>,
}

impl Evidence {
    pub(super) fn of(survey: &Survey, cluster: &ClusterName) -> Self {
        let mut evidence = Self::default();
        let associations = survey.eks.associations.get(cluster).and_then(Fact::present);
        for association in associations.into_iter().flatten() {
            match survey.scope.own_role(&association.role_arn) {
                Some(role) => evidence.add(role, RoleSource::Association(association.namespace.clone())),
                None => drop(evidence.elsewhere.insert(association.role_arn.clone())),
            }
        }
        for role in by_trust(survey, cluster) {
            evidence.add(role, RoleSource::Trust);
        }
        evidence
    }

    fn add(&mut self, role: RoleName, source: RoleSource) {
        self.roles.entry(role).or_default().insert(source);
    }

    /// The role, if all evidence names the same one, and associations only in the usual namespaces of Karpenter: who may
    /// create a service account elsewhere need not be trusted with Karpenter.
    pub(super) fn one(&self) -> Option<(&RoleName, &BTreeSet<RoleSource>)> {
        let elsewhere = |source: &RoleSource| match source {
            RoleSource::Association(namespace) => !NAMESPACES.contains(&namespace.as_str()),
            _ => false,
        };
        let first = self.roles.first_key_value()?;
        let is_clear = self.roles.len() == 1 && self.elsewhere.is_empty() && !first.1.iter().any(elsewhere);
        is_clear.then_some(first)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.elsewhere.is_empty()
    }
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
    let (roles, issuer) = (survey.eks.associations.get(cluster), survey.eks.issuers.get(cluster));
    let fault = roles.and_then(Fact::fault).or(issuer.and_then(Fact::fault));
    match fault {
        Some(fault) => Fact::Unreadable(fault.clone()),
        None if roles.is_some() => Fact::Absent,
        None => Fact::NotAsked,
    }
}
