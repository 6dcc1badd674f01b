//! What a policy allows, as far as kibus asks: who may send to a queue, and which queues may be received from.

use std::collections::BTreeSet;

use serde_json::Value;

use super::pattern::matches_action;
use crate::model::document::{Document, texts};
use crate::model::policy::is_ours;
use crate::model::queue_policy::is_locked;

/// The ARNs of the queues that a policy allows to receive from, as they are written, with wildcards. A statement with
/// `*` as its resource names no queue.
#[must_use]
pub fn queues_received_from(policy: &Document) -> BTreeSet<String> {
    policy
        .statements()
        .into_iter()
        .filter(|statement| statement["Effect"] == "Allow" && has_action(statement, "sqs:ReceiveMessage"))
        .flat_map(|statement| texts(statement.get("Resource")))
        .filter(|arn| arn.split(':').nth(2) == Some("sqs"))
        .map(str::to_owned)
        .collect()
}

/// Whom the policy of a queue allows to send, in statements that kibus did not write. A statement for all but some
/// actions may allow it too.
#[must_use]
pub fn other_senders(policy: &Document) -> BTreeSet<String> {
    let statements = statements_of_other_senders(policy);
    let senders = statements.iter().flat_map(principals);
    senders.map(str::to_owned).collect()
}

/// The statements of a queue's policy that allow others to send.
#[must_use]
pub fn statements_of_other_senders(policy: &Document) -> Vec<Value> {
    let statements = policy.statements().into_iter();
    let of_others = statements.filter(|statement| allows_to_send(statement) && !is_ours(statement));
    of_others.cloned().collect()
}

/// Whether the policy of a queue allows everyone to send, in a statement without conditions, and does not have the lock.
#[must_use]
pub fn lets_anyone_send(policy: &Document) -> bool {
    let anyone = |statement: &Value| {
        allows_to_send(statement) && statement.get("Condition").is_none() && principals(statement).contains(&"*")
    };
    !is_locked(policy) && policy.statements().into_iter().any(anyone)
}

fn allows_to_send(statement: &Value) -> bool {
    let sends = has_action(statement, "sqs:SendMessage") || statement.get("NotAction").is_some();
    statement["Effect"] == "Allow" && sends
}

fn principals(statement: &Value) -> Vec<&str> {
    match &statement["Principal"] {
        Value::Object(kinds) => kinds.values().flat_map(|of| texts(Some(of))).collect(),
        one => texts(Some(one)),
    }
}

pub(super) fn has_action(statement: &Value, action: &str) -> bool {
    texts(statement.get("Action"))
        .into_iter()
        .any(|pattern| matches_action(pattern, action))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_policy_names_the_queues_that_it_opens() {
        const Q: &str = "arn:aws:sqs:us-west-2:111122223333:q";
        for (name, statement, named) in [
            (
                "one action",
                json!({"Effect": "Allow", "Action": "sqs:ReceiveMessage", "Resource": Q}),
                true,
            ),
            (
                "a list",
                json!({"Effect": "Allow", "Action": ["x:y", "SQS:receivemessage"], "Resource": [Q]}),
                true,
            ),
            (
                "a wildcard",
                json!({"Effect": "Allow", "Action": "sqs:Rec*", "Resource": Q}),
                true,
            ),
            (
                "every action",
                json!({"Effect": "Allow", "Action": "*", "Resource": Q}),
                true,
            ),
            (
                "another action",
                json!({"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": Q}),
                false,
            ),
            (
                "a denial",
                json!({"Effect": "Deny", "Action": "sqs:ReceiveMessage", "Resource": Q}),
                false,
            ),
            (
                "everything",
                json!({"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}),
                false,
            ),
            (
                "no queue",
                json!({"Effect": "Allow", "Action": "*", "Resource": "arn:aws:s3:::bucket"}),
                false,
            ),
            (
                "no resource",
                json!({"Effect": "Allow", "Action": "*", "NotResource": Q}),
                false,
            ),
        ] {
            let queues = queues_received_from(&Document::new(json!({"Statement": [statement]})));
            assert_eq!(queues.contains(Q), named, "{name}");
        }
    }

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
            (
                "everyone",
                json!([allow(&json!("*"), json!("sqs:sendmessage"))]),
                &["*"],
            ),
            (
                "all but some actions",
                json!([{"Effect": "Allow", "Principal": {"AWS": "1"}, "NotAction": "sqs:DeleteQueue"}]),
                &["1"],
            ),
            ("another action", json!([allow(&all, json!("sqs:ReceiveMessage"))]), &[]),
            (
                "a denial",
                json!([with(official.clone(), "Effect", json!("Deny"))]),
                &[],
            ),
            (
                "kibus's own",
                json!([with(official.clone(), "Sid", json!("KibusRulesSend"))]),
                &[],
            ),
            ("nothing", json!([]), &[]),
        ] {
            let found = other_senders(&Document::new(json!({ "Statement": statements })));
            assert!(found.iter().eq(senders), "{case}: {found:?}");
        }
    }
}
