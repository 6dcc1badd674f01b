//! The policies of queues: who may send, within the limits of SQS, and without a principal that may be new.

use std::collections::BTreeMap;

use kibus::iam::grants::{matches, matches_action};
use kibus::model::{
    Cluster, Code, Document, GlobalOptions, Hub, HubOptions, QueueName, Resource, Scope, Senders, Signal,
    policy::{
        QueueOrigin, adopted_queue_policy, bus_of_queue_policy, cluster_queue_policy, without_ours, without_permissions,
    },
    texts,
};
use serde_json::Value;

fn scope() -> Scope {
    Scope {
        bus: "a-bus-of-20-letters-".parse().unwrap(),
        account: "111122223333".parse().unwrap(),
        region: "ap-southeast-4".parse().unwrap(),
        partition: "aws".parse().unwrap(),
        options: GlobalOptions::default(),
    }
}

/// The policies of all queues, with the longest names.
fn policies(lock: Option<bool>) -> BTreeMap<QueueName, Document> {
    let scope = scope();
    let options = HubOptions {
        queue_prefix: Some("p".repeat(40).parse().unwrap()),
        rebalance: Some(true),
        lock_queues: lock,
        ..HubOptions::default()
    };
    let hub = Hub::new(&scope, options.clone(), Code::of_archive("0.1.0", "aa"));
    let name = "c".repeat(100).parse().unwrap();
    let cluster = Cluster::new(&scope, &options.queue_prefix(), name, None);
    let mut desired = hub.desired();
    desired.extend(cluster.desired(&scope, &options.into()));
    let policy = |resource: &Resource| match resource {
        Resource::Queue(queue) => Some((queue.name.clone(), queue.policy.clone()?)),
        _ => None,
    };
    let policies: BTreeMap<_, _> = desired.resources().filter_map(policy).collect();
    assert_eq!(policies.len(), 4, "the hub queue, dead letters, probes, a cluster");
    policies
}

/// A request to send a message: the context that AWS gives to policies, and whether the sender's own policies allow it.
#[derive(Clone, Default)]
pub(crate) struct Sender {
    context: BTreeMap<&'static str, String>,
    service: Option<&'static str>,
    own_policies_allow: bool,
}

impl Sender {
    /// A user, role or root user whose own policies allow it to send to every queue, by its ARN.
    pub(crate) fn principal(arn: impl Into<String>) -> Self {
        let context = [
            ("aws:PrincipalArn", arn.into()),
            ("aws:PrincipalIsAWSService", "false".to_owned()),
            ("aws:SecureTransport", "true".to_owned()),
        ];
        Self { context: context.into(), service: None, own_policies_allow: true }
    }

    /// A service that sends for a resource.
    pub(crate) fn service(name: &'static str, source: String) -> Self {
        let context = [
            ("aws:SourceArn", source),
            ("aws:PrincipalIsAWSService", "true".to_owned()),
            ("aws:SecureTransport", "true".to_owned()),
        ];
        Self { context: context.into(), service: Some(name), own_policies_allow: false }
    }

    /// The same for a resource of this account, as far as AWS says so.
    pub(crate) fn of_account(mut self, account: &str) -> Self {
        self.context.insert("aws:SourceAccount", account.to_owned());
        self
    }

    /// Whether it may send to a queue with this policy (IAM user guide, "Policy evaluation logic", within one account). A
    /// condition that this does not know fails the test.
    pub(crate) fn may_send(&self, policy: &Document) -> bool {
        let says = |effect: &str| {
            policy.statements().into_iter().any(|statement| statement["Effect"] == effect && self.is_meant(statement))
        };
        !says("Deny") && (self.own_policies_allow || says("Allow"))
    }

    fn is_meant(&self, statement: &Value) -> bool {
        let is_in = |who: &Value| {
            let service = texts(who.get("Service"));
            *who == "*" || self.service.is_some_and(|name| service.contains(&name))
        };
        let principal = match statement.get("NotPrincipal") {
            Some(who) => !is_in(who),
            None => is_in(&statement["Principal"]),
        };
        let actions = texts(statement.get("Action"));
        let conditions = statement["Condition"].as_object().into_iter().flatten();
        principal
            && actions.iter().any(|action| matches_action(action, "sqs:SendMessage"))
            && conditions.into_iter().all(|(operator, keys)| {
                keys.as_object().unwrap().iter().all(|(key, values)| self.holds(operator, key, &texts(Some(values))))
            })
    }

    fn holds(&self, operator: &str, key: &str, values: &[&str]) -> bool {
        if operator == "Null" {
            return values == [(!self.context.contains_key(key)).to_string()];
        }
        let Some(actual) = self.context.get(key) else {
            return operator.contains("Not") || operator.ends_with("IfExists");
        };
        let any = |like: fn(&str, &str) -> bool| values.iter().any(|value| like(value, actual));
        match operator.trim_end_matches("IfExists") {
            "Bool" => any(|value, actual| value == actual),
            "ArnEquals" => any(arn_like),
            "ArnNotLike" => !any(arn_like),
            "StringNotEquals" => !any(|value, actual| value == actual),
            other => panic!("{other} is not evaluated"),
        }
    }
}

/// The ARN operators compare each of the six parts on its own (IAM user guide, "IAM JSON policy elements: Condition
/// operators").
fn arn_like(pattern: &str, arn: &str) -> bool {
    let (pattern, arn): (Vec<_>, Vec<_>) = (pattern.splitn(6, ':').collect(), arn.splitn(6, ':').collect());
    pattern.len() == arn.len() && pattern.into_iter().zip(arn).all(|(pattern, part)| matches(pattern, part))
}

/// Everyone here except services may send to every queue by their own policies.
#[test]
fn only_the_bus_sends_to_its_queues() {
    let scope = scope();
    let role = scope.router_role();
    let iam = |resource: &str| Sender::principal(format!("arn:aws:iam::111122223333:{resource}"));
    let events = |rule: &str| {
        Sender::service("events.amazonaws.com", format!("arn:aws:events:ap-southeast-4:111122223333:rule/{rule}"))
    };
    let our_rule = scope.rule(Signal::SpotInterruption);
    let nothing = Sender::default();
    let (hub, clusters, nowhere, everywhere) = ([true, false], [false, true], [false; 2], [true; 2]);
    for (sender, request, locked, unlocked) in [
        ("a user", iam("user/dev"), nowhere, everywhere),
        ("the root user", iam("root"), nowhere, everywhere),
        ("another role", iam("role/deploy"), nowhere, everywhere),
        ("the router", iam(&format!("role/{role}")), clusters, everywhere),
        ("the router at a path", iam(&format!("role/x/y/{role}")), clusters, everywhere),
        ("a role whose name ends alike", iam(&format!("role/x-{role}")), nowhere, everywhere),
        ("a role whose name begins alike", iam(&format!("role/{role}-x")), nowhere, everywhere),
        ("a role at a path that is named alike", iam(&format!("role/{role}/x")), nowhere, everywhere),
        ("a user with the name of the role", iam(&format!("user/{role}")), nowhere, everywhere),
        (
            "such a role of another account",
            Sender::principal(format!("arn:aws:iam::999999999999:role/{role}")),
            nowhere,
            everywhere,
        ),
        ("a rule of this bus", events(our_rule.as_str()), hub, hub),
        ("another rule", events("Karpenter-SpotInterruption"), nowhere, nowhere),
        (
            "another service for such a resource",
            Sender::service("sns.amazonaws.com", scope.rule_arn(&our_rule)),
            nowhere,
            nowhere,
        ),
        ("nobody: an unsigned request", nothing, nowhere, nowhere),
    ] {
        for (lock, expected) in [(None, locked), (Some(true), locked), (Some(false), unlocked)] {
            for (queue, policy) in policies(lock) {
                let of_hub = queue == scope.hub_queue() || queue == scope.dead_letter_queue();
                let expected = expected[usize::from(!of_hub)];
                assert_eq!(request.may_send(&policy), expected, "{sender} to {queue}, lock {lock:?}");
            }
        }
    }
}

const OWNER: &str = r#"{"Version":"2008-10-17","Id":"EC2InterruptionPolicy","Statement":[
    {"Effect":"Allow","Principal":{"Service":["events.amazonaws.com","sqs.amazonaws.com"]},"Action":"sqs:SendMessage",
     "Resource":"*"},
    {"Sid":"DenyHTTP","Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"*",
     "Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}"#;

/// The old rules of an adopted queue still send, and of all others only the router.
#[test]
fn an_adopted_queue_is_locked_too() {
    let scope = scope();
    let role = scope.router_role();
    let queue = scope.probe_queue();
    let owner = Document::parse(OWNER).unwrap();
    let policy = |senders| adopted_queue_policy(&scope, &queue, senders, Some(&owner));
    let iam = |resource: &str| Sender::principal(format!("arn:aws:iam::111122223333:{resource}"));
    let rule = || {
        let rule = "arn:aws:events:ap-southeast-4:111122223333:rule/Karpenter-SpotInterruption";
        Sender::service("events.amazonaws.com", rule.to_owned())
    };
    for (sender, request, locked, unlocked) in [
        ("a user", iam("user/dev"), false, true),
        ("another role", iam("role/deploy"), false, true),
        ("the router", iam(&format!("role/{role}")), true, true),
        ("the router at a path", iam(&format!("role/x/{role}")), true, true),
        ("an old rule", rule().of_account("111122223333"), true, true),
        ("an old rule, without an account", rule(), true, true),
        ("a rule of another account", rule().of_account("999999999999"), false, true),
        (
            "another service",
            Sender::service("sns.amazonaws.com", String::new()).of_account("111122223333"),
            false,
            false,
        ),
        ("nobody: an unsigned request", Sender::default(), false, false),
    ] {
        for (senders, expected) in [(Senders::Locked, locked), (Senders::ByTheirPolicies, unlocked)] {
            assert_eq!(request.may_send(&policy(senders)), expected, "{sender}, {senders:?}");
        }
    }
    let policy = policy(Senders::Locked);
    assert_eq!(without_ours(&policy), Some(owner.clone()), "what is left when it is handed back");
    let dropped = adopted_queue_policy(&scope, &queue, Senders::Locked, without_permissions(&owner).as_ref());
    assert!(!rule().may_send(&dropped), "its senders are dropped");
    assert_eq!(dropped.statements()[0]["Sid"], "DenyHTTP", "a denial of the owner stays");
}

/// The label of `AddPermission` becomes the Sid of a statement that allows: none can make kibus delete a queue.
#[test]
fn a_policy_says_how_kibus_came_by_a_queue() {
    use QueueOrigin::{Adopted, Created};
    let scope = scope();
    let created = cluster_queue_policy(&scope, &scope.probe_queue(), Senders::Locked);
    let adopted = adopted_queue_policy(&scope, &scope.probe_queue(), Senders::Locked, None);
    let with = |policy: &Document, sid: &str, effect: &str| {
        let mut policy = policy.clone();
        let statement = serde_json::json!({"Sid": sid, "Effect": effect});
        policy.value_mut()["Statement"].as_array_mut().unwrap().push(statement);
        policy
    };
    let owner = Document::parse(OWNER).unwrap();
    for (case, policy, origin) in [
        ("created", created.clone(), Some(Created)),
        ("adopted", adopted.clone(), Some(Adopted)),
        ("of another tool", owner.clone(), None),
        ("of another tool, labeled", with(&owner, "KibusCreated", "Allow"), Some(Adopted)),
        ("created, labeled", with(&created, "KibusAdopted", "Allow"), Some(Adopted)),
        ("created, with another label", with(&created, "KibusX", "Allow"), Some(Created)),
        ("adopted, labeled", with(&adopted, "KibusCreated", "Allow"), Some(Adopted)),
        ("one statement of kibus is left", with(&owner, "KibusRouterOnly", "Deny"), Some(Adopted)),
    ] {
        assert_eq!(QueueOrigin::of(&policy), origin, "{case}");
    }
    let two = Scope { bus: "two".parse().unwrap(), ..scope.clone() };
    assert_eq!(bus_of_queue_policy(&two, &created), Some(scope.bus.clone()), "the lock names the router of the bus");
    assert_eq!(bus_of_queue_policy(&scope, &owner), None);
}

/// SQS moves a message to the dead-letter queue itself. AWS documents no context for that, so no condition may match its
/// absence.
#[test]
fn what_has_no_context_is_not_denied_at_the_dead_letter_queue() {
    let itself = Sender { own_policies_allow: true, ..Sender::default() };
    assert!(itself.may_send(&policies(None)[&scope().dead_letter_queue()]));
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.values().map(count).sum(),
        Value::Null => 0,
        _ => 1,
    }
}

/// S8: the quotas of policies in the SQS developer guide. More than half of each stays free.
#[test]
fn s8_a_policy_uses_less_than_half_of_each_limit() {
    for policy in policies(None).into_values() {
        let statements = policy.statements();
        let actions = statements.iter().map(|statement| count(&statement["Action"])).max();
        let conditions: usize = statements.iter().map(|statement| operators(statement)).sum();
        let used = [policy.compact().len(), statements.len(), conditions, actions.unwrap_or_default()];
        for (used, limit) in used.into_iter().zip([8192, 20, 10, 7]) {
            assert!(used * 2 < limit, "{used} of {limit}: {}", policy.pretty());
        }
    }
}

/// The condition keys of a statement.
fn operators(statement: &Value) -> usize {
    let operators = statement["Condition"].as_object().into_iter().flatten();
    operators.map(|(_, keys)| keys.as_object().map_or(0, serde_json::Map::len)).sum()
}

/// S7: a principal of IAM that was just created is refused for some seconds; a service never is.
#[test]
fn s7_principals_are_services_or_everyone() {
    for policy in policies(None).into_values() {
        for statement in policy.statements() {
            let principal = &statement["Principal"];
            let services = principal.as_object().is_some_and(|of| of.keys().eq(["Service"]));
            assert!(services || principal == "*", "{principal}");
        }
    }
}
