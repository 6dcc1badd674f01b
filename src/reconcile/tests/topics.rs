//! Topics that cannot work are refused, and unknown facts about them are reported.

use serde_json::{Value, json};

use super::*;
use crate::model::{FaultKind, FindingCode, QueueActivity, Signal, TopicAttributes, TopicKey};

fn topic(statements: &Value, key: Option<&str>) -> Fact<TopicAttributes> {
    Fact::Present(TopicAttributes {
        policy: Some(Document::new(json!({ "Statement": statements }))),
        key: key.map(str::to_owned),
    })
}

fn lets(service: &str) -> Value {
    json!([{"Effect": "Allow", "Principal": {"Service": service}, "Action": "*"}])
}

fn fault(kind: FaultKind) -> Fact<TopicAttributes> {
    Fact::Unreadable(Fault::new(kind, "sns:GetTopicAttributes", "no"))
}

/// A case, SNS's answer about the topic, and the messages for `--notify` and for `--alarms`.
type Row = (&'static str, Fact<TopicAttributes>, &'static str, &'static str);

#[test]
fn a_topic_is_refused_or_warned_about_by_what_sns_says_of_it() {
    let denied = FaultKind::Denied { principal: None, resource: None };
    let cloudwatch = lets("cloudwatch.amazonaws.com");
    let with = |key: &str| topic(&cloudwatch, Some(key));
    let of_others = topic(&lets("events.amazonaws.com"), None);
    let other_key = KEY.replace("/1", "/2");
    let (missing, unknown) = ("refused: topic `t` does not exist", "unknown whether topic `t`");
    let of_aws = "refused: topic `t` is encrypted with the AWS managed key";
    let (encrypted, by_alias) =
        ("refused: topic `t` is encrypted with key", "refused: topic `t` is encrypted with key `alias/x`");
    let (may_router, may_alarms) = ("unknown whether the router may use key `4`", "unknown whether key `4`");
    let by_key = "refused: topic `t` cannot be notified by alarms: the policy of its key";
    let rows: [Row; 11] = [
        ("one without a key", topic(&cloudwatch, None), "", ""),
        ("a missing one", Fact::Absent, missing, missing),
        ("a denied one", fault(denied), unknown, unknown),
        ("one that is out of reach", fault(FaultKind::Unreachable), unknown, unknown),
        ("the key of AWS", with("alias/aws/sns"), "", of_aws),
        ("the key of AWS by its id", with("3"), "", of_aws),
        ("a customer key that lets alarms in", with("1"), "refused: topic `t` is encrypted with key `1`", ""),
        ("another one", with(&other_key), encrypted, by_key),
        ("an alias", with("alias/x"), by_alias, ""),
        ("a key of which KMS tells nothing", with("4"), may_router, may_alarms),
        ("a policy of others", of_others, "", "refused: topic `t` cannot be notified by alarms: its policy"),
    ];
    for (name, answer, notify, alarms) in rows {
        for (option, expected) in [("notify", notify), ("alarms", alarms)] {
            let mut survey = survey_of(serde_json::from_value(json!({ option: "t" })).unwrap());
            let known = &mut survey.known;
            known.topics.insert("t".parse().unwrap(), answer.clone());
            known.topic_keys.insert("4".to_owned(), Fact::Unreadable(Fault::denied("kms:DescribeKey")));
            for (name, number) in [("1", "/1"), ("alias/x", "/1"), (&other_key, "/2"), ("3", "/3")] {
                let found = TopicKey { key: KEY.replace("/1", number).parse().unwrap(), of_aws: name == "3" };
                known.topic_keys.insert(name.to_owned(), Fact::Present(found));
            }
            for (key, policy) in [("/1", &cloudwatch), ("/2", &lets("x"))] {
                let policy = Document::new(json!({ "Statement": policy }));
                known.key_policies.insert(KEY.replace("/1", key).parse().unwrap(), Fact::Present(policy));
            }
            let intent = planned(&survey, &bootstrap());
            let refusals = intent.refusals.iter().map(|refusal| format!("refused: {}", refusal.sentence));
            let said: Vec<String> = refusals.chain(intent.warnings.into_iter().map(|hint| hint.text)).collect();
            assert_eq!(said.len(), usize::from(!expected.is_empty()), "{name} of --{option}: {said:?}");
            assert!(said.iter().all(|said| said.starts_with(expected)), "{name} of --{option}: {said:?}");
        }
    }
}

/// A statement that allows a service all actions for these resources.
fn lets_for(service: &str, arns: &[String]) -> Document {
    let condition = json!({"ArnEquals": {"aws:SourceArn": arns}});
    let statement =
        json!({"Effect": "Allow", "Principal": {"Service": service}, "Action": "*", "Condition": condition});
    Document::new(json!({ "Statement": [statement] }))
}

#[test]
fn a_key_policy_must_have_the_rules_of_the_hub_and_no_others() {
    let options = with_key(KEY);
    let signals = Signal::ALL.into_iter().filter(|signal| options.has_rule(*signal));
    let rules: Vec<String> = signals.map(|signal| scope().rule_arn(&scope().rule(signal))).collect();
    for (rules, is_found) in [(&rules[..], false), (&rules[1..], true)] {
        let mut survey = survey_of(options.clone());
        let policy = Fact::Present(lets_for("events.amazonaws.com", rules));
        survey.known.key_policies.insert(KEY.parse().unwrap(), policy);
        let findings = checked(&survey).findings;
        let found = findings.iter().any(|finding| finding.code == Some(FindingCode::KeyBlocksEventBridge));
        assert_eq!(found, is_found, "{rules:?}");
    }
}

#[test]
fn a_topic_policy_must_have_the_alarms_of_the_hub_and_of_clusters() {
    let to_topic: HubOptions = serde_json::from_value(json!({"alarms": "t"})).unwrap();
    let alarms = crate::model::watch::alarms(&scope(), &to_topic).into_iter();
    let hub: Vec<String> = alarms.map(|alarm| scope().alarm_arn(&alarm.as_alarm().unwrap().name)).collect();
    let all = [hub.clone(), vec![scope().alarm_arn(&"kibus-reader-base".parse().unwrap())]].concat();
    for (reader_alarms, named, refusals) in [(true, &hub, 1), (true, &all, 0), (false, &hub, 0)] {
        let options = HubOptions { reader_alarms: Some(reader_alarms), ..to_topic.clone() };
        let mut survey = survey_of(options);
        let policy = Some(lets_for("cloudwatch.amazonaws.com", named));
        survey.known.topics.insert("t".parse().unwrap(), Fact::Present(TopicAttributes { policy, key: None }));
        let found = planned(&survey, &bootstrap()).refusals;
        assert_eq!(found.len(), refusals, "{reader_alarms} {}: {found:?}", named.len());
    }
}

#[test]
fn a_cluster_has_an_alarm_while_the_hub_wants_those() {
    let wants = |wants| HubOptions { reader_alarms: Some(wants), ..options(Some("512")) };
    let id = ResourceId::Alarm("kibus-reader-base".parse().unwrap());
    for (name, had, target, expected) in [
        ("asked for", false, bootstrap_to(wants(true)), "create"),
        ("wanted", true, bootstrap(), ""),
        ("not wanted any more", true, bootstrap_to(wants(false)), "delete"),
        ("never wanted", false, bootstrap(), ""),
        ("with a cluster", true, remove(), "delete"),
        ("with the hub", true, Target::teardown(), "delete"),
    ] {
        let mut survey = survey_of(wants(had));
        if !had {
            lose(&mut survey, [id.clone()]);
        }
        let intent = planned(&survey, &target);
        let changes = &intent.plan.changes;
        let change = changes.iter().position(|change| change.id == id);
        let action = change.map_or("", |at| changes[at].action.words()[0]);
        assert_eq!(action, expected, "{name}: {changes:?}");
        let record = changes.iter().position(|change| change.id.kind() == "record");
        assert!(record.is_none() || change < record, "{name}: before its record");
        let costs = intent.warnings.iter().any(|hint| hint.text.contains("$0.20"));
        assert_eq!(costs, expected == "create", "{name}");
        assert!(!survey.take_open().resources.contains(&id), "{name}: only what settings ask for is read");
    }
    // An alarm on a metric expression has no period of its own, and a short description.
    let alarm = crate::model::watch::reader_alarm(&scope(), &wants(true), &base(), &"q".parse().unwrap()).unwrap();
    let definition = alarm.definition.value();
    assert_eq!(definition.get("Period"), None);
    assert_eq!(definition["TreatMissingData"], "breaching");
    assert_eq!(definition["WarmUpConfiguration"]["WarmUpPeriodDurationInMinutes"], 60);
    assert_eq!(definition["Metrics"][2]["Expression"], "FILL(empty, 0) + FILL(full, 0)");
    assert_eq!(Resource::Alarm(alarm).particulars().summary(), "receives below 1, 3 of 3 times in 15m");
}

#[test]
fn whether_a_queue_is_read_is_shown_by_its_metrics_or_unknown() {
    const FINDING: &str = "nothing has read it for an hour";
    const UNKNOWN: &str = "unknown whether Karpenter in `base` can read its queue";
    const DENIED: &str = "unknown whether the queues of clusters are read: AWS denied cloudwatch:GetMetricData";
    let seen = |receives_of_last_hour, deleted| {
        Fact::Present(QueueActivity { receives_of_last_hour, deleted, ..QueueActivity::default() })
    };
    let denied = Fact::Unreadable(Fault::denied("cloudwatch:GetMetricData"));
    for (answer, is_external, minutes, expected) in [
        (seen(Some(0), 5), false, 60, FINDING),
        (seen(Some(0), 5), true, 60, FINDING),
        (seen(Some(0), 5), false, 59, ""),
        (seen(Some(180), 0), false, 60, ""),
        // For an external cluster, only a delete shows that its owner granted the permission.
        (seen(Some(180), 0), true, 60, UNKNOWN),
        (seen(Some(180), 1), true, 60, ""),
        (seen(None, 5), false, 60, UNKNOWN),
        (Fact::Absent, false, 60, UNKNOWN),
        (Fact::Absent, false, 59, ""),
        (denied, false, 60, DENIED),
    ] {
        let mut survey = if is_external { external::external_cluster() } else { survey() };
        survey.now = SINCE + minutes * 60;
        survey.known.activity.insert(QUEUE.parse().unwrap(), answer.clone());
        let said = |check| {
            let intent = planned(&survey, &Target { check, ..verify() });
            let found = intent.findings.into_iter().map(|finding| finding.sentence);
            let said = found.chain(intent.warnings.into_iter().map(|hint| hint.text));
            said.filter(|said| said.contains("read")).collect::<Vec<_>>()
        };
        let found = said(Check::Test);
        let is_expected = found.iter().all(|said| said.starts_with(expected));
        assert!(is_expected && found.is_empty() == expected.is_empty(), "{answer:?} {minutes}: {found:?}");
        assert_eq!(said(Check::Probe), Vec::<String>::new(), "a probe tells more");
    }
}
