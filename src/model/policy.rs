//! The policies of the router, the controllers and the queues, and the key policy statements, from the files in `templates/policies`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::model::{Document, HubOptions, KmsKey, QueueName, RuleName, Scope, fill_template, scope::LIVE, texts};

/// The prefix of the `Sid` of every statement that kibus writes.
const SID_PREFIX: &str = "Kibus";

/// The `Sid` of the statement with the queues that the router sends to.
const SENDS: &str = "KibusSendToClusters";

/// The `Sid` of the statement with the key of the queues.
const CURRENT_KEY: &str = "KibusUseKey";

/// The `Sid` of the statement with the queues' former keys.
const OLD_KEYS: &str = "KibusUseOldKeys";

/// The limit of a test with a customer key. SQS keeps a data key for `KmsDataKeyReusePeriodSeconds`, which kibus leaves at
/// its default of 300 (SQS API reference, `SetQueueAttributes`).
pub const KEPT_DATA_KEY: &str =
    "SQS caches a data key for five minutes, and sends may succeed with it until then, so check again later";

/// How a principal uses a customer key, through SQS only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyUse {
    /// To receive messages: a controller and an operator.
    Receive,
    /// To receive and to send: the router.
    Route,
}

/// A template, filled in with the names of a bus that any template can use, and with these values.
pub(crate) fn of_bus(scope: &Scope, template: &str, values: &[(&str, Value)]) -> Document {
    let function = scope.router_function();
    let names = [
        ("partition", scope.partition.to_string()),
        ("region", scope.region.to_string()),
        ("account", scope.account.to_string()),
        ("bus", scope.bus.to_string()),
        ("parameter_arn", scope.parameter_arn(&scope.settings_parameter())),
        ("hub_queue_arn", scope.queue_arn(&scope.hub_queue())),
        ("dead_letter_queue_arn", scope.queue_arn(&scope.dead_letter_queue())),
        ("probe_queue_arn", scope.queue_arn(&scope.probe_queue())),
        ("event_bus_arn", scope.event_bus_arn()),
        ("function_arn", scope.function_arn(&function)),
        ("alias_arn", scope.alias_arn(&function, LIVE)),
        ("log_group_arn", scope.log_group_arn(&scope.router_log_group())),
    ];
    let names = names.into_iter().map(|(name, value)| (name, value.into()));
    fill_template(template, &names.chain(values.iter().cloned()).collect::<Vec<_>>())
}

/// The trust policy of the router role: only Lambda.
pub fn router_trust() -> Document {
    fill_template(include_str!("../../templates/policies/router-trust.json"), &[])
}

/// The trust policy of the role of a drill: AWS FIS, for experiments of this account (FIS user guide, "IAM roles for AWS FIS
/// experiments").
#[cfg(feature = "cli")]
pub fn drill_trust(scope: &Scope) -> Document {
    of_bus(scope, include_str!("../../templates/policies/drill-trust.json"), &[])
}

/// The policy of that role: permission to interrupt this instance.
#[cfg(feature = "cli")]
pub fn drill_policy(scope: &Scope, instance: &crate::model::InstanceId) -> Document {
    let values = [("instance_arn", scope.instance_arn(instance).into())];
    of_bus(scope, include_str!("../../templates/policies/drill.json"), &values)
}

/// The policy of the router, which sends to queues with the names of cluster queues. With tag conditions, a queue also
/// needs the tags of a cluster on this bus. Without them, a pattern that covers the hub's own queues must not open
/// them: their messages would loop back to the router.
pub fn router_policy(scope: &Scope, options: &HubOptions) -> Document {
    let queues = scope.cluster_queue_arns(&options.queue_template()).to_vec();
    let values = [("cluster_queue_arns", queues.into())];
    let mut policy = of_bus(scope, include_str!("../../templates/policies/router.json"), &values);
    if !options.tag_conditions(&scope.region) {
        let by_name = include_str!("../../templates/policies/router-without-tag-conditions.json");
        replace_statements(&mut policy, &[SENDS], &of_bus(scope, by_name, &values));
    }
    if let Some(topic) = options.topic() {
        let notify = include_str!("../../templates/policies/router-notify.json");
        let values = [("topic_arn", scope.topic_arn(topic).into())];
        replace_statements(&mut policy, &[], &of_bus(scope, notify, &values));
    }
    with_key(policy, KeyUse::Route, scope, options.key())
}

/// Whether a policy of the router requires tags on the queues that it sends to; `None` if it has no statement for these queues.
pub fn requires_tags(policy: &Document) -> Option<bool> {
    let statements = policy.statements();
    let sends = statements.iter().find(|statement| statement["Sid"] == SENDS)?;
    Some(sends.get("Condition").is_some())
}

pub fn controller_policy(scope: &Scope, queue: &QueueName, key: Option<&KmsKey>) -> Document {
    let values = [("queue_arn", scope.queue_arn(queue).into())];
    let policy = of_bus(scope, include_str!("../../templates/policies/controller.json"), &values);
    with_key(policy, KeyUse::Receive, scope, key)
}

/// The statement that a key policy needs so that rules can send to queues encrypted with the key. The router and the
/// controllers have their own policies for the key.
///
/// The actions are those of the SQS developer guide ("Key management") and the EventBridge user guide ("My events are
/// not delivered to the target Amazon SQS queue"), whose statement has no condition. `aws:SourceAccount` is what AWS
/// CDK targets add for an encrypted queue (`aws-events-targets/lib/sqs.ts`). Only for SNS topics, AWS says that no
/// `aws:Source...` condition works (SNS developer guide, "Key management").
pub fn key_statement(scope: &Scope) -> Document {
    of_bus(scope, include_str!("../../templates/policies/key.json"), &[])
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

/// All customer keys that the statements of kibus allow, current and old; anything that is not a key ARN is skipped.
pub fn allowed_keys(policy: &Document) -> BTreeSet<KmsKey> {
    let of_kibus = |statement: &&Value| statement["Sid"] == CURRENT_KEY || statement["Sid"] == OLD_KEYS;
    let statements = policy.statements().into_iter().filter(of_kibus);
    let keys = statements.flat_map(|statement| texts(statement.get("Resource")));
    keys.filter_map(|key| key.parse().ok()).collect()
}

/// The policy, with a statement for the customer key of the queues if they have one.
pub(crate) fn with_key(policy: Document, key_use: KeyUse, scope: &Scope, key: Option<&KmsKey>) -> Document {
    allowing(policy, key_use, scope, CURRENT_KEY, key)
}

/// The policy, with a statement for the queues' former keys, if there are any.
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
    let services = scope.sqs_services().into();
    let values = [("sid", sid.into()), ("keys", keys), ("sqs_services", services)];
    let statement = match key_use {
        KeyUse::Receive => include_str!("../../templates/policies/key-receive.json"),
        KeyUse::Route => include_str!("../../templates/policies/key-route.json"),
    };
    replace_statements(&mut policy, &[], &of_bus(scope, statement, &values));
    policy
}

pub(crate) fn replace_statements(policy: &mut Document, sids: &[&str], by: &Document) {
    if let (Some(Value::Array(statements)), Value::Array(by)) = (policy.value_mut().get_mut("Statement"), by.value()) {
        statements.retain(|statement| !sids.iter().any(|sid| statement["Sid"] == *sid));
        statements.extend(by.iter().cloned());
    }
}

/// The policy of the hub queue and the dead-letter queue: TLS only, and only rules of this bus can send.
///
/// The lock denies where `aws:PrincipalIsAWSService` is `false`. The key is in every request that is signed with AWS
/// credentials (IAM user guide, "AWS global condition context keys"). `Bool` does not match a request without the key,
/// and `BoolIfExists` would deny it: such a request could only come from SQS itself, which moves messages to the
/// dead-letter queue, and whose request context is not documented. No statement allows an unsigned request.
pub fn hub_queue_policy<'a>(scope: &Scope, queue: &QueueName, rules: impl Iterator<Item = &'a RuleName>) -> Document {
    let rules: Vec<String> = rules.map(|rule| scope.rule_arn(rule)).collect();
    let values = [("queue_arn", scope.queue_arn(queue).into()), ("rule_arns", rules.into())];
    of_bus(scope, include_str!("../../templates/policies/hub-queue.json"), &values)
}

/// The policy of a queue that the router sends to: TLS only, and only the router's role can send.
///
/// The lock denies if `aws:PrincipalArn` is not the role, which includes requests without the key (IAM user guide, "IAM JSON
/// policy elements: Condition operators"). Role names are unique in an account, regardless of their paths: the two values
/// match no other role, and a role that is recreated with another path can still send.
pub fn cluster_queue_policy(scope: &Scope, queue: &QueueName) -> Document {
    let role = scope.router_role();
    let values = [
        ("queue_arn", scope.queue_arn(queue).into()),
        ("router_role_arns", vec![scope.roles_arn(role.as_str()), scope.roles_arn(&format!("*/{role}"))].into()),
    ];
    of_bus(scope, include_str!("../../templates/policies/cluster-queue.json"), &values)
}

/// The `Sid` of the lock of a cluster's queue.
const ROUTER_ONLY: &str = "KibusRouterOnly";

/// A statement by itself, without its Sid.
fn unnamed(statement: &Value) -> Document {
    let mut statement = statement.clone();
    statement.as_object_mut().map(|members| members.remove("Sid"));
    Document::new(json!({ "Statement": [statement] }))
}

/// Whether the policy of a queue lacks the denial of requests without TLS, and whether it lacks the lock, of the policy
/// that kibus would write. The Sids do not matter.
pub fn lacks(live: Option<&Document>, ours: &Document) -> [bool; 2] {
    let live: Vec<Document> = live.into_iter().flat_map(Document::statements).map(unnamed).collect();
    let missing = ours.statements().into_iter().filter(|one| !live.contains(&unnamed(one)));
    let (locks, others): (Vec<_>, Vec<_>) = missing.partition(|one| one["Sid"] == ROUTER_ONLY);
    [!others.is_empty(), !locks.is_empty()]
}

/// The statements of a policy that kibus would not write. The Sids do not matter.
pub fn statements_of_others<'a>(policy: &'a Document, ours: &Document) -> Vec<&'a Value> {
    let ours: Vec<Document> = ours.statements().into_iter().map(unnamed).collect();
    policy.statements().into_iter().filter(|statement| !ours.contains(&unnamed(statement))).collect()
}

/// Whether the policy of a cluster's queue has the lock of this bus: exactly the denial that kibus writes, with its Sid.
pub fn has_lock(scope: &Scope, queue: &QueueName, policy: &Document) -> bool {
    let locks = |policy: &Document| -> Vec<Document> {
        let statements = policy.statements().into_iter();
        statements.filter(|statement| statement["Sid"] == ROUTER_ONLY).map(unnamed).collect()
    };
    let ours = locks(&cluster_queue_policy(scope, queue));
    locks(policy).iter().any(|lock| ours.contains(lock))
}

/// Whether the policy of a queue has a kibus lock, by its Sid.
pub fn is_locked(policy: &Document) -> bool {
    let is_lock = |statement: &&Value| statement["Sid"] == ROUTER_ONLY || statement["Sid"] == "KibusServicesOnly";
    policy.statements().iter().any(is_lock)
}

/// The redrive allow policy of the dead-letter queue: only the hub queue.
pub fn redrive_from(scope: &Scope, source: &QueueName) -> Document {
    Document::new(json!({ "redrivePermission": "byQueue", "sourceQueueArns": [scope.queue_arn(source)] }))
}

/// The redrive allow policy of the other queues. Without one, any queue in the account and Region can use this queue as
/// its dead-letter queue (SQS API reference, `SetQueueAttributes`), and the queue policy does not apply to messages
/// that SQS moves.
pub fn no_redrive() -> Document {
    Document::new(json!({ "redrivePermission": "denyAll" }))
}

/// An inline policy as stored in IAM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinePolicy {
    /// Its name, which may violate kibus's rules for names.
    pub name: String,
    /// The document, exactly as IAM stores it.
    pub text: String,
}

impl InlinePolicy {
    pub fn document(&self) -> Option<Document> {
        Document::parse(&self.text).ok()
    }

    /// The document; if it cannot be parsed, it is kept as text, so that it differs from every desired one.
    pub fn document_or_text(&self) -> Document {
        self.document().unwrap_or_else(|| Document::new(Value::String(self.text.clone())))
    }
}

/// The characters of a document that count: not white space (IAM user guide, "IAM and STS character quotas").
pub fn policy_space(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}

#[cfg(test)]
mod tests;
