//! What the parameter of a hub decides, and the outcome for a hub without usable settings.

use super::*;
use crate::message::{MessageKind, Subject};
use crate::model::{Encryption, Fault, FaultKind, FindingCode, KmsKey, Parameter};
use crate::reconcile::hub::old_after;

fn parameter() -> ResourceId {
    ResourceId::Parameter(scope().settings_parameter())
}

fn answering(reading: Fact<Resource>) -> Survey {
    let mut survey = survey();
    survey.observed.insert(parameter(), reading);
    survey
}

fn holding(text: &str) -> Survey {
    let (name, settings) = (scope().settings_parameter(), Settings::from_document(text));
    let held = Parameter { name, settings, version: 3, tags_of_new: Default::default() };
    answering(Fact::Present(Resource::Parameter(held)))
}

/// A survey in which only this exists.
fn with_only(kept: &[ResourceId]) -> Survey {
    let mut survey = survey();
    lose_all_but(&mut survey, kept);
    survey.known.roles.clear();
    survey.known.records = Fact::Present(BTreeSet::new());
    survey
}

fn restoring(options: HubOptions) -> Target {
    bootstrap_with(Bootstrap { restore_settings: true, ..setting(options) }, packaged())
}

#[test]
fn every_command_decides_by_the_settings_or_refuses() {
    let fault = FaultKind::Denied { principal: None, resource: None };
    let denied = answering(Fact::Unreadable(Fault::new(fault, "ssm:GetParameter", "no")));
    let outcome = |survey: &Survey, target: &Target| match reconcile(survey, target) {
        Ok(intent) if intent.refusals.is_empty() => "plans",
        Ok(_) => "refuses the plan",
        Err(blocked) if blocked.is_no_hub() => "no hub",
        Err(blocked) => {
            let message = only(blocked.0);
            assert_eq!(message.about, Subject::Resource(parameter()));
            match (message.kind, message.code) {
                (MessageKind::Refused, Some(FindingCode::SettingsMissing)) => "lost",
                (MessageKind::Refused, None) => "bad",
                (MessageKind::Blocked, None) => "unreadable",
                _ => panic!("{message:?}"),
            }
        }
    };
    let restore = restoring(HubOptions::default());
    let targets = [bootstrap(), restore, add(), remove(), Target::teardown(), verify()];
    let future = holding(r#"{"format":2,"options":{}}"#);
    for (state, survey, expected) in [
        ("settings", survey(), ["plans"; 6]),
        ("nothing", with_only(&[]), ["plans", "plans", "no hub", "no hub", "plans", "no hub"]),
        ("lost settings", answering(Fact::Absent), ["lost", "plans", "lost", "lost", "plans", "plans"]),
        ("damaged settings", holding("hello"), ["bad", "plans", "bad", "bad", "bad", "bad"]),
        ("settings of the future", future, ["bad"; 6]),
        ("settings that are denied", denied, ["unreadable"; 6]),
    ] {
        assert_eq!(targets.each_ref().map(|target| outcome(&survey, target)), expected, "{state}");
    }
}

#[test]
fn lost_settings_are_a_finding_and_the_command_restores_what_the_hub_has() {
    let options = HubOptions {
        tag: Some(vec!["team=a b".parse().unwrap()]),
        kms_key: Some(KEY.parse().unwrap()),
        retention: Some("2h".parse().unwrap()),
        permissions_boundary: Some("arn:aws:iam::111122223333:policy/a".parse().unwrap()),
        role_path: Some("/x/".parse().unwrap()),
        queue_name: Some("x-{cluster}".parse().unwrap()),
        memory: Some("512".parse().unwrap()),
        arch: Some(crate::model::resource::Architecture::Arm64),
        reserved_concurrency: Some("5".parse().unwrap()),
        log_retention: Some("30".parse().unwrap()),
        rebalance: Some(true),
        alarms: Some("arn:aws:sns:us-west-2:111122223333:on-call".parse().unwrap()),
        heartbeat: Some(false),
        dashboard: Some(true),
        // Clusters have these.
        reader_alarms: None,
        tag_conditions: Some(false),
        cluster_metrics: Some("cluster".parse().unwrap()),
        notify: Some("team-a".parse().unwrap()),
        unknown: Default::default(),
    };
    let mut survey = survey_of(options.clone());
    lose(&mut survey, [parameter()]);
    let lost = only(reconcile(&survey, &bootstrap()).unwrap_err().0);
    assert_eq!(lost.code, Some(FindingCode::SettingsMissing));
    assert_eq!(commands(&lost), [format!("kibus bootstrap-hub --restore-settings {}", options.typed().join(" "))]);
    let changes = planned(&survey, &restoring(options)).plan.changes;
    assert!(changes.iter().map(|change| change.id.kind()).eq(["parameter"]), "something else differs: {changes:?}");
}

#[test]
fn the_queue_of_a_cluster_and_its_record_are_no_hub() {
    assert!(!with_only(&[id_of_queue(QUEUE), survey().record_id(&base())]).has_lost_settings());
}

fn written_settings(intent: &Intent) -> &Settings {
    let written = intent.plan.changes.iter().find(|change| change.id == parameter()).unwrap();
    written.resource().as_parameter().unwrap().settings().unwrap()
}

/// A hub is as old as its oldest queue; otherwise none of its queues would belong to it.
#[test]
fn restored_settings_say_since_when_the_hub_exists() {
    for (name, survey, since) in [
        ("a new hub", with_only(&[]), NOW),
        ("a restored one", answering(Fact::Absent), SINCE),
        ("an old one", survey(), SINCE),
    ] {
        let intent = planned(&survey, &restoring(options(Some("1024"))));
        assert_eq!((written_settings(&intent).since, &intent.refusals), (Moment(since), &vec![]), "{name}");
    }
}

#[test]
fn a_member_of_a_newer_kibus_stays_and_is_named() {
    let text = survey().settings().unwrap().document().replacen('{', r#"{"later":1,"#, 1);
    let mut survey = holding(&text.replace(r#""options":{"#, r#""options":{"more":2,"#));
    edit_record(&mut survey, |record| record.unknown.insert("new".to_owned(), true.into()));
    let intent = planned(&survey, &bootstrap_to(options(Some("1024"))));
    for member in ["later", "more", "new"] {
        assert_warned(&intent, &format!("a member `{member}`"));
    }
    assert_eq!(written_settings(&intent).unknown().collect::<Vec<_>>(), ["later", "more"]);
}

#[test]
fn settings_that_are_too_long_name_the_longest_tags() {
    let tags = (0..20).map(|number| format!("key{number}={}", "v".repeat(200 + number)).parse().unwrap());
    let options = HubOptions { tag: Some(tags.collect()), ..HubOptions::default() };
    let refusal = only(planned(&survey(), &bootstrap_to(options)).refusals).sentence;
    assert!(refusal.contains("4096") && refusal.contains("tag `key19` takes 224"), "{refusal}");
}

/// A name, the number of the previous key, the old keys with their end times, the desired key, the key of a queue, and
/// the old keys afterwards.
type OldKeys = (&'static str, Option<u8>, &'static [(u8, u64)], Option<u8>, Option<u8>, &'static [(u8, u64)]);

/// S25: a message stays encrypted with the key that it was sent with.
#[test]
fn an_old_key_stays_until_no_message_can_be_under_it() {
    const ENOUGH: u64 = NOW + 14 * 86_400 + 60;
    const KEPT: u64 = NOW + 15 * 86_400;
    let key = |number: u8| format!("arn:aws:kms:us-west-2:111122223333:key/{number}").parse::<KmsKey>().unwrap();
    let keys = |all: &[(u8, u64)]| all.iter().map(|(number, until)| (key(*number), Moment(*until))).collect();
    let rows: [OldKeys; 11] = [
        ("no key", None, &[], None, None, &[]),
        ("the same key", Some(1), &[], Some(1), Some(1), &[]),
        ("another key", Some(1), &[], Some(2), Some(1), &[(1, KEPT)]),
        ("no key any more", Some(1), &[], None, Some(1), &[(1, KEPT)]),
        ("later", Some(2), &[(1, NOW + 1)], Some(2), Some(2), &[(1, NOW + 1)]),
        ("over", Some(2), &[(1, NOW)], Some(2), Some(2), &[]),
        ("over, but a queue still has it", Some(2), &[(1, NOW - 86_400)], Some(2), Some(1), &[(1, KEPT)]),
        ("a queue still has it, and the time is enough", Some(2), &[(1, ENOUGH)], Some(2), Some(1), &[(1, ENOUGH)]),
        ("a queue still has it, and it is not", Some(2), &[(1, ENOUGH - 1)], Some(2), Some(1), &[(1, KEPT)]),
        ("back to it", Some(2), &[(1, NOW + 1)], Some(1), Some(2), &[(2, KEPT)]),
        // Someone who can change a queue cannot open anything this way.
        ("a key that only a queue has", None, &[], None, Some(2), &[]),
    ];
    for (name, current, old_keys, wanted, live, expected) in rows {
        let kms_key = current.map(|number| key(number).as_str().parse().unwrap());
        let options = HubOptions { kms_key, ..HubOptions::default() };
        let before = Settings { options, old_keys: keys(old_keys), ..Settings::default() };
        let mut survey = survey_of(HubOptions::default());
        if let Some(live) = live {
            edit_queue(&mut survey, QUEUE, |queue| queue.encryption = Encryption::Kms(key(live)));
        }
        assert_eq!(old_after(&survey, &before, wanted.map(key).as_ref()), keys(expected), "{name}");
    }
}

/// A8: kibus does not undo an account's decision about its logs.
#[test]
fn an_account_decides_about_its_logs() {
    let mut survey = survey();
    let mut group = survey.observed.log_group(scope().router_log_group()).unwrap().clone();
    for (days, said) in [
        (Some(365), "the router's log is kept for 365 days, not for 14: retention policy `org` of the account decides"),
        (None, "the router's log is kept without limit, not for 14: retention policy `org` of the account decides"),
        (Some(14), ""),
    ] {
        (group.retention_days, group.account_policy, group.protected) = (days, Some("org".to_owned()), true);
        see(&mut survey, Resource::LogGroup(group.clone()));
        let intent = planned(&survey, &bootstrap());
        assert!(intent.plan.is_empty() && intent.refusals.is_empty(), "{intent:?}");
        assert_eq!((warned(&intent).as_str(), found_in(&survey)), (said, vec![]));
    }
    let refusals = planned(&survey, &Target::teardown()).refusals;
    assert_eq!(sentences(&refusals), ["log group `/aws/lambda/kibus-router` is protected from deletion"]);
}
