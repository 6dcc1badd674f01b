//! Which services a key or a topic lets in: EventBridge with the rules of a hub, CloudWatch with its alarms.

use std::collections::BTreeSet;

use serde_json::Value;

use super::grants::{matches, matches_action};
use crate::model::{
    AccountId, Document,
    calls::{kms, sns},
    texts,
};

/// The actions on a key that a service needs to send what is encrypted with it (SQS developer guide, "Key management"; SNS
/// developer guide, "Managing Amazon SNS encryption keys and costs").
const NEEDED: [&str; 2] = [kms::DECRYPT, kms::GENERATE_DATA_KEY];

/// Whether a policy allows a service what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LetsIn {
    Yes,
    No(BTreeSet<&'static str>),
    /// Whether it does depends on a condition that kibus does not evaluate.
    Unclear,
}

/// Whether rules of these ARNs, in this account, can send to queues under a key with this policy.
pub fn lets_rules_in(policy: &Document, account: &AccountId, rules: &[String]) -> LetsIn {
    let of = Of { service: "events.amazonaws.com", to_topic: false, account, sources: rules };
    lets_in(policy, &NEEDED, of)
}

/// Whether alarms of these ARNs, in this account, can publish to a topic with this policy, or under a key with it.
pub fn lets_alarms_in(policy: &Document, is_key: bool, account: &AccountId, alarms: &[String]) -> LetsIn {
    let of = Of { service: "cloudwatch.amazonaws.com", to_topic: !is_key, account, sources: alarms };
    lets_in(policy, if is_key { &NEEDED } else { &[sns::PUBLISH] }, of)
}

/// Whose request it is: that of a service, for these resources of an account.
#[derive(Clone, Copy)]
struct Of<'a> {
    service: &'static str,
    /// Whether it is one to SNS.
    to_topic: bool,
    account: &'a AccountId,
    sources: &'a [String],
}

fn lets_in(policy: &Document, actions: &[&'static str], of: Of<'_>) -> LetsIn {
    let mut missing = BTreeSet::new();
    let mut unclear = false;
    for &action in actions {
        let says = |effect: &str| {
            let statements = policy.statements().into_iter();
            statements
                .filter(|statement| statement["Effect"] == effect)
                .map(|statement| applies(statement, action, of))
                .max()
                .unwrap_or(Applies::No)
        };
        match (says("Deny"), says("Allow")) {
            (Applies::Yes, _) | (_, Applies::No) => drop(missing.insert(action)),
            (Applies::No, Applies::Yes) => {}
            _ => unclear = true,
        }
    }
    match (missing.is_empty(), unclear) {
        (false, _) => LetsIn::No(missing),
        (true, true) => LetsIn::Unclear,
        (true, false) => LetsIn::Yes,
    }
}

/// Ordered by certainty that the statement applies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Applies {
    No,
    Unclear,
    Yes,
}

impl From<bool> for Applies {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// Whether a statement applies to this action. All of its parts must apply.
fn applies(statement: &Value, action: &str, of: Of<'_>) -> Applies {
    // All but some is everyone else.
    let principal = match (statement.get("Principal"), statement.get("NotPrincipal")) {
        (Some(who), None) => names(who, of.service).map_or(Applies::Unclear, Applies::from),
        (None, Some(who)) => names(who, of.service).map_or(Applies::Unclear, |named| (!named).into()),
        _ => Applies::Unclear,
    };
    let actions = texts(statement.get("Action"));
    let action = match statement.get("Action") {
        Some(_) => actions.iter().any(|pattern| matches_action(pattern, action)).into(),
        None => Applies::Unclear,
    };
    let condition = match statement.get("Condition") {
        None => Applies::Yes,
        Some(Value::Object(operators)) => {
            operators.iter().map(|(operator, keys)| holds(operator, keys, of)).min().unwrap_or(Applies::Yes)
        }
        Some(_) => Applies::Unclear,
    };
    principal.min(action).min(condition)
}

/// Whether a principal is this service or everyone; `None` if it cannot be read.
fn names(who: &Value, service: &str) -> Option<bool> {
    match who {
        Value::String(who) => Some(who == "*"),
        Value::Object(who) => {
            let is = |kind: &str, name: &str| texts(who.get(kind)).contains(&name);
            Some(is("Service", service) || is("Service", "*") || is("AWS", "*"))
        }
        _ => None,
    }
}

/// Whether a condition holds, as far as it is one of those that policies for services have.
fn holds(operator: &str, keys: &Value, of: Of<'_>) -> Applies {
    let is = match operator {
        "StringEquals" | "Bool" => |value: &str, text: &str| value == text,
        "ArnEquals" | "StringLike" | "ArnLike" => matches,
        _ => return Applies::Unclear,
    };
    keys.as_object()
        .into_iter()
        .flatten()
        .map(|(key, values)| {
            let values = texts(Some(values));
            let any = |text: &str| values.iter().any(|value| is(value, text));
            match key.to_lowercase().as_str() {
                "aws:sourceaccount" => any(of.account.as_str()).into(),
                // SNS has it, and names it in the policy of each new topic.
                "aws:sourceowner" if of.to_topic => any(of.account.as_str()).into(),
                "aws:sourcearn" => of.sources.iter().all(|source| any(source)).into(),
                "aws:securetransport" if of.to_topic => any("true").into(),
                _ => Applies::Unclear,
            }
        })
        .min()
        .unwrap_or(Applies::Unclear)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Signal, policy, scope::tests::scope};

    fn judge(statements: Value) -> LetsIn {
        let rules: Vec<String> = Signal::ALL.iter().map(|signal| scope().rule_arn(&scope().rule(*signal))).collect();
        let policy = Document::new(json!({ "Statement": statements }));
        lets_rules_in(&policy, &scope().account, &rules)
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

    /// The same for everyone but these.
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
            ("a denial of some", json!([owner("111122223333"), only_one]), ["unclear", "no"]),
            ("nothing", json!([]), ["no", "no"]),
        ] {
            let policy = Document::new(json!({ "Statement": statements }));
            let found = [false, true].map(|is_key| match lets_alarms_in(&policy, is_key, &scope().account, &alarms) {
                LetsIn::Yes => "yes",
                LetsIn::No(_) => "no",
                LetsIn::Unclear => "unclear",
            });
            assert_eq!(found, [topic, key], "{name}");
        }
    }

    #[test]
    fn a_key_policy_allows_eventbridge_or_not_or_is_unclear() {
        let both = || LetsIn::No(NEEDED.into());
        let root =
            json!({"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:root"}, "Action": "kms:*"});
        let when = |operator: &str, key: &str, value: &str| allow(json!({"Condition": {operator: {key: value}}}));
        for (name, statements, expected) in [
            ("nothing", json!([]), both()),
            ("the default policy of a key", json!([root]), both()),
            ("what kibus prints", json!([root, policy::key_statement(&scope()).value()]), LetsIn::Yes),
            ("one statement, not in a list", allow(json!({})), LetsIn::Yes),
            ("all actions", json!([allow(json!({"Action": "kms:*"}))]), LetsIn::Yes),
            (
                "one action",
                json!([allow(json!({"Action": "KMS:decrypt"}))]),
                LetsIn::No(["kms:GenerateDataKey"].into()),
            ),
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
            ("something else", json!([when("StringEquals", "kms:ViaService", "x")]), LetsIn::Unclear),
            ("another operator", json!([when("StringNotEquals", "aws:SourceAccount", "1")]), LetsIn::Unclear),
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
        assert_eq!(lets_rules_in(&text, &scope().account, &[]), both(), "no document");
    }
}
