use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::model::{
    Association, ClusterRecord, Document, Fact, Fault, FaultKind, HubOptions, Moment, Record, scope::tests::scope,
};

const ISSUER: &str = "https://oidc.eks.us-west-2.amazonaws.com/id/ABC";

fn denied() -> Fault {
    let kind = FaultKind::Denied { principal: None, resource: None };
    Fault::new(kind, "eks:ListPodIdentityAssociations", "no")
}

/// Associations, each in a namespace and with the ARN of a role.
fn associations(all: &[(&str, &str)]) -> Fact<BTreeSet<Association>> {
    let all = all.iter().map(|(namespace, role_arn)| [*namespace, *role_arn].map(str::to_owned));
    Fact::Present(all.map(|[namespace, role_arn]| Association { namespace, role_arn }).collect())
}

fn role(path_and_name: &str) -> String {
    scope().roles_arn(path_and_name)
}

/// A survey of cluster `base`: its associations, and an account with these roles, some of which trust its service account.
fn survey(associations: Fact<BTreeSet<Association>>, trusting: &[&str], all: &[&str]) -> Survey {
    let mut survey = Survey::new(scope());
    let base: ClusterName = "base".parse().unwrap();
    survey.known.associations.insert(base.clone(), associations);
    survey.known.oidc_issuers.insert(base, Fact::Present(ISSUER.to_owned()));
    let subject = json!({"oidc.eks.us-west-2.amazonaws.com/id/ABC:sub": "system:serviceaccount:karpenter:karpenter"});
    let statement = json!({
        "Effect": "Allow",
        "Principal": { "Federated": scope().oidc_provider_arn(ISSUER) },
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": { "StringEquals": subject },
    });
    let trust = Document::new(json!({ "Statement": [statement] }));
    let listed =
        |role: &&str| ListedRole { web_trust: trusting.contains(role).then(|| trust.clone()), ..ListedRole::default() };
    let all = all.iter().map(|role| (role.parse().unwrap(), listed(role)));
    survey.known.listed_roles = Fact::Present(all.collect());
    survey
}

#[test]
fn all_evidence_must_name_one_role() {
    let elsewhere = "arn:aws:iam::444455556666:role/karpenter";
    let other_partition = role("a").replace("arn:aws:", "arn:aws-cn:");
    let (a, b) = (role("team/a"), role("b"));
    let of = associations;
    for (case, associations, trusting, expected) in [
        ("an association", of(&[("karpenter", &a)]), &[][..], "a"),
        ("a trust policy", of(&[]), &["b"], "b"),
        ("both, of the same role", of(&[("kube-system", &b)]), &["b"], "b"),
        ("both, of different roles", of(&[("kube-system", &a)]), &["b"], "? a b"),
        ("another namespace", of(&[("team", &a)]), &[], "? a"),
        ("another namespace too", of(&[("karpenter", &a), ("team", &a)]), &[], "? a"),
        ("another namespace, trusted", of(&[("team", &b)]), &["b"], "? b"),
        ("associations denied", Fact::Unreadable(denied()), &["b"], "b"),
        ("no such cluster", Fact::Absent, &[], "base-karpenter"),
        ("no evidence", of(&[]), &[], "base-karpenter"),
        ("two roles", of(&[("karpenter", &a), ("kube-system", &b)]), &[], "? a b"),
        ("one of another account", of(&[("karpenter", elsewhere)]), &["b"], "? b elsewhere"),
        ("one of another account too", of(&[("karpenter", elsewhere), ("karpenter", &a)]), &[], "? a elsewhere"),
        ("one of another partition", of(&[("karpenter", &other_partition)]), &[], "? elsewhere"),
        ("two trust policies", of(&[]), &["a", "b"], "? a b"),
    ] {
        let survey = survey(associations, trusting, &["a", "b", "base-karpenter"]);
        let found = match find(&survey, &"base".parse().unwrap()) {
            FoundRole::One(role, _) => role.to_string(),
            FoundRole::NotOne(search) => {
                let by_name = [RoleSource::Name].into();
                let roles = search.candidates.iter().filter(|(_, by)| **by != by_name);
                let roles = roles.map(|(role, _)| role.to_string());
                let elsewhere = search.elsewhere.iter().map(|_| "elsewhere".to_owned());
                format!("? {}", roles.chain(elsewhere).collect::<Vec<_>>().join(" "))
            }
            FoundRole::Missing(_) | FoundRole::Open | FoundRole::Unmanaged => panic!("{case}"),
        };
        assert_eq!(found, expected, "{case}");
    }
}

/// A case, the record of `base`, the setting, and the role or the outcome of the search.
type Row = (&'static str, Option<fn(&mut ClusterRecord)>, ClusterSetting, &'static str);

#[test]
fn the_record_says_the_role_and_evidence_only_without_one() {
    let search = ClusterSetting::default;
    let named = |role: &str| ClusterSetting { role: RoleOption::Named(role.parse().unwrap()), ..search() };
    let adopt = || ClusterSetting { adopt: Some(true), ..search() };
    let external = || ClusterSetting { external: Some(true), ..search() };
    let rows: [Row; 10] = [
        ("no record", None, search(), "b"),
        ("no record, and another role", None, named("a"), "a"),
        ("no record, external", None, external(), "unmanaged"),
        ("no record, adopted", None, adopt(), "b"),
        ("a record", Some(|record| record.role = Some("a".parse().unwrap())), search(), "a"),
        ("a record, adopted", Some(|record| record.role = Some("a".parse().unwrap())), adopt(), "a"),
        ("a record, and another role", Some(|record| record.role = Some("a".parse().unwrap())), named("b"), "b"),
        ("a record without a role", Some(|_| {}), search(), "unmanaged"),
        ("an external record", Some(|record| record.external = true), search(), "unmanaged"),
        ("an external record, adopted", Some(|record| record.external = true), adopt(), "b"),
    ];
    for (case, edit, setting, expected) in rows {
        let mut survey = survey(associations(&[]), &["b"], &["a", "b"]);
        let base: ClusterName = "base".parse().unwrap();
        let answer = edit.map_or(Fact::Absent, |edit| {
            let mut record = ClusterRecord::new(&scope(), &HubOptions::default(), base.clone(), Moment(1));
            edit(&mut record);
            Fact::Present(Resource::Record(Record::new(&scope(), record)))
        });
        survey.observed.insert(survey.record_id(&base), answer);
        let found = match decide(&survey, &base, &setting) {
            FoundRole::One(role, _) => role.to_string(),
            FoundRole::Unmanaged => "unmanaged".to_owned(),
            FoundRole::NotOne(_) | FoundRole::Missing(_) | FoundRole::Open => "?".to_owned(),
        };
        assert_eq!(found, expected, "{case}");
        let asks = survey.take_open();
        assert!(asks.associations.is_empty() && !asks.listed_roles, "{case}: nothing else is read");
    }
}
