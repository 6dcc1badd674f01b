//! What the parameter of a hub decides, and what becomes of a hub without usable settings.

use super::*;
use crate::message::{MessageKind, Subject};
use crate::model::{Encryption, Fault, FaultKind, FindingCode, KmsKey, Parameter};
use crate::reconcile::hub::old_after;

const OTHER: &str = "arn:aws:kms:us-west-2:111122223333:key/2";

fn parameter() -> ResourceId {
    ResourceId::Parameter(scope().settings_parameter())
}

/// A survey in which the parameter holds this.
fn holding(text: &str) -> Survey {
    let mut survey = survey();
    let held = Resource::Parameter(Parameter {
        name: scope().settings_parameter(),
        settings: Settings::from_document(text),
        version: 3,
        tags_of_new: Default::default(),
    });
    see(&mut survey, held);
    survey
}

/// A survey in which the parameter has this answer.
fn answering(reading: Fact<Resource>) -> Survey {
    let mut survey = survey();
    survey.observed.insert(parameter(), reading);
    survey
}

/// A survey in which nothing exists.
fn empty() -> Survey {
    let mut survey = survey();
    let ids: Vec<ResourceId> = survey.observed.iter().map(|(id, _)| id.clone()).collect();
    for id in ids {
        survey.observed.insert(id, Fact::Absent);
    }
    survey.known.roles.clear();
    survey.known.records = Fact::Present(BTreeSet::new());
    survey
}

fn restoring(options: HubOptions) -> Target {
    let given = Bootstrap { restore_settings: true, ..setting(options) };
    bootstrap_with(given, OfferedRouter::Packaged(code()))
}

#[test]
fn every_command_decides_by_the_settings_or_refuses() {
    let denied = || {
        Fact::Unreadable(Fault::new(FaultKind::Denied { principal: None, resource: None }, "ssm:GetParameter", "no"))
    };
    let outcome = |survey: &Survey, target: &Target| match reconcile(survey, target) {
        Ok(intent) if intent.refusals.is_empty() => "plans",
        Ok(_) => "refuses the plan",
        Err(blocked) if blocked.is_no_hub() => "no hub",
        Err(blocked) => {
            let message = only(blocked);
            assert_eq!(message.about, Subject::Resource(parameter()));
            match (message.kind, message.code) {
                (MessageKind::Refused, Some(FindingCode::SettingsMissing)) => "lost",
                (MessageKind::Refused, None) => "bad",
                (MessageKind::Blocked, None) => "unreadable",
                _ => panic!("{message:?}"),
            }
        }
    };
    let targets = [
        ("bootstrap-hub", bootstrap(HubOptions::default())),
        ("bootstrap-hub --restore-settings", restoring(HubOptions::default())),
        ("add-cluster", add()),
        ("remove-cluster", remove()),
        ("teardown", Target::teardown()),
        ("verify", verify(OfferedRouter::Packaged(code()))),
    ];
    let future = r#"{"format":2,"options":{}}"#;
    for (state, survey, expected) in [
        ("settings", survey(), ["plans"; 6]),
        ("nothing", empty(), ["plans", "plans", "no hub", "no hub", "plans", "no hub"]),
        ("lost settings", answering(Fact::Absent), ["lost", "plans", "lost", "lost", "plans", "plans"]),
        ("damaged settings", holding("hello"), ["bad", "plans", "bad", "bad", "bad", "bad"]),
        ("settings of the future", holding(future), ["bad"; 6]),
        ("settings that are denied", answering(denied()), ["unreadable"; 6]),
    ] {
        for ((command, target), expected) in targets.iter().zip(expected) {
            assert_eq!(outcome(&survey, target), expected, "{command} with {state}");
        }
    }
}

/// The only message of a block.
fn only(blocked: Blocked) -> Message {
    let [message] = <[Message; 1]>::try_from(blocked.0).unwrap();
    message
}

/// The command that restores lost settings.
fn restores(blocked: Blocked) -> String {
    let message = only(blocked);
    assert_eq!(message.code, Some(FindingCode::SettingsMissing), "{message:?}");
    message.fix.steps()[0].command.clone().unwrap()
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
    survey.observed.insert(parameter(), Fact::Absent);
    let command = restores(reconcile(&survey, &bootstrap(HubOptions::default())).unwrap_err());
    let typed = ["kibus bootstrap-hub --restore-settings".to_owned()].into_iter().chain(options.typed());
    assert_eq!(command, typed.collect::<Vec<_>>().join(" "));
    let intent = reconcile(&survey, &restoring(options)).unwrap();
    let changed: Vec<_> = intent.plan.changes.iter().map(|change| change.id.kind()).collect();
    assert_eq!(changed, ["parameter"], "nothing else differs");
}

#[test]
fn the_command_names_only_what_differs_from_the_defaults() {
    let mut survey = survey_of(HubOptions::default());
    survey.observed.insert(parameter(), Fact::Absent);
    let blocked = reconcile(&survey, &bootstrap(HubOptions::default())).unwrap_err();
    assert_eq!(restores(blocked), "kibus bootstrap-hub --restore-settings");
    let intent = reconcile(&survey, &verify(OfferedRouter::Packaged(code()))).unwrap();
    let findings: Vec<_> = intent.findings.iter().map(|one| (one.code.unwrap().as_str(), one.name())).collect();
    assert_eq!(findings, [("K113", "/kibus/kibus".to_owned())]);
}

#[test]
fn the_queue_of_a_cluster_and_its_record_are_no_hub() {
    let (whole, mut survey) = (survey(), empty());
    for id in [id_of_queue(QUEUE), whole.record_id(&base())] {
        survey.observed.insert(id.clone(), whole.observed.get(&id).clone());
    }
    assert!(!survey.has_lost_settings());
}

/// A hub is as old as its oldest queue, or no queue of it would be its own.
#[test]
fn restored_settings_say_since_when_the_hub_exists() {
    for (name, survey, since) in [
        ("a new hub", empty(), NOW),
        ("a restored one", answering(Fact::Absent), SINCE),
        ("an old one", survey(), SINCE),
    ] {
        let target = restoring(options(Some("1024")));
        let intent = reconcile(&survey, &target).unwrap();
        let written = intent.plan.changes.iter().find(|change| change.id == parameter()).unwrap();
        let settings = written.resource().as_parameter().unwrap().settings().unwrap();
        assert_eq!((settings.since, intent.refusals), (Moment(since), Vec::new()), "{name}");
    }
}

/// A prepared queue is refused, whatever tags it has.
#[test]
fn a_queue_that_is_older_than_the_hub_is_not_of_the_hub() {
    for (older, refused) in [(5, false), (6, true)] {
        let mut survey = survey();
        edit_queue(&mut survey, "kibus-hub", |queue| (queue.created, queue.retention) = (SINCE - older, 60));
        let refusals = reconcile(&survey, &bootstrap(HubOptions::default())).unwrap().refusals;
        assert_eq!(refusals.iter().any(|one| one.code == Some(FindingCode::NotManaged)), refused, "{older} s");
    }
}

#[test]
fn a_member_of_a_newer_kibus_stays_and_is_named() {
    let mut survey = survey();
    let text = survey.settings().unwrap().document().replacen('{', r#"{"later":1,"#, 1);
    let text = text.replace(r#""options":{"#, r#""options":{"more":2,"#);
    survey.observed.insert(parameter(), holding(&text).observed.get(&parameter()).clone());
    edit_record(&mut survey, |record| drop(record.unknown.insert("new".to_owned(), true.into())));
    let intent = reconcile(&survey, &bootstrap(options(Some("1024")))).unwrap();
    for member in ["later", "more", "new"] {
        assert!(warned(&intent).contains(&format!("a member `{member}`")), "{}", warned(&intent));
    }
    let written = intent.plan.changes.iter().find(|change| change.id == parameter()).unwrap();
    let settings = written.resource().as_parameter().unwrap().settings().unwrap();
    assert_eq!(settings.unknown().collect::<Vec<_>>(), ["later", "more"]);
}

#[test]
fn settings_that_are_too_long_name_the_longest_tags() {
    let tags = (0..20).map(|number| format!("key{number}={}", "v".repeat(200 + number)).parse().unwrap());
    let options = HubOptions { tag: Some(tags.collect()), ..HubOptions::default() };
    let intent = reconcile(&survey(), &bootstrap(options)).unwrap();
    let refusals: Vec<_> = intent.refusals.iter().map(|refusal| refusal.sentence.clone()).collect();
    let [refusal] = refusals.as_slice() else { panic!("{refusals:?}") };
    assert!(refusal.contains("4096") && refusal.contains("tag `key19` takes 224"), "{refusal}");
}

/// S25: a message stays under the key that it was sent with.
#[test]
fn an_old_key_stays_until_no_message_can_be_under_it() {
    const NEEDED: u64 = 14 * 86_400 + 60;
    const KEPT: u64 = 15 * 86_400;
    let key = |text: &str| text.parse::<KmsKey>().unwrap();
    let settings = |current: Option<&str>, old: &[(&str, u64)]| Settings {
        options: HubOptions { kms_key: current.map(|text| text.parse().unwrap()), ..HubOptions::default() },
        old_keys: old.iter().map(|(text, until)| (key(text), Moment(*until))).collect(),
        ..Settings::default()
    };
    for (name, before, wanted, queues, expected) in [
        ("no key", settings(None, &[]), None, None, vec![]),
        ("the same key", settings(Some(KEY), &[]), Some(KEY), Some(KEY), vec![]),
        ("another key", settings(Some(KEY), &[]), Some(OTHER), Some(KEY), vec![(KEY, NOW + KEPT)]),
        ("no key any more", settings(Some(KEY), &[]), None, Some(KEY), vec![(KEY, NOW + KEPT)]),
        ("later", settings(Some(OTHER), &[(KEY, NOW + 1)]), Some(OTHER), Some(OTHER), vec![(KEY, NOW + 1)]),
        ("over", settings(Some(OTHER), &[(KEY, NOW)]), Some(OTHER), Some(OTHER), vec![]),
        (
            "over, but a queue still has it",
            settings(Some(OTHER), &[(KEY, NOW - 86_400)]),
            Some(OTHER),
            Some(KEY),
            vec![(KEY, NOW + KEPT)],
        ),
        (
            "a queue still has it, and the time is long enough",
            settings(Some(OTHER), &[(KEY, NOW + NEEDED)]),
            Some(OTHER),
            Some(KEY),
            vec![(KEY, NOW + NEEDED)],
        ),
        (
            "a queue still has it, and the time is too short",
            settings(Some(OTHER), &[(KEY, NOW + NEEDED - 1)]),
            Some(OTHER),
            Some(KEY),
            vec![(KEY, NOW + KEPT)],
        ),
        ("back to it", settings(Some(OTHER), &[(KEY, NOW + 1)]), Some(KEY), Some(OTHER), vec![(OTHER, NOW + KEPT)]),
        // Whoever may change a queue opens nothing with it.
        ("a key that only a queue has", settings(None, &[]), None, Some(OTHER), vec![]),
    ] {
        let mut survey = survey_of(HubOptions::default());
        if let Some(live) = queues {
            edit_queue(&mut survey, QUEUE, |queue| queue.encryption = Encryption::Kms(key(live)));
        }
        let wanted = wanted.map(key);
        let after = old_after(&survey, &before, wanted.as_ref());
        let expected = expected.into_iter().map(|(text, until)| (key(text), Moment(until))).collect();
        assert_eq!(after, expected, "{name}");
    }
}

/// A8: kibus undoes no decision of an account about its logs.
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
        let intent = reconcile(&survey, &bootstrap(HubOptions::default())).unwrap();
        assert!(intent.plan.is_empty() && intent.refusals.is_empty(), "{intent:?}");
        assert_eq!(warned(&intent), said);
        assert_eq!(found_in(&survey), Vec::<String>::new());
    }
    let refused = reconcile(&survey, &Target::teardown()).unwrap().refusals;
    let [refusal] = refused.as_slice() else { panic!("{refused:?}") };
    assert_eq!(refusal.sentence, "log group `/aws/lambda/kibus-router` is protected from being deleted");
}
