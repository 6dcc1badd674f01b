//! What EKS is asked: whether the clusters that are registered for the first time exist, and which evidence of their roles it
//! has.

use super::inventory::roles_with_policy;
use super::role_search::is_unclear;
use super::target::{ClusterSetting, RoleOption, Target};
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
        query.eks.associations.insert(cluster.clone());
        query.eks.issuers.insert(cluster.clone());
        query.role_names = true;
    }
    query
}

/// Whether the evidence for a cluster is still to be read, so that its role is unknown.
pub(super) fn is_open(survey: &Survey, cluster: &ClusterName, setting: &ClusterSetting) -> bool {
    is_wanted(survey, cluster, setting) && !survey.eks.associations.contains_key(cluster)
}

/// The clusters of a target for which evidence decides.
pub(super) fn wanted<'a>(survey: &Survey, target: &'a Target) -> Vec<&'a ClusterName> {
    let set = target.set().into_iter();
    set.filter_map(|(cluster, setting)| is_wanted(survey, cluster, setting).then_some(cluster))
        .collect()
}

/// Whether evidence decides about the role of a cluster: no role is named, and the policies do not say which one it is.
fn is_wanted(survey: &Survey, cluster: &ClusterName, setting: &ClusterSetting) -> bool {
    let searches = setting.asks_eks && setting.role == RoleOption::Search;
    searches
        && match survey.saved_tags(cluster) {
            Some(tags) if tags.belong_to(&survey.scope.bus) => is_unclear(survey, cluster),
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
    use crate::model::fact::Fact;
    use crate::model::fault::{Fault, FaultKind};
    use crate::model::karpenter::Association;
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

    /// Associations, each in a namespace and with the ARN of a role.
    fn associations(all: &[(&str, &str)]) -> Fact<BTreeSet<Association>> {
        let association = |(namespace, role_arn): &(&str, &str)| Association {
            namespace: (*namespace).to_owned(),
            role_arn: (*role_arn).to_owned(),
        };
        Fact::Present(all.iter().map(association).collect())
    }

    fn role(path_and_name: &str) -> String {
        scope().roles_arn(path_and_name)
    }

    /// A survey of cluster `base`: its associations, and an account with these roles, of which some trust its service account.
    fn survey(associations: Fact<BTreeSet<Association>>, trusting: &[&str], all: &[&str]) -> Survey {
        let mut survey = Survey::new(scope());
        let base: ClusterName = "base".parse().unwrap();
        survey.eks.associations.insert(base.clone(), associations);
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
    fn all_evidence_must_name_one_role() {
        let elsewhere = "arn:aws:iam::444455556666:role/karpenter";
        let other_partition = role("a").replace("arn:aws:", "arn:aws-cn:");
        let (a, b) = (role("team/a"), role("b"));
        for (case, associations, trusting, expected) in [
            ("an association", associations(&[("karpenter", &a)]), vec![], "a"),
            ("a trust policy", associations(&[]), vec!["b"], "b"),
            (
                "both, of the same role",
                associations(&[("kube-system", &b)]),
                vec!["b"],
                "b",
            ),
            (
                "both, of different roles",
                associations(&[("kube-system", &a)]),
                vec!["b"],
                "? a b",
            ),
            ("another namespace", associations(&[("team", &a)]), vec![], "? a"),
            (
                "another namespace too",
                associations(&[("karpenter", &a), ("team", &a)]),
                vec![],
                "? a",
            ),
            (
                "another namespace, trusted",
                associations(&[("team", &b)]),
                vec!["b"],
                "? b",
            ),
            ("associations denied", Fact::Unreadable(denied()), vec!["b"], "b"),
            ("no such cluster", Fact::Absent, vec![], "base-karpenter"),
            ("no evidence", associations(&[]), vec![], "base-karpenter"),
            (
                "two roles",
                associations(&[("karpenter", &a), ("kube-system", &b)]),
                vec![],
                "? a b",
            ),
            (
                "one of another account",
                associations(&[("karpenter", elsewhere)]),
                vec!["b"],
                "? b elsewhere",
            ),
            (
                "one of another account too",
                associations(&[("karpenter", elsewhere), ("karpenter", &a)]),
                vec![],
                "? a elsewhere",
            ),
            (
                "one of another partition",
                associations(&[("karpenter", &other_partition)]),
                vec![],
                "? elsewhere",
            ),
            ("two trust policies", associations(&[]), vec!["a", "b"], "? a b"),
        ] {
            let survey = survey(associations, &trusting, &["a", "b", "base-karpenter"]);
            let found = match find(&survey, &"base".parse().unwrap()) {
                Found::One(role, _) => role.to_string(),
                Found::NotOne(search) => {
                    let by_name = [RoleSource::Name].into();
                    let roles = search.candidates.iter().filter(|(_, by)| **by != by_name);
                    let roles = roles.map(|(role, _)| role.to_string());
                    let elsewhere = search.elsewhere.iter().map(|_| "elsewhere".to_owned());
                    format!("? {}", roles.chain(elsewhere).collect::<Vec<_>>().join(" "))
                }
                Found::Open | Found::Unmanaged => panic!("{case}"),
            };
            assert_eq!(found, expected, "{case}");
        }
    }

    #[test]
    fn associations_and_trust_policies_are_read_in_one_round() {
        let target = super::super::tests::add_with(RoleOption::Search);
        let query = to_read(&Survey::new(scope()), &target);
        assert_eq!(
            [
                !query.eks.associations.is_empty(),
                !query.eks.issuers.is_empty(),
                query.role_names
            ],
            [true; 3]
        );
    }
}
