//! The policies of queues, from the files in `templates/policies`: who may send.

use serde_json::{Value, json};

use crate::model::document::template;
use crate::model::document::{Document, texts};
use crate::model::name::{BusName, QueueName, RuleName};
use crate::model::policy::{is_ours, replace_statements};
use crate::model::scope::Scope;

/// How kibus came by a queue. The queue's policy says it, by the Sid of the statement that each of its queues has: who can
/// write that could do anything with the queue, and who may only tag cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOrigin {
    /// Kibus created it, so kibus deletes it.
    Created,
    /// It existed before, so kibus hands it back.
    Adopted,
}

const CREATED: &str = "KibusCreated";
const ADOPTED: &str = "KibusAdopted";

impl QueueOrigin {
    /// What the policy of a queue says; `None` if it has no statement of kibus. Only the denial that kibus writes says that
    /// it created the queue, and any other statement of kibus that it did not: the label of `AddPermission` becomes the Sid
    /// of a statement that allows, so adding one can only prevent a delete.
    pub fn of(policy: &Document) -> Option<Self> {
        let mut ours = policy.statements();
        ours.retain(|statement| is_ours(statement));
        let says_created = |statement: &&Value| statement["Sid"] == CREATED && statement["Effect"] == "Deny";
        let created = ours.iter().any(says_created) && !ours.iter().any(|statement| statement["Sid"] == ADOPTED);
        let origin = if created { Self::Created } else { Self::Adopted };
        (!ours.is_empty()).then_some(origin)
    }

    fn sid(self) -> &'static str {
        match self {
            Self::Created => CREATED,
            Self::Adopted => ADOPTED,
        }
    }
}

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

/// The policy of a queue that the router sends to and kibus created: TLS only. If it is locked, only the router's role may
/// send.
///
/// The lock denies where `aws:PrincipalArn` is not the role, so also where the key is absent (IAM user guide, "IAM JSON
/// policy elements: Condition operators"). The names of roles are unique in an account, whatever their paths: the two
/// values match no other role, and a role that is recreated at another path stays able to send.
pub fn cluster_queue(scope: &Scope, queue: &QueueName, senders: Senders) -> Document {
    let lock = include_str!("../../../templates/policies/cluster-queue-lock.json");
    let mut policy = of_router(scope, queue, QueueOrigin::Created, lock, senders);
    if let (Senders::ByTheirPolicies, Value::Object(members)) = (senders, policy.value_mut()) {
        members.insert("Id".to_owned(), format!("{BUS_ID}{}", scope.bus).into());
    }
    policy
}

/// Where no lock has the router's role, the id of the policy names the bus.
const BUS_ID: &str = "kibus/";

/// The policy of an adopted queue: what its owner's policy says, and the statements of kibus. If it is locked, the owner's
/// statements can let only services send, and those of other accounts not where AWS names the account of the source. A
/// request of a service without that key is not denied, or the rules of the account might be.
pub fn adopted_queue(scope: &Scope, queue: &QueueName, senders: Senders, owner: Option<&Document>) -> Document {
    let lock = include_str!("../../../templates/policies/adopted-queue-lock.json");
    let ours = of_router(scope, queue, QueueOrigin::Adopted, lock, senders);
    let Some(owner) = owner else { return ours };
    let statements = owner.statements().into_iter().chain(ours.statements());
    with_statements(owner, statements.cloned().collect())
}

fn of_router(scope: &Scope, queue: &QueueName, origin: QueueOrigin, lock: &str, senders: Senders) -> Document {
    let role = scope.router_role();
    let values = [
        ("sid", origin.sid().into()),
        ("account", scope.account.as_str().into()),
        ("queue_arn", scope.queue_arn(queue).into()),
        (
            "router_role_arns",
            vec![scope.roles_arn(role.as_str()), scope.roles_arn(&format!("*/{role}"))].into(),
        ),
    ];
    let policy = include_str!("../../../templates/policies/cluster-queue.json");
    with_lock(policy, lock, &values, senders)
}

/// The policy of a queue without the statements of kibus; `None` if nothing is left of it.
pub fn without_ours(policy: &Document) -> Option<Document> {
    keeping(policy, |statement| !is_ours(statement))
}

/// The policy of a queue without the statements that allow something; `None` if nothing is left of it.
pub fn without_permissions(policy: &Document) -> Option<Document> {
    keeping(policy, |statement| statement["Effect"] != "Allow")
}

fn keeping(policy: &Document, keeps: impl Fn(&Value) -> bool) -> Option<Document> {
    let statements = policy.statements().into_iter().filter(|statement| keeps(statement));
    let statements: Vec<Value> = statements.cloned().collect();
    (!statements.is_empty()).then(|| with_statements(policy, statements))
}

/// A policy with other statements; its version and its id stay.
fn with_statements(policy: &Document, statements: Vec<Value>) -> Document {
    let mut policy = policy.clone();
    if let Value::Object(members) = policy.value_mut() {
        members.insert("Statement".to_owned(), statements.into());
    }
    policy
}

/// The Sids of the locks of queues, the last two with the router's role.
const LOCKS: [&str; 3] = ["KibusServicesOnly", "KibusRouterOnly", "KibusRouterAndServices"];

/// Whether the policy of a queue has a lock of kibus.
pub fn is_locked(policy: &Document) -> bool {
    locks(policy).next().is_some()
}

/// The bus that the policy of a cluster's queue names: the one whose router may send past the lock, this one if several may, or
/// the one of its id; `None` if it names none.
pub fn bus_of(scope: &Scope, policy: &Document) -> Option<BusName> {
    let arns = locks(policy).flat_map(|lock| texts(lock.pointer("/Condition/ArnNotLike/aws:PrincipalArn")));
    let roles = arns.filter_map(|arn| arn.rsplit('/').next());
    let buses = roles.filter_map(|role| scope.bus_of_router_role(role));
    let by_id = || policy.value()["Id"].as_str()?.strip_prefix(BUS_ID)?.parse().ok();
    buses.max_by_key(|bus| *bus == scope.bus).or_else(by_id)
}

fn locks(policy: &Document) -> impl Iterator<Item = &Value> {
    let statements = policy.statements().into_iter();
    statements.filter(|statement| LOCKS.iter().any(|sid| statement["Sid"] == *sid))
}

/// Whether the second policy of a queue has a lock that the first one lacks, and both have the statement by which rules
/// may send.
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
pub fn redrive_from(scope: &Scope, source: &QueueName) -> Document {
    Document::new(json!({ "redrivePermission": "byQueue", "sourceQueueArns": [scope.queue_arn(source)] }))
}

/// The redrive allow policy of the other queues. Without one, any queue of the account and Region may have this queue as its
/// dead-letter queue (SQS API reference, `SetQueueAttributes`), and the queue policy does not apply to what SQS moves.
pub fn no_redrive() -> Document {
    Document::new(json!({ "redrivePermission": "denyAll" }))
}
