//! Clusters whose queues let the controllers in.

use serde_json::{Value, json};

use super::*;
use crate::model::{Association, Fault, FaultKind, FindingCode, Grant, RoleName};

const KEY: &str = "arn:aws:kms:us-west-2:111122223333:key/1";

fn arn() -> String {
    scope().roles_arn(&format!("team/{ROLE}"))
}

/// A hub with cluster `base`, whose queue lets this principal in.
fn granted(principal: &str, options: HubOptions) -> Survey {
    let mut survey = survey_of(options, &[]);
    let name: ClusterName = "base".parse().unwrap();
    let queue = survey.cluster_queue(&name);
    let id = ResourceId::Queue(queue.clone());
    let mut found = survey.observed.queue(queue.clone()).unwrap().clone();
    found.policy = found.policy.map(|of| policy::with_controller(of, &scope(), &queue, principal));
    survey.observed.insert(id, Fact::Present(Resource::Queue(found)));
    survey.observed.remove(&Cluster::policy_id(&scope(), &name, &ROLE.parse().unwrap()));
    exists(&mut survey, true);
    survey
}

fn exists(survey: &mut Survey, exists: bool) {
    let role: RoleName = ROLE.parse().unwrap();
    let roles = exists.then(|| (role, ListedRole { arn: arn(), ..ListedRole::default() }));
    survey.known.listed_roles = Fact::Present(roles.into_iter().collect());
}

fn with_key() -> HubOptions {
    HubOptions { kms_key: Some(KEY.parse().unwrap()), ..options(Some("512")) }
}

#[test]
fn nothing_of_iam_is_planned_or_asked_and_the_grant_stays() {
    let router = || OfferedRouter::Packaged(code());
    for target in [add_with(RoleOption::Search), add(), verify(router()), remove()] {
        let survey = granted(&arn(), options(Some("512")));
        let intent = reconcile(&survey, &target).unwrap();
        let of_roles = |change: &Change| matches!(change.id, ResourceId::RolePolicy(..));
        assert!(!intent.plan.changes.iter().any(of_roles), "{target:?}");
        assert!(queues(&intent).iter().all(|change| change == "delete karpenter-base"), "{target:?}");
        let asked = survey.take_open();
        assert!(asked.roles.is_empty(), "{target:?}: {asked:?}");
    }
}

#[test]
fn a_deleted_role_is_found_with_what_fixes_it() {
    for (name, principal, exists_now, fix) in [
        ("as it was", arn(), true, None),
        ("made again", "AROAEXAMPLE".to_owned(), true, Some("kibus add-cluster base")),
        ("gone", "AROAEXAMPLE".to_owned(), false, Some("kibus add-cluster base --controller-role ROLE")),
        ("gone just now", arn(), false, Some("kibus add-cluster base --controller-role ROLE")),
    ] {
        let mut survey = granted(&principal, options(Some("512")));
        exists(&mut survey, exists_now);
        let intent = reconcile(&survey, &verify(OfferedRouter::Packaged(code()))).unwrap();
        let found = intent.findings.iter().filter(|one| one.code == Some(FindingCode::GrantNamesDeletedRole));
        let found: Vec<_> = found.map(|one| one.fix.steps()[0].command.clone().unwrap()).collect();
        assert_eq!(found, Vec::from_iter(fix), "{name}: {:?}", intent.findings);
        let on_queue = intent.findings.iter().filter(|one| one.cluster.is_some()).count();
        assert_eq!(on_queue, found.len(), "{name}: {:?}", intent.findings);
    }
}

#[test]
fn a_key_must_let_the_controllers_decrypt() {
    let rules = json!({"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "kms:*"});
    let statement = policy::controller_key_statement(&scope(), &[arn()].into()).value().clone();
    let policy = |statements: &[&Value]| Fact::Present(Document::new(json!({ "Statement": statements })));
    let unread = Fact::Unreadable(Fault {
        kind: FaultKind::Unreachable,
        action: "kms:GetKeyPolicy".to_owned(),
        code: None,
        message: "no".to_owned(),
    });
    for (name, answer, refused, warned) in [
        ("the statement", policy(&[&rules, &statement]), false, false),
        ("only the rules", policy(&[&rules]), true, false),
        ("no key", Fact::Absent, true, false),
        ("unread", unread, false, true),
    ] {
        for target in [add(), bootstrap(HubOptions::default()), verify(OfferedRouter::Packaged(code()))] {
            let mut survey = granted(&arn(), with_key());
            survey.known.key_policies.insert(KEY.parse().unwrap(), answer.clone());
            let intent = reconcile(&survey, &target).unwrap();
            let is = |one: &&Message| one.code == Some(FindingCode::KeyBlocksController);
            let found = intent.refusals.iter().chain(&intent.findings).filter(is).count();
            assert_eq!(found, usize::from(refused), "{name}: {target:?}");
            let warning = intent.warnings.iter().any(|hint| hint.text.contains(&format!("lets `{ROLE}` decrypt")));
            assert_eq!(warning, warned, "{name}: {:?}", intent.warnings);
        }
    }
}

#[test]
fn a_session_policy_is_said_when_its_association_is_read() {
    for (has_session_policy, grant, said) in
        [(true, Grant::QueuePolicy, true), (false, Grant::QueuePolicy, false), (true, Grant::RolePolicy, false)]
    {
        let mut survey = granted(&arn(), options(Some("512")));
        let base: ClusterName = "base".parse().unwrap();
        let association = Association { namespace: "kube-system".to_owned(), role_arn: arn(), has_session_policy };
        let associations = Fact::Present([association].into());
        survey.known.associations.insert(base.clone(), associations);
        let setting = ClusterSetting { grant: Some(grant), ..ClusterSetting::default() };
        let intent = reconcile(&survey, &Target::add([base], &setting)).unwrap();
        let found = intent.warnings.iter().any(|hint| hint.text.contains("session policy"));
        assert_eq!(found, said, "{has_session_policy} {grant}: {:?}", intent.warnings);
    }
}

/// A new cluster takes the option of the hub, and a registered one keeps what it has.
#[test]
fn the_option_of_the_hub_is_for_new_clusters() {
    for (saved, name, by_queue) in
        [(Grant::QueuePolicy, "new", true), (Grant::RolePolicy, "new", false), (Grant::QueuePolicy, "base", false)]
    {
        let hub = HubOptions { grant: Some(saved), ..options(Some("512")) };
        let mut survey = survey_of(hub, &[]);
        exists(&mut survey, true);
        let name: ClusterName = name.parse().unwrap();
        let role: RoleName = ROLE.parse().unwrap();
        let queue = ResourceId::Queue(survey.cluster_queue(&name));
        if name.as_str() == "new" {
            survey.observed.insert(queue.clone(), Fact::Absent);
            let policy = Cluster::policy_id(&scope(), &name, &role);
            survey.observed.insert(policy, Fact::Absent);
        }
        let setting = ClusterSetting {
            role: RoleOption::Named(ROLE.parse().unwrap()),
            no_eks_check: Some(true),
            ..ClusterSetting::default()
        };
        let intent = reconcile(&survey, &Target::add([name.clone()], &setting)).unwrap();
        let changes = intent.plan.changes.iter().filter_map(|change| change.after.as_ref());
        let grants = changes.filter_map(Resource::as_queue).filter_map(Queue::controller);
        assert_eq!(grants.count() == 1, by_queue, "{saved} {name}");
        let policies = intent.plan.changes.iter().filter(|change| matches!(change.id, ResourceId::RolePolicy(..)));
        assert_eq!(policies.count() == 1, !by_queue && name.as_str() == "new", "{saved} {name}");
    }
}
