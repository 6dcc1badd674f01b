//! The policies of the router and the controllers, and what keys need, from the files in `templates/policies`.

pub mod inline_policy;
pub mod queue_policy;
pub mod tag_conditions;

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::template;
use super::document::{Document, texts};
use super::karpenter::ASKS_EC2;
use super::name::{KmsKey, QueueName};
use super::options::HubOptions;
use super::scope::Scope;
use super::simulation::{Call, Simulation};

/// The prefix of the `Sid` of every statement that kibus writes.
const SID_PREFIX: &str = "Kibus";

/// The `Sid` of the statement with the queues that the router sends to.
const SENDS: &str = "KibusSendToClusters";

/// The `Sid` of the statement with the key of the queues.
const CURRENT_KEY: &str = "KibusUseKey";

/// The `Sid` of the statement with keys that the queues had before. It is a statement of its own, so that an old key never
/// counts as the key of the queues.
const OLD_KEYS: &str = "KibusUseOldKeys";

/// What a test of a customer key cannot show. SQS keeps a data key for `KmsDataKeyReusePeriodSeconds`, which kibus leaves at
/// its default of 300 (SQS API reference, `SetQueueAttributes`).
pub const KEPT_DATA_KEY: &str =
    "SQS keeps a data key for five minutes, and sends may succeed with it until then, so check again after that";

/// How a principal uses a customer key, through SQS only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyUse {
    /// To receive messages: a controller, and an operator.
    Receive,
    /// To receive and to send: the router.
    Route,
}

/// The trust policy of the router role: only Lambda.
pub fn router_trust() -> Document {
    template::fill(include_str!("../../templates/policies/router-trust.json"), &[])
}

/// The policy of the router, which sends to queues with the prefix. With tag conditions, a queue needs the tags of a cluster
/// of this bus too. Without them, a prefix that the hub's own queues have must not open them: their messages would come back
/// to the router.
pub fn router(scope: &Scope, options: &HubOptions) -> Document {
    let values = [
        ("hub_queue_arn", scope.queue_arn(&scope.hub_queue()).into()),
        (
            "dead_letter_queue_arn",
            scope.queue_arn(&scope.dead_letter_queue()).into(),
        ),
        (
            "cluster_queue_arns",
            scope.cluster_queue_arns(&options.queue_prefix()).to_vec().into(),
        ),
        ("bus", scope.bus.as_str().into()),
        ("log_group_arn", scope.log_group_arn(&scope.router_log_group()).into()),
    ];
    let mut policy = template::fill(include_str!("../../templates/policies/router.json"), &values);
    if !options.tag_conditions(&scope.region) {
        let by_name = include_str!("../../templates/policies/router-without-tag-conditions.json");
        replace_statements(&mut policy, &[SENDS], &template::fill(by_name, &values));
    }
    with_key(policy, KeyUse::Route, scope, options.key())
}

/// Whether a policy of the router requires tags on the queues that it sends to; `None` if it has no statement for them.
pub fn requires_tags(policy: &Document) -> Option<bool> {
    let statements = policy.statements();
    let sends = statements.iter().find(|statement| statement["Sid"] == SENDS)?;
    Some(sends.get("Condition").is_some())
}

/// The policy of a Karpenter controller: it reads its own queue.
pub fn controller(scope: &Scope, queue: &QueueName, key: Option<&KmsKey>) -> Document {
    let values = [("queue_arn", scope.queue_arn(queue).into())];
    let policy = template::fill(include_str!("../../templates/policies/controller.json"), &values);
    with_key(policy, KeyUse::Receive, scope, key)
}

/// The calls of a controller: those of its policy, and what it asks EC2.
pub fn controller_calls(scope: &Scope, queue: &QueueName) -> Simulation {
    let call = |action: &str, resource| Call {
        action: action.to_owned(),
        resource,
    };
    let policy = controller(scope, queue, None);
    let statements = policy.statements().into_iter();
    let actions = statements.flat_map(|statement| texts(statement.get("Action")));
    let of_queue = actions.map(|action| call(action, scope.queue_arn(queue)));
    let context = [
        ("aws:RequestedRegion", scope.region.to_string()),
        ("aws:SecureTransport", "true".to_owned()),
    ];
    Simulation {
        calls: of_queue.chain([call(ASKS_EC2, "*".to_owned())]).collect(),
        context: context.map(|(key, value)| (key.to_owned(), vec![value])).into(),
    }
}

/// The statement that a key policy needs so that rules can send to queues under the key. The router and the controllers
/// have their own policies for the key.
///
/// The actions are those of the SQS developer guide ("Key management") and the EventBridge user guide ("My events are
/// not delivered to the target Amazon SQS queue"), whose statement has no condition. `aws:SourceAccount` is what the
/// targets of AWS's CDK add for an encrypted queue (`aws-events-targets/lib/sqs.ts`). For SNS topics, and for those
/// only, AWS says that no `aws:Source...` condition works (SNS developer guide, "Key management").
pub fn key_statement(scope: &Scope) -> Document {
    let values = [("account", scope.account.as_str().into())];
    template::fill(include_str!("../../templates/policies/key.json"), &values)
}

/// Whether kibus wrote a statement, by its `Sid`.
pub(crate) fn is_ours(statement: &Value) -> bool {
    statement["Sid"].as_str().is_some_and(|sid| sid.starts_with(SID_PREFIX))
}

/// Whether kibus wrote every statement of a policy, by its `Sid`. A policy without statements does not count.
pub fn all_ours(policy: &Document) -> bool {
    let statements = policy.statements();
    !statements.is_empty() && statements.into_iter().all(is_ours)
}

/// What a policy allows as the key of the queues: the resources of kibus's statement for it.
pub fn current_keys(policy: &Document) -> BTreeSet<String> {
    keys_of(policy, &[CURRENT_KEY]).map(str::to_owned).collect()
}

/// All customer keys that the statements of kibus allow, current and old; what is no ARN of a key is skipped.
pub fn keys(policy: &Document) -> BTreeSet<KmsKey> {
    keys_of(policy, &[CURRENT_KEY, OLD_KEYS])
        .filter_map(|key| key.parse().ok())
        .collect()
}

fn keys_of<'a>(policy: &'a Document, sids: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let of_kibus = |statement: &&Value| sids.iter().any(|sid| statement["Sid"] == *sid);
    let statements = policy.statements().into_iter().filter(of_kibus);
    statements.flat_map(|statement| texts(statement.get("Resource")))
}

/// The policy, with a statement for the customer key of the queues if they have one.
pub(crate) fn with_key(policy: Document, key_use: KeyUse, scope: &Scope, key: Option<&KmsKey>) -> Document {
    allowing(policy, key_use, scope, CURRENT_KEY, key)
}

/// The policy, with a statement for keys that the queues had before, if there are any.
pub fn with_old_keys(policy: Document, key_use: KeyUse, scope: &Scope, keys: &BTreeSet<KmsKey>) -> Document {
    allowing(policy, key_use, scope, OLD_KEYS, keys)
}

fn allowing<'a>(
    mut policy: Document,
    key_use: KeyUse,
    scope: &Scope,
    sid: &str,
    keys: impl IntoIterator<Item = &'a KmsKey>,
) -> Document {
    let keys: Vec<&str> = keys.into_iter().map(KmsKey::as_str).collect();
    let keys = match keys.as_slice() {
        [] => return policy,
        [one] => Value::from(*one),
        several => several.into(),
    };
    let values = [
        ("sid", sid.into()),
        ("keys", keys),
        ("sqs_services", scope.sqs_services().into()),
    ];
    let statement = match key_use {
        KeyUse::Receive => include_str!("../../templates/policies/key-receive.json"),
        KeyUse::Route => include_str!("../../templates/policies/key-route.json"),
    };
    replace_statements(&mut policy, &[], &template::fill(statement, &values));
    policy
}

/// Replaces the statements with these Sids.
pub(crate) fn replace_statements(policy: &mut Document, sids: &[&str], by: &Document) {
    if let (Some(Value::Array(statements)), Value::Array(by)) = (policy.value_mut().get_mut("Statement"), by.value()) {
        statements.retain(|statement| !sids.iter().any(|sid| statement["Sid"] == *sid));
        statements.extend(by.iter().cloned());
    }
}

#[cfg(test)]
mod tests;
