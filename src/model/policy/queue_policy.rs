//! The policies of queues, from the files in `templates/policies`: who may send.

use serde_json::{Value, json};

use crate::model::document::Document;
use crate::model::document::template;
use crate::model::name::{QueueName, RuleName};
use crate::model::policy::{is_ours, replace_statements};
use crate::model::scope::Scope;

/// Which principals of the account may send to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Senders {
    /// Those that kibus means: rules send to the hub queue and the dead-letter queue, the router to the others.
    Locked,
    /// Also every principal whose own policy allows it.
    ByTheirPolicies,
}

/// The policy of the hub queue and the dead-letter queue: TLS only, and of all AWS services only rules of this bus may
/// send. If it is locked, nothing else may.
///
/// The lock denies where `aws:PrincipalIsAWSService` is `false`. The key is in every request that is signed with AWS
/// credentials (IAM user guide, "AWS global condition context keys"). `Bool` does not match a request without the key,
/// and `BoolIfExists` would deny it: that could only be SQS itself, which moves messages to the dead-letter queue and
/// for which no context is documented. An unsigned request has no statement that allows it.
#[must_use]
pub fn hub_queue<'a>(
    scope: &Scope,
    queue: &QueueName,
    rules: impl Iterator<Item = &'a RuleName>,
    senders: Senders,
) -> Document {
    let rules: Vec<String> = rules.map(|rule| scope.rule_arn(rule)).collect();
    let values = [
        ("queue_arn", scope.queue_arn(queue).into()),
        ("rule_arns", rules.into()),
    ];
    let policy = include_str!("../../../templates/policies/hub-queue.json");
    let lock = include_str!("../../../templates/policies/hub-queue-lock.json");
    with_lock(policy, lock, &values, senders)
}

/// The policy of a queue that the router sends to: TLS only. If it is locked, only the router's role may send.
///
/// The lock denies where `aws:PrincipalArn` is not the role, so also where the key is absent (IAM user guide, "IAM JSON
/// policy elements: Condition operators"). The names of roles are unique in an account, whatever their paths: the two
/// values match no other role, and a role that is recreated at another path stays able to send.
#[must_use]
pub fn cluster_queue(scope: &Scope, queue: &QueueName, senders: Senders) -> Document {
    let role = scope.router_role();
    let values = [
        ("queue_arn", scope.queue_arn(queue).into()),
        (
            "router_role_arns",
            vec![scope.roles_arn(role.as_str()), scope.roles_arn(&format!("*/{role}"))].into(),
        ),
    ];
    let policy = include_str!("../../../templates/policies/cluster-queue.json");
    let lock = include_str!("../../../templates/policies/cluster-queue-lock.json");
    with_lock(policy, lock, &values, senders)
}

/// The policy of an adopted queue that keeps its senders: not locked, with the statements that allow them.
#[must_use]
pub fn with_senders(scope: &Scope, queue: &QueueName, senders: &[Value]) -> Document {
    let mut policy = cluster_queue(scope, queue, Senders::ByTheirPolicies);
    replace_statements(&mut policy, &[], &Document::new(senders.into()));
    policy
}

/// The policy of a queue without the statements of kibus; `None` if nothing is left of it.
#[must_use]
pub fn without_ours(policy: &Document) -> Option<Document> {
    let statements = policy.statements().into_iter().filter(|statement| !is_ours(statement));
    let statements: Vec<Value> = statements.cloned().collect();
    let mut left = policy.value().clone();
    left["Statement"] = statements.clone().into();
    (!statements.is_empty()).then(|| Document::new(left))
}

/// Whether the policy of a queue has a lock of kibus.
#[must_use]
pub fn is_locked(policy: &Document) -> bool {
    let locks = ["KibusServicesOnly", "KibusRouterOnly"];
    policy
        .statements()
        .iter()
        .any(|statement| locks.iter().any(|sid| statement["Sid"] == *sid))
}

/// Whether the second policy of a queue has a lock that the first one lacks, and both have the statement by which rules
/// may send.
#[must_use]
pub fn only_locks(before: &Document, after: &Document) -> bool {
    let of_rules = |policy: &Document| {
        let statements = policy.statements().into_iter().cloned();
        let mut of_rules = statements.filter(|statement| statement["Sid"] == "KibusRulesSend");
        of_rules.next()
    };
    !is_locked(before) && is_locked(after) && of_rules(before).is_some() && of_rules(before) == of_rules(after)
}

fn with_lock(policy: &str, lock: &str, values: &[(&str, Value)], senders: Senders) -> Document {
    let mut policy = template::fill(policy, values);
    if senders == Senders::Locked {
        replace_statements(&mut policy, &[], &template::fill(lock, values));
    }
    policy
}

/// The redrive allow policy of the dead-letter queue: only the hub queue.
#[must_use]
pub fn redrive_from(scope: &Scope, source: &QueueName) -> Document {
    Document::new(json!({ "redrivePermission": "byQueue", "sourceQueueArns": [scope.queue_arn(source)] }))
}

/// The redrive allow policy of the other queues. Without one, any queue of the account and Region may have this queue as its
/// dead-letter queue (SQS API reference, `SetQueueAttributes`), and the queue policy does not apply to what SQS moves.
#[must_use]
pub fn no_redrive() -> Document {
    Document::new(json!({ "redrivePermission": "denyAll" }))
}
