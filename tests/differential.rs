//! Generated policies and event patterns, judged by kibus and by two others: the evaluator of the tests, which shares no code with
//! kibus, and the emulator. A case that failed once becomes a row of the tables of `iam::grants` or `model::event_rule`.

use aws_sdk_sqs::Client as Sqs;
use aws_sdk_sqs::types::QueueAttributeName;
use kibus::iam::grants::{LetsIn, Need, lets_anyone_send, lets_in};
use kibus::model::event_rule::RulePattern;
use kibus::model::{Document, Signal, sample_event};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use crate::aws_like::Server;
use crate::permissions::{account::Account as Enforced, scope};
use crate::support::account::Account;
use crate::support::emulator::ACCOUNT;
use crate::support::policy_simulator::Caller;

const OTHER: &str = "999999999999";
const RULES: [&str; 2] =
    ["arn:aws:events:us-west-2:111122223333:rule/kibus-a", "arn:aws:events:us-west-2:111122223333:rule/kibus-b"];
const USER: &str = "arn:aws:iam::111122223333:user/stranger";

/// A condition: an operator, a key and its value.
type Condition = (&'static str, &'static str, Value);

/// Policies of up to four statements, made of these parts. `not_principal` says whether some statements use `NotPrincipal`.
fn any_policy(
    principals: Value,
    not_principal: bool,
    actions: &'static [&'static str],
    conditions: Vec<Condition>,
) -> impl Strategy<Value = Value> {
    let Value::Array(principals) = principals else { panic!("a list") };
    let statement = (
        prop::sample::select(vec!["Allow", "Allow", "Deny"]),
        prop::sample::select(principals),
        prop::bool::weighted(if not_principal { 0.15 } else { 0.0 }),
        prop::sample::subsequence(actions, 1..=2),
        prop::sample::subsequence(conditions, 0..=2),
    );
    let statement = statement.prop_map(|(effect, principal, is_not, action, conditions)| {
        let who = if is_not { "NotPrincipal" } else { "Principal" };
        let mut statement = json!({"Effect": effect, who: principal, "Action": action, "Resource": "*"});
        for (operator, key, value) in conditions {
            statement["Condition"][operator][key] = value;
        }
        statement
    });
    let statements = prop::collection::vec(statement, 1..=4);
    statements.prop_map(|statements| json!({"Version": "2012-10-17", "Statement": statements}))
}

/// The policies of keys and topics.
fn any_key_policy() -> impl Strategy<Value = Value> {
    let principals = json!([
        "*", {"AWS": "*"}, {"AWS": OTHER}, {"AWS": "arn:aws:iam::111122223333:root"}, {"Service": "sqs.amazonaws.com"},
        {"Service": "events.amazonaws.com"}, {"Service": ["cloudwatch.amazonaws.com", "events.amazonaws.com"]},
    ]);
    let actions = &[
        "kms:*",
        "kms:Decrypt",
        "KMS:decrypt",
        "kms:GenerateDataKey*",
        "kms:?ecrypt",
        "kms:Encrypt",
        "SNS:Publish",
        "*",
    ];
    let conditions = vec![
        ("StringEquals", "aws:SourceAccount", json!(ACCOUNT)),
        ("StringEquals", "AWS:sourceaccount", json!([OTHER, ACCOUNT])),
        ("StringEquals", "aws:SourceAccount", json!(OTHER)),
        ("StringNotEquals", "aws:SourceAccount", json!(OTHER)),
        ("StringNotEquals", "aws:SourceAccount", json!([OTHER, ACCOUNT])),
        ("ArnLike", "aws:SourceArn", json!("arn:aws:events:*:111122223333:rule/*")),
        ("ArnEquals", "aws:SourceArn", json!(RULES[0])),
        ("ArnNotEquals", "aws:SourceArn", json!(RULES[1])),
        (
            "ArnNotLike",
            "aws:SourceArn",
            json!(["arn:aws:sns:us-west-2:*:?", "arn:aws:events:us-west-2:*:rule/kibus-?"]),
        ),
        ("StringLike", "aws:SourceArn", json!("*-b")),
        ("StringNotLike", "aws:SourceArn", json!("*:rule/kibus-*")),
        ("StringEquals", "kms:ViaService", json!("sqs.us-west-2.amazonaws.com")),
        ("StringNotEquals", "kms:ViaService", json!("sqs.us-west-2.amazonaws.com")),
        ("StringEquals", "aws:SourceOwner", json!(ACCOUNT)),
        ("Bool", "aws:SecureTransport", json!("false")),
        ("StringEquals", "aws:PrincipalOrgID", json!("o-1")),
        ("StringEqualsIfExists", "aws:SourceAccount", json!(ACCOUNT)),
        ("Null", "aws:SourceArn", json!("true")),
    ];
    any_policy(principals, true, actions, conditions)
}

/// The parts of a request that kibus does not know. For a topic, it knows more.
fn possible(need: Need, source: &str) -> Vec<Caller> {
    let service = if need == Need::RulesUseKey { "events.amazonaws.com" } else { "cloudwatch.amazonaws.com" };
    let caller = Caller::service(service, source).with("aws:SourceAccount", ACCOUNT);
    if need == Need::AlarmsPublish {
        let caller = caller.with("aws:SourceOwner", ACCOUNT);
        return vec![caller.clone().with("aws:PrincipalOrgID", "o-1"), caller];
    }
    let mut all = Vec::new();
    for via in [None, Some("sqs.us-west-2.amazonaws.com")] {
        for org in [None, Some("o-1")] {
            for tls in ["true", "false"] {
                let unknown =
                    [("kms:ViaService", via), ("aws:PrincipalOrgID", org), ("aws:SourceOwner", org.map(|_| ACCOUNT))];
                let known = unknown.into_iter().filter_map(|(key, value)| Some((key, value?)));
                let caller = caller.clone().with("aws:SecureTransport", tls);
                all.push(known.fold(caller, |caller, (key, value)| caller.with(key, value)));
            }
        }
    }
    all
}

/// The policies of queues, which the emulator evaluates too: it knows no `NotPrincipal` and no `aws:PrincipalIsAWSService`, and the
/// locks of kibus are translated for it by the proxy.
fn any_queue_policy(for_emulator: bool) -> impl Strategy<Value = Value> {
    let principals = json!([
        "*", {"AWS": "*"}, {"AWS": ACCOUNT}, {"AWS": "arn:aws:iam::111122223333:root"}, {"AWS": OTHER}, {"AWS": USER},
        {"AWS": ["arn:aws:iam::111122223333:user/x", USER]}, {"Service": "events.amazonaws.com"},
    ]);
    let actions = &["sqs:*", "sqs:SendMessage", "SQS:send*", "sqs:?endMessage", "sqs:ReceiveMessage", "sqs:GetQueue*"];
    let mut conditions = vec![
        ("Bool", "aws:SecureTransport", json!("true")),
        ("Bool", "aws:SecureTransport", json!("false")),
        ("StringEquals", "aws:PrincipalArn", json!(["arn:aws:iam::111122223333:user/x", USER])),
        ("StringNotEquals", "aws:PrincipalArn", json!(USER)),
        ("ArnLike", "aws:principalarn", json!("arn:aws:iam::111122223333:user/*")),
        ("ArnEquals", "aws:PrincipalArn", json!("arn:aws:iam::*:user/strange?")),
        ("ArnNotEquals", "aws:PrincipalArn", json!("arn:aws:iam::*:user/strange?")),
        ("StringLike", "aws:PrincipalArn", json!("*:role/*")),
        ("StringNotLike", "aws:PrincipalArn", json!(["*:role/*", "*:user/x"])),
    ];
    if !for_emulator {
        let of_services = ["true", "false"].map(|is| ("Bool", "aws:PrincipalIsAWSService", json!(is)));
        conditions.extend(of_services);
    }
    any_policy(principals, !for_emulator, actions, conditions)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Kibus's verdict on a key or a topic holds for every possible request, and it gives a verdict whenever it knows all keys.
    #[test]
    fn a_service_is_let_in_as_the_evaluator_says(
        policy in any_key_policy(),
        need in prop::sample::select(vec![Need::RulesUseKey, Need::AlarmsUseKey, Need::AlarmsPublish]),
    ) {
        let actions = if need == Need::AlarmsPublish { &["sns:Publish"][..] } else { &["kms:Decrypt", "kms:GenerateDataKey"] };
        let judged = |action: &str, source: &str| -> Vec<bool> {
            possible(need, source).iter().map(|caller| caller.may(action, "arn:aws:x:us-west-2:111122223333:y", &policy)).collect()
        };
        let always = |action: &str| RULES.iter().all(|source| judged(action, source).iter().all(|may| *may));
        let never_for_one = |action: &str| RULES.iter().any(|source| judged(action, source).iter().all(|may| !may));
        let text = policy.to_string();
        let mut unknown = vec!["ViaService", "OrgID", "IfExists", "Null"];
        unknown.extend(if need == Need::AlarmsPublish { &[][..] } else { &["SecureTransport", "SourceOwner"] });
        let is_known = !unknown.iter().any(|word| text.contains(word));
        match lets_in(&Document::new(policy.clone()), need, &scope(), &RULES.map(str::to_owned)) {
            LetsIn::Yes => prop_assert!(actions.iter().all(|action| always(action))),
            LetsIn::No(missing) => {
                prop_assert!(missing.iter().all(|action| never_for_one(action)), "{:?}", missing);
                let is_said = |action: &&str| missing.contains(action) || always(action);
                prop_assert!(!is_known || actions.iter().all(is_said), "{:?}", missing);
            }
            LetsIn::Unclear => prop_assert!(!is_known),
        }
    }

    #[test]
    fn anyone_may_send_as_the_evaluator_says(policy in any_queue_policy(false)) {
        let anyone = Caller::principal("arn:aws:iam::000000000000:root").whose_policies_allow(false);
        let document = Document::new(policy);
        prop_assert_eq!(lets_anyone_send(&document), anyone.may_send("arn:aws:sqs:us-west-2:111122223333:q", &document));
    }
}

/// This many cases of a strategy, for a test that waits for an emulator.
fn cases<T>(count: usize, strategy: &impl Strategy<Value = T>) -> Vec<T> {
    let mut runner = TestRunner::new(ProptestConfig::default());
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// Two users send to queues with generated policies: one without policies of its own, and one that can send to every queue.
#[tokio::test]
async fn a_user_may_send_as_the_emulator_says() {
    let account = Enforced::start("us-west-2").await;
    let root = Sqs::new(&account.root());
    let sends = json!({"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"});
    let sends = json!({"Version": "2012-10-17", "Statement": sends});
    let users = [account.user("stranger", &[]).await, account.user("sender", &[&sends]).await];
    let [stranger, sender] = users.map(|keys| Sqs::new(&account.sdk(&keys)));
    let callers = [
        (stranger, Caller::principal(USER).whose_policies_allow(false)),
        (sender, Caller::principal("arn:aws:iam::111122223333:user/sender")),
    ];
    let mut decided = [0; 2];
    for (number, policy) in cases(40, &any_queue_policy(true)).into_iter().enumerate() {
        let name = format!("differential-{number}");
        let call = root.create_queue().queue_name(&name);
        call.attributes(QueueAttributeName::Policy, policy.to_string()).send().await.unwrap();
        let arn = format!("arn:aws:sqs:us-west-2:{ACCOUNT}:{name}");
        for (sqs, caller) in &callers {
            let call = sqs.send_message().queue_url(format!("{}/{ACCOUNT}/{name}", account.endpoint));
            let sent = call.message_body("x").send().await;
            let expected = caller.may_send(&arn, &Document::new(policy.clone()));
            assert_eq!(sent.is_ok(), expected, "{policy}: {sent:?}");
            decided[usize::from(expected)] += 1;
        }
    }
    assert!(decided.iter().all(|count| *count >= 15), "{decided:?}");
}

/// The events that a pattern may match: those of each signal, including a value that Karpenter ignores, and others.
/// Each comes with the detail member that has this value.
fn events() -> Vec<(Option<Signal>, Option<String>, Value)> {
    let mut all = Vec::new();
    for signal in Signal::ALL.into_iter().filter(|signal| signal.source().starts_with("aws.")) {
        for kind in signal.detail_types() {
            let mut event = sample_event(&scope(), signal, &["i-1"]);
            event["detail-type"] = (*kind).into();
            for filter in signal.filters() {
                for value in filter.values {
                    event["detail"][filter.member] = (*value).into();
                    all.push((Some(signal), None, event.clone()));
                }
            }
            all.push((Some(signal), None, event.clone()));
            for filter in signal.filters() {
                let mut ignored = event.clone();
                ignored["detail"][filter.member] = "running".into();
                all.push((Some(signal), Some(format!("detail.{}", filter.member)), ignored));
            }
        }
    }
    for (source, kind) in [("aws.ec2", "EBS Volume Notification"), ("aws.s3", "Object Created"), ("aws.health", "x")] {
        let mut other = sample_event(&scope(), Signal::SpotInterruption, &["i-1"]);
        (other["source"], other["detail-type"]) = (source.into(), kind.into());
        all.push((None, None, other));
    }
    all
}

/// Patterns with the operators that kibus supports, and with some that it does not.
fn any_pattern() -> impl Strategy<Value = Value> {
    let values = |alike: &Value| {
        let alike = alike.as_array().unwrap().clone();
        prop::option::weighted(0.7, prop::sample::subsequence(alike, 1..=2))
    };
    let one_of =
        |members: &Value| prop::option::weighted(0.4, prop::sample::select(members.as_array().unwrap().clone()));
    let source = values(&json!([
        "aws.ec2", "aws.ec2", "aws.ec2", "aws.health", "aws.health", "AWS.EC2", {"prefix": "aws."}, {"suffix": "ec2"},
        {"equals-ignore-case": "AWS.health"}, {"anything-but": "aws.ec2"}, {"anything-but": ["aws.s3", "aws.health"]},
        {"exists": true}, {"exists": false}, {"wildcard": "aws.*2"},
    ]));
    let kind = values(&json!([
        "EC2 Spot Instance Interruption Warning", "EC2 Instance State-change Notification", "AWS Health Event",
        "EC2 Spot Instance Interruption Warning", "EC2 Instance State-change Notification", "AWS Health Event",
        "EC2 Instance Rebalance Recommendation", "EC2 Interruptible Capacity Reservation Instance Interruption Warning",
        {"prefix": "EC2 "}, {"suffix": "Event"}, {"equals-ignore-case": "aws health event"}, {"wildcard": "EC2 *Warning"},
        {"anything-but": ["EC2 Spot Instance Interruption Warning", "x"]}, {"anything-but": {"prefix": "EC2"}},
    ]));
    let detail = one_of(&json!([
        {"state": ["stopping", "terminated"]}, {"state": ["running"]}, {"state": ["Stopping"]}, {"instance-id": ["i-1"]},
        {"state": [{"equals-ignore-case": "STOPPED"}]}, {"state": [{"anything-but": "pending"}]},
        {"service": ["EC2"], "eventTypeCategory": ["running", "scheduledChange"]}, {"service": [{"prefix": "E"}]},
        {"$or": [{"state": ["running"]}, {"service": ["EC2"]}]},
    ]));
    let rest = one_of(&json!([
        {"account": [ACCOUNT]}, {"account": [OTHER]}, {"replay-name": [{"exists": false}]}, {"replay-name": ["x"]},
        {"nonesuch": ["x"]}, {"nonesuch": [{"exists": false}]}, {"$or": [{"region": ["us-west-2"]}, {"account": [OTHER]}]},
    ]));
    (source, kind, detail, rest).prop_filter_map("a pattern has a member", |(source, kind, detail, rest)| {
        let lists = [("source", source.map(Value::from)), ("detail-type", kind.map(Value::from)), ("detail", detail)];
        let mut pattern: Map<_, _> =
            lists.into_iter().filter_map(|(name, asked)| Some((name.to_owned(), asked?))).collect();
        pattern.extend(rest.into_iter().flat_map(|rest| rest.as_object().unwrap().clone()));
        (!pattern.is_empty()).then(|| pattern.into())
    })
}

/// For unsupported operators, kibus may say that a pattern matches more than it does, but never less.
#[test]
fn a_pattern_matches_as_the_emulator_says() {
    let server = Server::shared();
    server.runtime.block_on(async {
        let account = Account::new("340000000001", server.port(), "us-west-2");
        let (events, mut decided) = (events(), [0; 2]);
        for pattern in cases(60, &any_pattern()) {
            let read = RulePattern::from_document(&Document::new(pattern.clone()), &scope().account);
            let mut matched = Vec::new();
            for (signal, ignored, event) in &events {
                let test = json!({"EventPattern": pattern.to_string(), "Event": event.to_string()}).to_string();
                let answer = account.json("events", "TestEventPattern", &test).await;
                if answer["Result"].as_bool().unwrap() {
                    matched.push((*signal, ignored.clone(), event));
                }
            }
            decided[usize::from(!matched.is_empty())] += 1;
            for (signal, ignored, event) in &matched {
                let is_read = signal.map_or(read.is_broad, |signal| read.signals.contains(&signal));
                assert!(is_read, "{pattern} matches {event}: {read:?}");
                let asks = ignored
                    .as_ref()
                    .filter(|member| pattern.pointer(&format!("/{}", member.replace('.', "/"))).is_some());
                assert!(asks.is_none_or(|member| read.further.contains(member)), "{pattern} matches {event}: {read:?}");
            }
            assert!(read.nothing.is_none() || matched.is_empty(), "{pattern}: {read:?}");
            let text = pattern.to_string();
            let is_exact =
                !["\"detail\"", "wildcard", "anything-but\":{", "$or", OTHER].iter().any(|word| text.contains(word));
            let is_matched = |signal: &Signal| matched.iter().any(|(other, ..)| *other == Some(*signal));
            let more = read.signals.iter().find(|signal| !is_matched(signal));
            assert!(
                !is_exact || !read.further.is_empty() || more.is_none(),
                "{pattern} does not match {more:?}: {read:?}"
            );
        }
        assert!(decided.iter().all(|count| *count >= 12), "{decided:?}");
    });
}
