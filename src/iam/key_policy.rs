//! Whether the policy of a customer key allows EventBridge to send to queues that the key encrypts.

use std::collections::BTreeSet;

use serde_json::Value;

use super::pattern::{matches, matches_action};
use crate::model::document::{Document, texts};
use crate::model::name::AccountId;

/// The service that delivers events.
const EVENT_BRIDGE: &str = "events.amazonaws.com";

/// The actions that it needs (SQS developer guide, "Key management").
const NEEDED: [&str; 2] = ["kms:Decrypt", "kms:GenerateDataKey"];

/// Whether a key policy allows EventBridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LetsIn {
    /// It allows EventBridge to use the key.
    Yes,
    /// It does not allow these actions.
    No(BTreeSet<&'static str>),
    /// Whether it does depends on a condition that kibus does not evaluate.
    Unclear,
}

/// Whether rules of these ARNs, in this account, can send to queues under a key with this policy.
pub fn lets_rules_in(policy: &Document, account: &AccountId, rules: &[String]) -> LetsIn {
    let mut missing = BTreeSet::new();
    let mut unclear = false;
    for action in NEEDED {
        let says = |effect: &str| {
            let statements = policy.statements().into_iter();
            statements
                .filter(|statement| statement["Effect"] == effect)
                .map(|statement| applies(statement, action, account, rules))
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

/// Whether a statement applies to this action of EventBridge for these rules. All of its parts must apply.
fn applies(statement: &Value, action: &str, account: &AccountId, rules: &[String]) -> Applies {
    // All but some is everyone else.
    let principal = match (statement.get("Principal"), statement.get("NotPrincipal")) {
        (Some(who), None) => names_eventbridge(who).map_or(Applies::Unclear, Applies::from),
        (None, Some(who)) => names_eventbridge(who).map_or(Applies::Unclear, |named| (!named).into()),
        _ => Applies::Unclear,
    };
    let actions = texts(statement.get("Action"));
    let action = match statement.get("Action") {
        Some(_) => actions.iter().any(|pattern| matches_action(pattern, action)).into(),
        None => Applies::Unclear,
    };
    let condition = match statement.get("Condition") {
        None => Applies::Yes,
        Some(Value::Object(operators)) => operators
            .iter()
            .map(|(operator, keys)| holds(operator, keys, account, rules))
            .min()
            .unwrap_or(Applies::Yes),
        Some(_) => Applies::Unclear,
    };
    principal.min(action).min(condition)
}

/// Whether a principal is EventBridge or everyone; `None` if it cannot be read.
fn names_eventbridge(who: &Value) -> Option<bool> {
    match who {
        Value::String(who) => Some(who == "*"),
        Value::Object(who) => {
            let is = |kind: &str, name: &str| texts(who.get(kind)).contains(&name);
            Some(is("Service", EVENT_BRIDGE) || is("Service", "*") || is("AWS", "*"))
        }
        _ => None,
    }
}

/// Whether a condition holds for events of these rules, as far as it is one of those that keys for EventBridge have.
fn holds(operator: &str, keys: &Value, account: &AccountId, rules: &[String]) -> Applies {
    let is = match operator {
        "StringEquals" => |value: &str, text: &str| value == text,
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
                "aws:sourceaccount" => any(account.as_str()).into(),
                "aws:sourcearn" => rules.iter().all(|rule| any(rule)).into(),
                _ => Applies::Unclear,
            }
        })
        .min()
        .unwrap_or(Applies::Unclear)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::policy;
    use crate::model::scope::tests::scope;
    use crate::model::signal::Signal;
    use serde_json::json;

    fn judge(statements: Value) -> LetsIn {
        let rules: Vec<String> = Signal::ALL
            .iter()
            .map(|signal| scope().rule_arn(&scope().rule(*signal)))
            .collect();
        let policy = Document::new(json!({ "Statement": statements }));
        lets_rules_in(&policy, &scope().account, &rules)
    }

    fn allow(more: Value) -> Value {
        let mut statement = json!({
            "Effect": "Allow",
            "Principal": { "Service": EVENT_BRIDGE },
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
    fn a_key_policy_allows_eventbridge_or_not_or_is_unclear() {
        let both = || LetsIn::No(NEEDED.into());
        let root =
            json!({"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:root"}, "Action": "kms:*"});
        let when = |operator: &str, key: &str, value: &str| allow(json!({"Condition": {operator: {key: value}}}));
        for (name, statements, expected) in [
            ("nothing", json!([]), both()),
            ("the default policy of a key", json!([root]), both()),
            (
                "what kibus prints",
                json!([root, policy::key_statement(&scope()).value()]),
                LetsIn::Yes,
            ),
            ("one statement, not in a list", allow(json!({})), LetsIn::Yes),
            ("all actions", json!([allow(json!({"Action": "kms:*"}))]), LetsIn::Yes),
            (
                "one action",
                json!([allow(json!({"Action": "KMS:decrypt"}))]),
                LetsIn::No(["kms:GenerateDataKey"].into()),
            ),
            (
                "an action in each of two",
                json!([
                    allow(json!({"Action": "kms:Decrypt"})),
                    allow(json!({"Action": "kms:Generate*"}))
                ]),
                LetsIn::Yes,
            ),
            ("everybody", json!([allow(json!({"Principal": "*"}))]), LetsIn::Yes),
            (
                "another service",
                json!([allow(json!({"Principal": {"Service": "sns.amazonaws.com"}}))]),
                both(),
            ),
            (
                "everyone but another service",
                json!([allow_but(json!({"Service": "sns.amazonaws.com"}))]),
                LetsIn::Yes,
            ),
            (
                "everyone but EventBridge",
                json!([allow_but(json!({"Service": EVENT_BRIDGE}))]),
                both(),
            ),
            (
                "several services",
                json!([allow(
                    json!({"Principal": {"Service": ["sns.amazonaws.com", EVENT_BRIDGE]}})
                )]),
                LetsIn::Yes,
            ),
            (
                "another account",
                json!([when("StringEquals", "aws:SourceAccount", "1")]),
                both(),
            ),
            (
                "rules of ours",
                json!([when(
                    "ArnLike",
                    "AWS:SourceArn",
                    "arn:aws:events:us-west-2:111122223333:rule/kibus-*"
                )]),
                LetsIn::Yes,
            ),
            (
                "one rule of ours",
                json!([when(
                    "ArnEquals",
                    "aws:SourceArn",
                    "arn:aws:events:us-west-2:111122223333:rule/kibus-probe"
                )]),
                both(),
            ),
            (
                "something else",
                json!([when("StringEquals", "kms:ViaService", "x")]),
                LetsIn::Unclear,
            ),
            (
                "another operator",
                json!([when("StringNotEquals", "aws:SourceAccount", "1")]),
                LetsIn::Unclear,
            ),
            ("a denial", json!([allow(json!({})), deny(json!({}))]), both()),
            (
                "a denial of another",
                json!([
                    allow(json!({})),
                    deny(json!({"Principal": {"AWS": "arn:aws:iam::1:root"}}))
                ]),
                LetsIn::Yes,
            ),
            (
                "a denial on a condition",
                json!([
                    allow(json!({})),
                    deny(json!({"Condition": {"Bool": {"aws:SecureTransport": "false"}}}))
                ]),
                LetsIn::Unclear,
            ),
        ] {
            assert_eq!(judge(statements), expected, "{name}");
        }
        let text = Document::new("no policy".into());
        assert_eq!(lets_rules_in(&text, &scope().account, &[]), both(), "no document");
    }
}
