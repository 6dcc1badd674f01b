//! What policies grant, case by case.

use serde_json::json;

use super::*;
use crate::model::{
    Signal, policy,
    scope::tests::{scope, scope_in},
};

/// A statement about a queue, with a condition unless that is null.
fn of_queue(effect: &str, principal: &Value, actions: Value, condition: Value) -> Value {
    let statement = json!({"Effect": effect, "Principal": principal, "Action": actions, "Resource": "*"});
    if condition.is_null() { statement } else { with(&statement, "Condition", condition) }
}

fn with(statement: &Value, member: &str, value: Value) -> Value {
    let mut statement = statement.clone();
    statement[member] = value;
    statement
}

fn when(operator: &str, key: &str, value: impl Into<Value>) -> Value {
    json!({ operator: { key: value.into() } })
}

fn document(statements: Value) -> Document {
    Document::new(json!({ "Statement": statements }))
}

#[test]
fn senders_that_kibus_did_not_mean_are_found() {
    let all = json!({"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]});
    let allow = |principal: &Value, actions: Value| of_queue("Allow", principal, actions, Value::Null);
    let both: &[&str] = &["events.amazonaws.com", "sqs.amazonaws.com"];
    let official = allow(&all, json!("sqs:SendMessage"));
    let but_delete = json!({"Effect": "Allow", "Principal": {"AWS": "1"}, "NotAction": "sqs:DeleteQueue"});
    let but_one = json!({"Effect": "Allow", "NotPrincipal": {"AWS": "1"}, "Action": "sqs:SendMessage"});
    for (case, statements, senders) in [
        ("Karpenter's template", json!([official]), both),
        ("no list", official.clone(), both),
        ("every action", json!([allow(&all, json!(["SQS:*"]))]), both),
        ("everyone", json!([allow(&json!("*"), json!("sqs:sendmessage"))]), &["*"]),
        ("all but some actions", json!([but_delete]), &["1"]),
        ("another action", json!([allow(&all, json!("sqs:ReceiveMessage"))]), &[]),
        ("a denial", json!([with(&official, "Effect", json!("Deny"))]), &[]),
        ("kibus's own", json!([with(&official, "Sid", json!("KibusRulesSend"))]), &[]),
        ("everyone but some", json!([but_one]), &["*"]),
        ("nothing", json!([]), &[]),
    ] {
        let found = other_senders(&document(statements));
        assert!(found.iter().eq(senders), "{case}: {found:?}");
    }
}

#[test]
fn what_a_policy_opens_is_foreign_of_a_service_or_unclear() {
    let service = json!({"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]});
    let (events, everyone) = (json!({"Service": "events.amazonaws.com"}), json!("*"));
    let (own, other) = ("111122223333", "999999999999");
    let root = |account: &str| json!({ "AWS": format!("arn:aws:iam::{account}:root") });
    let number = |account: &str| json!({ "AWS": account });
    let rule = |account: &str| format!("arn:aws:events:us-west-2:{account}:rule/a");
    let may = |principal: &Value, action: &str| of_queue("Allow", principal, json!(action), Value::Null);
    let sends = |principal: &Value| may(principal, "sqs:SendMessage");
    let sends_if = |principal: &Value, condition| of_queue("Allow", principal, json!("sqs:SendMessage"), condition);
    let denies = |action: &str, condition| of_queue("Deny", &everyone, json!(action), condition);
    let but_events = json!({"Effect": "Allow", "NotPrincipal": events, "Action": "sqs:SendMessage"});
    let but_delete = json!({"Sid": "A", "Effect": "Allow", "Principal": "*", "NotAction": "sqs:DeleteQueue"});
    let org = json!({"StringEquals": {"aws:SourceAccount": own, "aws:PrincipalOrgID": "o"}});
    let both = "service events.amazonaws.com, service sqs.amazonaws.com";
    let unnamed = "unclear a statement without a Sid";
    let limited = "unclear a statement without a Sid, which allows events.amazonaws.com under conditions";
    let limited_all = "unclear a statement without a Sid, which allows * under conditions";
    let tls_only = || when("Bool", "aws:SecureTransport", "true");
    for (case, statement, expected) in [
        ("Karpenter's template", sends(&service), both),
        ("every action, in any case", may(&service, "SQS:*"), both),
        ("everyone", sends(&everyone), "foreign *"),
        ("every principal of AWS", sends(&number("*")), "foreign *"),
        ("another account", sends(&root(other)), "foreign arn:aws:iam::999999999999:root"),
        ("a reader", may(&number(other), "sqs:ReceiveMessage"), "foreign 999999999999"),
        ("this account", sends(&root(own)), ""),
        ("this account, by its number", sends(&number(own)), ""),
        ("an action that opens nothing", may(&everyone, "sqs:GetQueueAttributes"), ""),
        ("a rule of this account", sends_if(&events, when("ArnEquals", "aws:SourceArn", rule(own))), ""),
        ("for this account", sends_if(&events, when("StringEquals", "AWS:sourceaccount", vec![own])), ""),
        ("two accounts", sends_if(&events, when("ArnEquals", "aws:SourceArn", vec![rule(own), rule(other)])), limited),
        ("any rule", sends_if(&events, when("StringLike", "aws:SourceArn", "*")), limited),
        ("no rule of this account", sends_if(&events, when("ArnNotEquals", "aws:SourceArn", rule(own))), limited),
        ("another key beside it", sends_if(&events, org), ""),
        ("TLS only", sends_if(&events, tls_only()), "service events.amazonaws.com"),
        ("no condition", sends_if(&events, json!({})), "service events.amazonaws.com"),
        ("conditions of another form", sends_if(&events, json!("x")), limited),
        ("everyone, with TLS", sends_if(&everyone, tls_only()), "foreign *"),
        ("services for this account", sends_if(&number("*"), when("StringEquals", "aws:SourceAccount", own)), ""),
        ("everyone of one", sends_if(&everyone, when("StringEquals", "aws:PrincipalOrgID", "o")), limited_all),
        ("a denial", denies("sqs:*", Value::Null), unnamed),
        ("a denial of what no one needs", denies("sqs:DeleteQueue", Value::Null), ""),
        ("all but some principals", but_events, unnamed),
        ("all but some actions", but_delete, "unclear A"),
        ("Karpenter's denial", denies("sqs:*", when("Bool", "aws:SecureTransport", false)), ""),
    ] {
        // What kibus would write opens nothing, whatever its Sid is.
        let wanted = with(&denies("sqs:*", when("Bool", "aws:SecureTransport", "false")), "Sid", json!("KibusTlsOnly"));
        let found = openings(&document(json!([statement])), &document(json!([wanted])), &own.parse().unwrap());
        let words = found.into_iter().map(|opening| match opening {
            Opening::Foreign(who) => format!("foreign {who}"),
            Opening::Service(who) => format!("service {who}"),
            Opening::Unclear(what) => format!("unclear {what}"),
        });
        assert_eq!(words.collect::<Vec<_>>().join(", "), expected, "{case}");
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
    names_service_account(&document(statements), PROVIDER, "karpenter")
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
    for (member, value, expected) in [
        ("Action", json!(["sts:TagSession", "sts:AssumeRoleWithWebIdentity"]), true),
        ("Action", json!("sts:*"), true),
        ("Action", json!("sts:AssumeRole"), false),
        ("Effect", json!("Deny"), false),
        ("Principal", json!("*"), false),
        ("Condition", json!({}), false),
        ("Condition", json!("odd"), false),
    ] {
        assert_eq!(named(json!([with(&allowed, member, value.clone())])), expected, "{member} {value}");
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
    lets_in(&document(statements), Need::RulesUseKey, scope, &rules)
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

fn allow_if(condition: Value) -> Value {
    allow(json!({ "Condition": condition }))
}

fn deny(more: Value) -> Value {
    with(&allow(more), "Effect", "Deny".into())
}

fn deny_if(condition: Value) -> Value {
    deny(json!({ "Condition": condition }))
}

/// In China, `kms:ViaService` has one of two names of SQS.
#[test]
fn a_denial_for_all_services_but_sqs_is_no_denial() {
    for scope in [scope(), scope_in("aws-cn", "cn-north-1")] {
        let services = scope.sqs_services();
        for (condition, expected) in [
            (when("StringNotEquals", "kms:ViaService", &services[..]), LetsIn::Unclear),
            (when("StringNotEquals", "kms:ViaService", &services[..1]), LetsIn::Unclear),
            (when("StringEquals", "kms:ViaService", "ec2.us-west-2.amazonaws.com"), LetsIn::Yes),
        ] {
            assert_eq!(judge_in(&scope, json!([allow(json!({})), deny_if(condition)])), expected, "{services:?}");
        }
    }
}

#[test]
fn a_topic_lets_alarms_in_by_its_owner_or_by_their_service() {
    let alarms = ["arn:aws:cloudwatch:us-west-2:111122223333:alarm:kibus-heartbeat".to_owned()];
    let statement = |effect: &str, who: Value, condition: Value| {
        of_queue(effect, &who, json!(["SNS:Publish", "SNS:Subscribe"]), condition)
    };
    let owner =
        |account: &str| statement("Allow", json!({"AWS": "*"}), when("StringEquals", "AWS:SourceOwner", account));
    let service =
        |who: &str, arn: &str| statement("Allow", json!({ "Service": who }), when("ArnLike", "aws:SourceArn", arn));
    let cloudwatch = "cloudwatch.amazonaws.com";
    let only_tls = statement("Deny", json!("*"), when("Bool", "aws:SecureTransport", "false"));
    let only_one = statement("Deny", json!("*"), when("StringNotEquals", "aws:SourceArn", "a"));
    for (name, statements, [topic, key]) in [
        ("the policy of a new topic", json!([owner("111122223333")]), ["yes", "no"]),
        ("another owner", json!([owner("999999999999")]), ["no", "no"]),
        ("alarms", json!([service(cloudwatch, "arn:aws:cloudwatch:*:*:alarm:*")]), ["yes", "no"]),
        ("other alarms", json!([service(cloudwatch, "*:alarm:x")]), ["no", "no"]),
        ("rules", json!([service("events.amazonaws.com", "*")]), ["no", "no"]),
        ("encrypted calls only", json!([owner("111122223333"), only_tls]), ["yes", "no"]),
        ("a denial of all but one", json!([owner("111122223333"), only_one]), ["no", "no"]),
        ("nothing", json!([]), ["no", "no"]),
    ] {
        let policy = document(statements);
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
    let neither = || LetsIn::No(["kms:Decrypt", "kms:GenerateDataKey"].into());
    let root = json!({"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:root"}, "Action": "kms:*"});
    let of = |service: &str| json!({ "Service": service });
    let by = |who: Value| allow(json!({ "Principal": who }));
    let may = |action: &str| allow(json!({ "Action": action }));
    let but = |who: Value| {
        let mut statement = allow(json!({ "NotPrincipal": who }));
        statement.as_object_mut().unwrap().remove("Principal");
        statement
    };
    let from = |operator: &str, rule: &str| {
        allow_if(when(operator, "aws:SourceArn", format!("arn:aws:events:us-west-2:111122223333:rule/{rule}")))
    };
    let arns = Signal::ALL.map(|signal| scope().rule_arn(&scope().rule(signal)));
    let split = [&arns[..2], &arns[2..]].map(|arns| allow_if(when("ArnEquals", "aws:SourceArn", arns)));
    let only_own = when("StringNotEquals", "aws:SourceAccount", "111122223333");
    let beside = |denial: Value| json!([allow(json!({})), denial]);
    let two = json!({"Service": ["sns.amazonaws.com", "events.amazonaws.com"]});
    let all_but = json!({"Effect": "Allow", "Principal": "*", "NotAction": "kms:Create*", "Resource": "*"});
    for (name, statements, expected) in [
        ("nothing", json!([]), neither()),
        ("the default policy of a key", json!([root]), neither()),
        ("what kibus prints", json!([root, policy::key_statement(&scope()).value()]), LetsIn::Yes),
        ("one statement, not in a list", allow(json!({})), LetsIn::Yes),
        ("all actions", json!([may("kms:*")]), LetsIn::Yes),
        ("one action", json!([may("KMS:decrypt")]), LetsIn::No(["kms:GenerateDataKey"].into())),
        ("an action in each of two", json!([may("kms:Decrypt"), may("kms:Generate*")]), LetsIn::Yes),
        ("everybody", json!([by(json!("*"))]), LetsIn::Yes),
        ("another service", json!([by(of("sns.amazonaws.com"))]), neither()),
        ("everyone but another service", json!([but(of("sns.amazonaws.com"))]), LetsIn::Yes),
        ("everyone but EventBridge", json!([but(of("events.amazonaws.com"))]), neither()),
        ("several services", json!([by(two)]), LetsIn::Yes),
        ("another account", json!([allow_if(when("StringEquals", "aws:SourceAccount", "1"))]), neither()),
        ("rules of ours", json!([from("ArnLike", "kibus-*")]), LetsIn::Yes),
        ("one rule of ours", json!([from("ArnEquals", "kibus-probe")]), neither()),
        ("a part of an ARN", json!([allow_if(when("ArnLike", "aws:SourceArn", "arn:aws:events:*"))]), LetsIn::Unclear),
        ("all but some actions", json!([all_but]), LetsIn::Unclear),
        ("rules of two statements", json!(split), LetsIn::Yes),
        ("another key", json!([allow_if(when("StringEquals", "aws:PrincipalOrgID", "o"))]), LetsIn::Unclear),
        ("another test", json!([allow_if(when("StringEqualsIgnoreCase", "aws:SourceAccount", "1"))]), LetsIn::Unclear),
        ("all but one", json!([allow_if(when("StringNotEquals", "aws:SourceAccount", "1"))]), LetsIn::Yes),
        ("through another service", json!([allow_if(when("StringEquals", "kms:ViaService", "x"))]), neither()),
        ("a denial of all but this account", beside(deny_if(only_own)), LetsIn::Yes),
        ("a denial", beside(deny(json!({}))), neither()),
        ("a denial of another", beside(deny(json!({"Principal": {"AWS": "arn:aws:iam::1:root"}}))), LetsIn::Yes),
        ("a denial on a condition", beside(deny_if(when("Bool", "aws:SecureTransport", "false"))), LetsIn::Unclear),
    ] {
        assert_eq!(judge(statements), expected, "{name}");
    }
    let text = Document::new("no policy".into());
    assert_eq!(lets_in(&text, Need::RulesUseKey, &scope(), &["a".to_owned()]), neither(), "no document");
}
