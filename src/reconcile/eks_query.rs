//! What EKS is asked: whether the clusters that are registered for the first time exist, and which evidence of their roles it
//! has.

use super::inventory::roles_with_policy;
use super::role_search::is_saved_and_unconfirmed;
use super::target::{ClusterSetting, RoleOption, Target};
use crate::model::fact::Fact;
use crate::model::name::ClusterName;
use crate::survey::{EksQuery, Query, Survey};

/// What to read next for the clusters of a target.
pub(super) fn to_read(survey: &Survey, target: &Target) -> Query {
    let clusters = !asked(survey, target).is_empty();
    let mut query = Query {
        eks: EksQuery {
            clusters,
            ..EksQuery::default()
        },
        ..Query::default()
    };
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

/// The clusters that are registered for the first time, and about which EKS is asked.
pub(super) fn asked<'a>(survey: &Survey, target: &'a Target) -> Vec<&'a ClusterName> {
    let is_registered = |cluster: &ClusterName| {
        let tags = survey.saved_tags(cluster);
        tags.is_some_and(|tags| tags.belong_to(&survey.scope.bus))
    };
    let set = target.set().into_iter();
    set.filter_map(|(cluster, setting)| (setting.asks_eks && !is_registered(cluster)).then_some(cluster))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::super::blocked::RoleSource;
    use super::super::role_search::{Found, find};
    use super::*;
    use crate::model::document::Document;
    use crate::model::fault::{Fault, FaultKind};
    use crate::model::name::RoleName;
    use crate::model::scope::tests::scope;

    const ISSUER: &str = "https://oidc.eks.us-west-2.amazonaws.com/id/ABC";

    fn fault(kind: FaultKind) -> Fault {
        Fault {
            kind,
            action: "eks:ListPodIdentityAssociations".to_owned(),
            code: None,
            message: "no".to_owned(),
        }
    }

    fn denied() -> Fault {
        fault(FaultKind::Denied {
            principal: None,
            resource: None,
        })
    }

    fn associations(arns: &[&str]) -> Fact<BTreeSet<String>> {
        Fact::Present(arns.iter().map(|arn| (*arn).to_owned()).collect())
    }

    fn role(path_and_name: &str) -> String {
        scope().roles_arn(path_and_name)
    }

    /// A survey of cluster `base`: its associations, and an account with these roles, of which some trust its service account.
    fn survey(associations: Fact<BTreeSet<String>>, trusting: &[&str], all: &[&str]) -> Survey {
        let mut survey = Survey::new(scope());
        let base: ClusterName = "base".parse().unwrap();
        survey.eks.pod_identity_roles.insert(base.clone(), associations);
        survey.eks.issuers.insert(base, Fact::Present(ISSUER.to_owned()));
        let statement = json!({
            "Effect": "Allow",
            "Principal": { "Federated": scope().oidc_provider_arn(ISSUER) },
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": {
                "StringEquals": {
                    "oidc.eks.us-west-2.amazonaws.com/id/ABC:sub": "system:serviceaccount:karpenter:karpenter",
                },
            },
        });
        let trust = Document::new(json!({ "Statement": [statement] }));
        let trusts = trusting.iter().map(|role| (role.parse().unwrap(), trust.clone()));
        survey.web_trusts = trusts.collect();
        survey.role_names = Fact::Present(all.iter().map(|role| role.parse().unwrap()).collect());
        survey
    }

    #[test]
    fn the_best_evidence_decides_and_equal_evidence_does_not() {
        let elsewhere = "arn:aws:iam::444455556666:role/karpenter";
        let other_partition = role("a").replace("arn:aws:", "arn:aws-cn:");
        for (case, associations, trusting, expected) in [
            ("an association", associations(&[&role("team/a")]), vec!["b"], Ok("a")),
            ("no association", associations(&[]), vec!["b"], Ok("b")),
            ("associations denied", Fact::Unreadable(denied()), vec!["b"], Ok("b")),
            ("no such cluster", Fact::Absent, vec![], Ok("base-karpenter")),
            ("no evidence", associations(&[]), vec![], Ok("base-karpenter")),
            (
                "two roles",
                associations(&[&role("a"), &role("b")]),
                vec![],
                Err((RoleSource::PodIdentity, vec!["a", "b"], 0)),
            ),
            (
                "one of another account",
                associations(&[elsewhere]),
                vec!["b"],
                Err((RoleSource::PodIdentity, vec![], 1)),
            ),
            (
                "one of another account too",
                associations(&[elsewhere, &role("a")]),
                vec![],
                Err((RoleSource::PodIdentity, vec!["a"], 1)),
            ),
            (
                "one of another partition",
                associations(&[&other_partition]),
                vec![],
                Err((RoleSource::PodIdentity, vec![], 1)),
            ),
            (
                "two trust policies",
                associations(&[]),
                vec!["a", "b"],
                Err((RoleSource::Trust, vec!["a", "b"], 0)),
            ),
        ] {
            let survey = survey(associations, &trusting, &["a", "b", "base-karpenter"]);
            let found = find(&survey, &"base".parse().unwrap());
            let found = match &found {
                Found::One(role) => Ok(role.as_str()),
                Found::NotOne(search) => Err((
                    search.source,
                    search.found.iter().map(RoleName::as_str).collect(),
                    search.elsewhere.len(),
                )),
                Found::Open => panic!("{case}"),
            };
            assert_eq!(found, expected, "{case}");
        }
    }

    #[test]
    fn the_issuer_is_read_only_where_associations_show_nothing() {
        for (case, associations, reads) in [
            ("not asked", Fact::NotAsked, [true, false]),
            ("a role", associations(&[&role("a")]), [false, false]),
            ("no association", associations(&[]), [false, true]),
            ("denied", Fact::Unreadable(denied()), [false, true]),
            ("no such cluster", Fact::Absent, [false, false]),
            (
                "no answer",
                Fact::Unreadable(fault(FaultKind::Unreachable)),
                [false, false],
            ),
        ] {
            let target = super::super::tests::add_with(RoleOption::Search);
            let query = to_read(&survey(associations, &[], &[]), &target);
            let wanted = [!query.eks.pod_identity_roles.is_empty(), !query.eks.issuers.is_empty()];
            assert_eq!(wanted, reads, "{case}");
            assert_eq!(query.role_names, reads[1], "{case}");
        }
    }
}
