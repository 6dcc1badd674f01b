//! What a policy allows, as far as kibus asks: who may send to a queue, and which queues may be received from.

use std::collections::BTreeSet;

use serde_json::Value;

use super::pattern::matches_action;
use crate::model::document::{Document, texts};
use crate::model::policy::is_ours;
use crate::model::queue_policy::is_locked;

/// The ARNs of the queues that a policy allows to receive from, as they are written, with wildcards. A statement with
/// `*` as its resource names no queue.
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
pub fn other_senders(policy: &Document) -> BTreeSet<String> {
    let statements = policy.statements().into_iter();
    let of_others = statements.filter(|statement| allows_to_send(statement) && !is_ours(statement));
    of_others.flat_map(principals).map(str::to_owned).collect()
}

/// The services that the queue policies of Karpenter's tools let send.
const SERVICES: [&str; 2] = ["events.amazonaws.com", "sqs.amazonaws.com"];

/// What else they let these services do (the CDK's `grantSendMessages`). Both only read, and neither reads a message.
const READS: [&str; 2] = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl"];

/// The statements that kibus did not write and that allow more than a service of Karpenter's tools to send: each by its Sid,
/// or by its principals.
pub fn other_permissions(policy: &Document) -> BTreeSet<String> {
    let statements = policy.statements().into_iter();
    let others = statements.filter(|statement| {
        statement["Effect"] == "Allow" && !is_ours(statement) && !lets_only_services_send(statement)
    });
    let named = others.flat_map(|statement| match statement["Sid"].as_str() {
        Some(sid) if !sid.is_empty() => vec![sid],
        _ => principals(statement),
    });
    named.map(|name| name.escape_debug().to_string()).collect()
}

fn lets_only_services_send(statement: &Value) -> bool {
    let kinds = statement["Principal"].as_object();
    let is_of_services = kinds.is_some_and(|kinds| kinds.keys().eq(["Service"]));
    let is_one_of = |names: &[&str], name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let actions = texts(statement.get("Action"));
    let may = |action: &&str| is_one_of(&["sqs:SendMessage"], action) || is_one_of(&READS, action);
    is_of_services
        && ["NotPrincipal", "NotAction"]
            .iter()
            .all(|member| statement.get(member).is_none())
        && principals(statement)
            .iter()
            .all(|principal| SERVICES.contains(principal))
        && actions.iter().all(may)
        && has_action(statement, "sqs:SendMessage")
}

/// Whether the policy of a queue allows everyone to send, in a statement without conditions, and does not have the lock.
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

/// Whom a statement is about. All but some count as everyone.
fn principals(statement: &Value) -> Vec<&str> {
    if statement.get("NotPrincipal").is_some() {
        return vec!["*"];
    }
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
    fn an_adopted_queue_keeps_what_tools_of_karpenter_write() {
        let both = json!({"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]});
        let events = json!({"Service": "events.amazonaws.com"});
        let allow = |principal: &Value, actions: Value| json!({"Effect": "Allow", "Principal": principal, "Action": actions, "Resource": "*"});
        let with = |mut statement: Value, member: &str, value: Value| {
            statement[member] = value;
            statement
        };
        let send = json!("sqs:SendMessage");
        for (case, statement, named) in [
            ("Karpenter's template", allow(&both, send.clone()), None),
            ("another case", allow(&events, json!(["SQS:sendmessage"])), None),
            (
                "the CDK",
                allow(
                    &events,
                    json!(["sqs:SendMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl"]),
                ),
                None,
            ),
            (
                "only reads",
                allow(&events, json!("sqs:GetQueueUrl")),
                Some("events.amazonaws.com"),
            ),
            (
                "every action",
                allow(&events, json!("sqs:*")),
                Some("events.amazonaws.com"),
            ),
            (
                "another service",
                allow(&json!({"Service": "sns.amazonaws.com"}), send.clone()),
                Some("sns.amazonaws.com"),
            ),
            (
                "an account",
                allow(&json!({"AWS": "999999999999"}), send.clone()),
                Some("999999999999"),
            ),
            (
                "a service and an account",
                allow(&json!({"AWS": "9", "Service": "events.amazonaws.com"}), send.clone()),
                Some("9"),
            ),
            ("everyone", allow(&json!("*"), send.clone()), Some("*")),
            (
                "a reader, by its Sid",
                with(
                    allow(&json!({"AWS": "9"}), json!("sqs:ReceiveMessage")),
                    "Sid",
                    json!("Read"),
                ),
                Some("Read"),
            ),
            (
                "all but some actions",
                with(allow(&events, send.clone()), "NotAction", json!("sqs:x")),
                Some("events.amazonaws.com"),
            ),
            (
                "all but some principals",
                json!({"Effect": "Allow", "NotPrincipal": events, "Action": "sqs:SendMessage"}),
                Some("*"),
            ),
            (
                "a denial",
                with(allow(&json!("*"), send.clone()), "Effect", json!("Deny")),
                None,
            ),
            (
                "kibus's own",
                with(allow(&json!("*"), send.clone()), "Sid", json!("KibusX")),
                None,
            ),
        ] {
            let found = other_permissions(&Document::new(json!({ "Statement": [statement] })));
            assert_eq!(
                found.contains(named.unwrap_or_default()),
                named.is_some(),
                "{case}: {found:?}"
            );
            assert_eq!(found.is_empty(), named.is_none(), "{case}: {found:?}");
        }
    }
}
