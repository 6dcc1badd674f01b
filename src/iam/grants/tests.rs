//! What policies grant, in cases.

use serde_json::json;

use super::*;
use crate::model::{
    Signal, policy,
    scope::tests::{scope, scope_in},
};

#[test]
fn senders_that_kibus_did_not_mean_are_found() {
    let all = json!({"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]});
    let allow = |principal: &Value, actions: Value| json!({"Effect": "Allow", "Principal": principal, "Action": actions, "Resource": "*"});
    let both: &[&str] = &["events.amazonaws.com", "sqs.amazonaws.com"];
    let with = |mut statement: Value, member: &str, value: Value| {
        statement[member] = value;
        statement
    };
    let official = allow(&all, json!("sqs:SendMessage"));
    for (case, statements, senders) in [
        ("Karpenter's template", json!([official]), both),
        ("no list", official.clone(), both),
        ("every action", json!([allow(&all, json!(["SQS:*"]))]), both),
        ("everyone", json!([allow(&json!("*"), json!("sqs:sendmessage"))]), &["*"]),
        (
            "all but some actions",
            json!([{"Effect": "Allow", "Principal": {"AWS": "1"}, "NotAction": "sqs:DeleteQueue"}]),
            &["1"],
        ),
        ("another action", json!([allow(&all, json!("sqs:ReceiveMessage"))]), &[]),
        ("a denial", json!([with(official.clone(), "Effect", json!("Deny"))]), &[]),
        ("kibus's own", json!([with(official.clone(), "Sid", json!("KibusRulesSend"))]), &[]),
        (
            "everyone but some",
            json!([{"Effect": "Allow", "NotPrincipal": {"AWS": "1"}, "Action": "sqs:SendMessage"}]),
            &["*"],
        ),
        ("nothing", json!([]), &[]),
    ] {
        let found = other_senders(&Document::new(json!({ "Statement": statements })));
        assert!(found.iter().eq(senders), "{case}: {found:?}");
    }
}

#[test]
fn what_a_policy_opens_is_foreign_of_a_service_or_unclear() {
    let service = json!({"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]});
    let events = json!({"Service": "events.amazonaws.com"});
    let account = |account: &str| json!({ "AWS": format!("arn:aws:iam::{account}:root") });
    let of = |effect: &str, principal: &Value, action: &str, condition: Option<Value>| {
        let mut statement = json!({"Effect": effect, "Principal": principal, "Action": action, "Resource": "*"});
        if let Some(condition) = condition {
            statement["Condition"] = condition;
        }
        statement
    };
    let sends = |principal: &Value, condition| of("Allow", principal, "sqs:SendMessage", condition);
    let rule = |account: &str| format!("arn:aws:events:us-west-2:{account}:rule/a");
    let foreign = |who: &str| Opening::Foreign(who.to_owned());
    let of_service = |who: &str| Opening::Service(who.to_owned());
    let both = || vec![of_service("events.amazonaws.com"), of_service("sqs.amazonaws.com")];
    let unnamed = || vec![Opening::Unclear("a statement without a Sid".to_owned())];
    let limited =
        |who: &str| vec![Opening::Unclear(format!("a statement without a Sid, which allows {who} under conditions"))];
    let (own, other) = ("111122223333", "999999999999");
    let tls_only = json!({"Bool": {"aws:SecureTransport": "true"}});
    for (case, statement, expected) in [
        ("Karpenter's template", sends(&service, None), both()),
        ("every action, in any case", of("Allow", &service, "SQS:*", None), both()),
        ("everyone", sends(&json!("*"), None), vec![foreign("*")]),
        ("every principal of AWS", sends(&json!({"AWS": "*"}), None), vec![foreign("*")]),
        ("another account", sends(&account(other), None), vec![foreign("arn:aws:iam::999999999999:root")]),
        ("a reader", of("Allow", &json!({"AWS": other}), "sqs:ReceiveMessage", None), vec![foreign(other)]),
        ("this account", sends(&account(own), None), vec![]),
        ("this account, by its number", sends(&json!({ "AWS": own }), None), vec![]),
        ("an action that opens nothing", of("Allow", &json!("*"), "sqs:GetQueueAttributes", None), vec![]),
        ("a rule of this account", sends(&events, Some(json!({"ArnEquals": {"aws:SourceArn": rule(own)}}))), vec![]),
        ("for this account", sends(&events, Some(json!({"StringEquals": {"AWS:sourceaccount": [own]}}))), vec![]),
        (
            "a rule of another account",
            sends(&events, Some(json!({"ArnEquals": {"aws:SourceArn": [rule(own), rule(other)]}}))),
            limited("events.amazonaws.com"),
        ),
        (
            "any rule",
            sends(&events, Some(json!({"StringLike": {"aws:SourceArn": "*"}}))),
            limited("events.amazonaws.com"),
        ),
        (
            "no rule of this account",
            sends(&events, Some(json!({"ArnNotEquals": {"aws:SourceArn": rule(own)}}))),
            limited("events.amazonaws.com"),
        ),
        (
            "another key beside it",
            sends(&events, Some(json!({"StringEquals": {"aws:SourceAccount": own, "aws:PrincipalOrgID": "o"}}))),
            vec![],
        ),
        ("TLS only", sends(&events, Some(tls_only.clone())), vec![of_service("events.amazonaws.com")]),
        ("no condition", sends(&events, Some(json!({}))), vec![of_service("events.amazonaws.com")]),
        ("conditions of another form", sends(&events, Some(json!("x"))), limited("events.amazonaws.com")),
        ("everyone, with TLS", sends(&json!("*"), Some(tls_only)), vec![foreign("*")]),
        (
            "services for this account",
            sends(&json!({"AWS": "*"}), Some(json!({"StringEquals": {"aws:SourceAccount": own}}))),
            vec![],
        ),
        (
            "everyone, under conditions",
            sends(&json!("*"), Some(json!({"StringEquals": {"aws:PrincipalOrgID": "o"}}))),
            limited("*"),
        ),
        ("a denial", of("Deny", &json!("*"), "sqs:*", None), unnamed()),
        ("a denial of what no one needs", of("Deny", &json!("*"), "sqs:DeleteQueue", None), vec![]),
        (
            "all but some principals",
            json!({"Effect": "Allow", "NotPrincipal": events, "Action": "sqs:SendMessage"}),
            unnamed(),
        ),
        (
            "all but some actions",
            json!({"Sid": "A", "Effect": "Allow", "Principal": "*", "NotAction": "sqs:DeleteQueue"}),
            vec![Opening::Unclear("A".to_owned())],
        ),
        (
            "Karpenter's denial",
            of("Deny", &json!("*"), "sqs:*", Some(json!({"Bool": {"aws:SecureTransport": false}}))),
            vec![],
        ),
    ] {
        // What kibus would write opens nothing, whatever it is called.
        let wanted = json!({"Sid": "KibusTlsOnly", "Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*",
            "Condition": {"Bool": {"aws:SecureTransport": "false"}}});
        let wanted = Document::new(json!({ "Statement": [wanted] }));
        let policy = Document::new(json!({ "Statement": [statement] }));
        let found = openings(&policy, &wanted, &own.parse().unwrap());
        assert_eq!(found, expected.into_iter().collect(), "{case}");
    }
}

const ISSUER: &str = "oidc.eks.us-west-2.amazonaws.com/id/ABC";
const PROVIDER: &str = "arn:aws:iam::111122223333:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/ABC";
const SUBJECT: &str = "system:serviceaccount:kube-system:karpenter";

fn statement(provider: &str, operator: &str, subject: Value) -> Value {
    let keys = json!({ format!("{ISSUER}:sub"): subject, format!("{ISSUER}:aud"): "sts.amazonaws.com" });
    json!({
        "Effect": "Allow",
        "Principal": { "Federated": provider },
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": { operator: keys },
    })
}

fn named(statements: Value) -> bool {
    let trust = Document::new(json!({ "Statement": statements }));
    names_service_account(&trust, PROVIDER, "karpenter")
}

#[test]
fn the_subject_names_the_service_account_in_a_namespace() {
    for (operator, subject, expected) in [
        ("StringEquals", json!(SUBJECT), true),
        ("StringEquals", json!(["system:serviceaccount:a:b", SUBJECT]), true),
        ("ForAnyValue:StringEquals", json!(SUBJECT), true),
        ("StringLike", json!(SUBJECT), true),
        ("StringLike", json!("system:serviceaccount:*:karpenter"), true),
        ("StringLike", json!("system:serviceaccount:karp*:karpenter"), true),
        ("StringLikeIfExists", json!(SUBJECT), true),
        ("StringLike", json!("*"), false),
        ("StringLike", json!("system:serviceaccount:*"), false),
        ("StringLike", json!("system:serviceaccount:karpenter:*"), false),
        ("StringLike", json!("*:karpenter"), false),
        ("StringEquals", json!("system:serviceaccount:*:karpenter"), false),
        ("StringEquals", json!("system:serviceaccount::karpenter"), false),
        ("StringEquals", json!("system:serviceaccount:kube-system:karpenter-2"), false),
        ("StringNotEquals", json!(SUBJECT), false),
        ("Null", json!(true), false),
    ] {
        let statement = statement(PROVIDER, operator, subject);
        assert_eq!(named(json!(statement)), expected, "{statement}");
    }
}

#[test]
fn only_the_provider_of_the_cluster_counts() {
    let account = "arn:aws:iam::111122223333:oidc-provider";
    for (provider, expected) in [
        (PROVIDER.to_owned(), true),
        (format!("{account}/oidc.eks.us-west-2.amazonaws.com/id/ABCD"), false),
        (PROVIDER.replace("111122223333", "444455556666"), false),
        (PROVIDER.replace("arn:aws:", "arn:aws-cn:"), false),
        (PROVIDER.replace("arn:aws:", "arn:aws-us-gov:"), false),
    ] {
        assert_eq!(named(json!([statement(&provider, "StringEquals", json!(SUBJECT))])), expected, "{provider}");
    }
}

#[test]
fn only_an_allowed_web_identity_counts() {
    let allowed = statement(PROVIDER, "StringEquals", json!(SUBJECT));
    let with = |member: &str, value: Value| {
        let mut statement = allowed.clone();
        statement[member] = value;
        statement
    };
    for (statement, expected) in [
        (with("Action", json!(["sts:TagSession", "sts:AssumeRoleWithWebIdentity"])), true),
        (with("Action", json!("sts:*")), true),
        (with("Action", json!("sts:AssumeRole")), false),
        (with("Effect", json!("Deny")), false),
        (with("Principal", json!("*")), false),
        (with("Condition", json!({})), false),
        (with("Condition", json!("odd")), false),
    ] {
        assert_eq!(named(json!([statement])), expected, "{statement}");
    }
}

#[test]
fn patterns_match_as_in_iam() {
    for (pattern, text, same) in [
        ("a", "a", true),
        ("a*", "abc", true),
        ("*c", "abc", true),
        ("a*c*", "abcd", true),
        ("a?c", "abc", true),
        ("a?", "a", false),
        ("*", "", true),
        ("a*b", "a", false),
        ("a*bc", "abbc", true),
    ] {
        assert_eq!(matches(pattern, text), same, "{pattern} {text}");
    }
}

fn judge(statements: Value) -> LetsIn {
    judge_in(&scope(), statements)
}

fn judge_in(scope: &Scope, statements: Value) -> LetsIn {
    let rules: Vec<String> = Signal::ALL.iter().map(|signal| scope.rule_arn(&scope.rule(*signal))).collect();
    lets_in(&Document::new(json!({ "Statement": statements })), Need::RulesUseKey, scope, &rules)
}

fn allow(more: Value) -> Value {
    let mut statement = json!({
        "Effect": "Allow",
        "Principal": { "Service": "events.amazonaws.com" },
        "Action": ["kms:Decrypt", "kms:GenerateDataKey*"],
        "Resource": "*",
    });
    for (key, value) in more.as_object().unwrap() {
        statement[key] = value.clone();
    }
    statement
}

/// Everyone but these.
fn allow_but(who: Value) -> Value {
    let mut statement = allow(json!({ "NotPrincipal": who }));
    statement.as_object_mut().unwrap().remove("Principal");
    statement
}

fn deny(more: Value) -> Value {
    let mut statement = allow(more);
    statement["Effect"] = "Deny".into();
    statement
}

/// The rules, in two statements.
fn split_by_rule() -> Value {
    let arns = Signal::ALL.map(|signal| scope().rule_arn(&scope().rule(signal)));
    let (some, others) = arns.split_at(2);
    let when = |arns: &[String]| allow(json!({"Condition": {"ArnEquals": {"aws:SourceArn": arns}}}));
    json!([when(some), when(others)])
}

/// In China, `kms:ViaService` has one of two names of SQS.
#[test]
fn a_denial_for_all_services_but_sqs_is_no_denial() {
    for scope in [scope(), scope_in("aws-cn", "cn-north-1")] {
        let services = scope.sqs_services();
        let but = |services: &[String]| deny(json!({"Condition": {"StringNotEquals": {"kms:ViaService": services}}}));
        for but in [but(&services), but(&services[..1])] {
            assert_eq!(judge_in(&scope, json!([allow(json!({})), but])), LetsIn::Unclear, "{services:?}");
        }
        let for_another =
            deny(json!({"Condition": {"StringEquals": {"kms:ViaService": "ec2.us-west-2.amazonaws.com"}}}));
        assert_eq!(judge_in(&scope, json!([allow(json!({})), for_another])), LetsIn::Yes, "{services:?}");
    }
}

#[test]
fn a_topic_lets_alarms_in_by_its_owner_or_by_their_service() {
    let alarms = ["arn:aws:cloudwatch:us-west-2:111122223333:alarm:kibus-heartbeat".to_owned()];
    let statement = |effect: &str, who: Value, operator: &str, key: &str, value: &str| json!({"Effect": effect, "Principal": who, "Action": ["SNS:Publish", "SNS:Subscribe"], "Condition": {operator: {key: value}}});
    let owner = |account| statement("Allow", json!({"AWS": "*"}), "StringEquals", "AWS:SourceOwner", account);
    let service = |who: &str, key, value| statement("Allow", json!({ "Service": who }), "ArnLike", key, value);
    let cloudwatch = "cloudwatch.amazonaws.com";
    let only_tls = statement("Deny", json!("*"), "Bool", "aws:SecureTransport", "false");
    let only_one = statement("Deny", json!("*"), "StringNotEquals", "aws:SourceArn", "a");
    for (name, statements, [topic, key]) in [
        ("the policy of a new topic", json!([owner("111122223333")]), ["yes", "no"]),
        ("another owner", json!([owner("999999999999")]), ["no", "no"]),
        ("alarms", json!([service(cloudwatch, "aws:SourceArn", "arn:aws:cloudwatch:*:*:alarm:*")]), ["yes", "no"]),
        ("other alarms", json!([service(cloudwatch, "aws:SourceArn", "*:alarm:x")]), ["no", "no"]),
        ("rules", json!([service("events.amazonaws.com", "aws:SourceArn", "*")]), ["no", "no"]),
        ("encrypted calls only", json!([owner("111122223333"), only_tls]), ["yes", "no"]),
        ("a denial of all but one", json!([owner("111122223333"), only_one]), ["no", "no"]),
        ("nothing", json!([]), ["no", "no"]),
    ] {
        let policy = Document::new(json!({ "Statement": statements }));
        let needs = [Need::AlarmsPublish, Need::AlarmsUseKey];
        let found = needs.map(|need| match lets_in(&policy, need, &scope(), &alarms) {
            LetsIn::Yes => "yes",
            LetsIn::No(_) => "no",
            LetsIn::Unclear => "unclear",
        });
        assert_eq!(found, [topic, key], "{name}");
    }
}

#[test]
fn a_key_policy_allows_eventbridge_or_not_or_is_unclear() {
    let both = || LetsIn::No(["kms:Decrypt", "kms:GenerateDataKey"].into());
    let root = json!({"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:root"}, "Action": "kms:*"});
    let when = |operator: &str, key: &str, value: &str| allow(json!({"Condition": {operator: {key: value}}}));
    for (name, statements, expected) in [
        ("nothing", json!([]), both()),
        ("the default policy of a key", json!([root]), both()),
        ("what kibus prints", json!([root, policy::key_statement(&scope()).value()]), LetsIn::Yes),
        ("one statement, not in a list", allow(json!({})), LetsIn::Yes),
        ("all actions", json!([allow(json!({"Action": "kms:*"}))]), LetsIn::Yes),
        ("one action", json!([allow(json!({"Action": "KMS:decrypt"}))]), LetsIn::No(["kms:GenerateDataKey"].into())),
        (
            "an action in each of two",
            json!([allow(json!({"Action": "kms:Decrypt"})), allow(json!({"Action": "kms:Generate*"}))]),
            LetsIn::Yes,
        ),
        ("everybody", json!([allow(json!({"Principal": "*"}))]), LetsIn::Yes),
        ("another service", json!([allow(json!({"Principal": {"Service": "sns.amazonaws.com"}}))]), both()),
        ("everyone but another service", json!([allow_but(json!({"Service": "sns.amazonaws.com"}))]), LetsIn::Yes),
        ("everyone but EventBridge", json!([allow_but(json!({"Service": "events.amazonaws.com"}))]), both()),
        (
            "several services",
            json!([allow(json!({"Principal": {"Service": ["sns.amazonaws.com", "events.amazonaws.com"]}}))]),
            LetsIn::Yes,
        ),
        ("another account", json!([when("StringEquals", "aws:SourceAccount", "1")]), both()),
        (
            "rules of ours",
            json!([when("ArnLike", "AWS:SourceArn", "arn:aws:events:us-west-2:111122223333:rule/kibus-*")]),
            LetsIn::Yes,
        ),
        (
            "one rule of ours",
            json!([when("ArnEquals", "aws:SourceArn", "arn:aws:events:us-west-2:111122223333:rule/kibus-probe")]),
            both(),
        ),
        ("rules of two statements", split_by_rule(), LetsIn::Yes),
        ("another key", json!([when("StringEquals", "aws:PrincipalOrgID", "o")]), LetsIn::Unclear),
        ("another operator", json!([when("StringEqualsIgnoreCase", "aws:SourceAccount", "1")]), LetsIn::Unclear),
        ("all accounts but another", json!([when("StringNotEquals", "aws:SourceAccount", "1")]), LetsIn::Yes),
        ("through another service", json!([when("StringEquals", "kms:ViaService", "x")]), both()),
        (
            "a denial of all but this account",
            json!([
                allow(json!({})),
                deny(json!({"Condition": {"StringNotEquals": {"aws:SourceAccount": "111122223333"}}}))
            ]),
            LetsIn::Yes,
        ),
        ("a denial", json!([allow(json!({})), deny(json!({}))]), both()),
        (
            "a denial of another",
            json!([allow(json!({})), deny(json!({"Principal": {"AWS": "arn:aws:iam::1:root"}}))]),
            LetsIn::Yes,
        ),
        (
            "a denial on a condition",
            json!([allow(json!({})), deny(json!({"Condition": {"Bool": {"aws:SecureTransport": "false"}}}))]),
            LetsIn::Unclear,
        ),
    ] {
        assert_eq!(judge(statements), expected, "{name}");
    }
    let text = Document::new("no policy".into());
    assert_eq!(lets_in(&text, Need::RulesUseKey, &scope(), &["a".to_owned()]), both(), "no document");
}
