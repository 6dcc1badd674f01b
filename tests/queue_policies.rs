//! The policies of queues: who can send, within the limits of SQS, and without a principal that may be new.

use std::collections::BTreeMap;

use kibus::model::{
    ClusterRecord, Code, Document, Hub, Moment, QueueName, Resource, Scope, Signal,
    policy::{cluster_queue_policy, has_lock},
};
use serde_json::{Value, json};

use crate::permissions;
use crate::support::policy_simulator::Caller;

fn scope() -> Scope {
    let (bus, region) = ("a-bus-of-20-letters-".parse().unwrap(), "ap-southeast-4".parse().unwrap());
    Scope { bus, region, ..permissions::scope() }
}

fn policies() -> BTreeMap<QueueName, Document> {
    let scope = scope();
    let options = permissions::typed(&format!("--rebalance --queue-name {{cluster}}{}", "p".repeat(50)));
    let hub = Hub::new(&scope, options.clone(), Code::of_archive("0.1.0", "aa"));
    let name = "c".repeat(100).parse().unwrap();
    let cluster = ClusterRecord::new(&scope, &options, name, Moment(1));
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

/// Everyone here except services is allowed to send to every queue by their own policies.
#[test]
fn only_the_bus_sends_to_its_queues() {
    let scope = scope();
    let role = scope.router_role();
    let iam = |resource: &str| Caller::principal(format!("arn:aws:iam::111122223333:{resource}"));
    let events = |rule: &str| {
        Caller::service("events.amazonaws.com", format!("arn:aws:events:ap-southeast-4:111122223333:rule/{rule}"))
    };
    let our_rule = scope.rule(Signal::SpotInterruption);
    let (nothing, other_service) = (Caller::default(), Caller::service("sns.amazonaws.com", scope.rule_arn(&our_rule)));
    let (hub, clusters, nowhere) = ([true, false], [false, true], [false; 2]);
    for (sender, request, expected) in [
        ("a user", iam("user/dev"), nowhere),
        ("the root user", iam("root"), nowhere),
        ("another role", iam("role/deploy"), nowhere),
        ("the router", iam(&format!("role/{role}")), clusters),
        ("the router at a path", iam(&format!("role/x/y/{role}")), clusters),
        ("a role whose name ends alike", iam(&format!("role/x-{role}")), nowhere),
        ("a role whose name begins alike", iam(&format!("role/{role}-x")), nowhere),
        ("a role at a path that is named alike", iam(&format!("role/{role}/x")), nowhere),
        ("a user with the name of the role", iam(&format!("user/{role}")), nowhere),
        ("such a role of another account", Caller::principal(format!("arn:aws:iam::9:role/{role}")), nowhere),
        ("a rule of this bus", events(our_rule.as_str()), hub),
        ("another rule", events("Karpenter-SpotInterruption"), nowhere),
        ("another service for such a resource", other_service, nowhere),
        ("nobody: an unsigned request", nothing, nowhere),
    ] {
        for (queue, policy) in policies() {
            let of_hub = queue == scope.hub_queue() || queue == scope.dead_letter_queue();
            assert_eq!(
                request.may_send(&scope.queue_arn(&queue), &policy),
                expected[usize::from(!of_hub)],
                "{sender} to {queue}"
            );
        }
    }
}

/// The label of `AddPermission` becomes the Sid of a statement that allows, so a Sid alone is not a lock.
#[test]
fn a_lock_is_exactly_the_denial_of_this_bus() {
    let scope = scope();
    let queue = scope.probe_queue();
    let ours = cluster_queue_policy(&scope, &queue);
    let with = |statement: Value| {
        let mut policy = ours.clone();
        policy.value_mut()["Statement"].as_array_mut().unwrap().push(statement);
        policy
    };
    let changed = |pointer: &str, value: Value| {
        let mut policy = ours.clone();
        let lock = policy.value_mut()["Statement"].as_array_mut().unwrap();
        let lock = lock.iter_mut().find(|statement| statement["Sid"] == "KibusRouterOnly").unwrap();
        *lock.pointer_mut(pointer).unwrap() = value;
        policy
    };
    let two = Scope { bus: "two".parse().unwrap(), ..scope.clone() };
    for (case, policy, is_locked) in [
        ("its own", ours.clone(), true),
        ("with more that allows", with(json!({"Sid": "x", "Effect": "Allow", "Principal": "*"})), true),
        ("with a label like it", with(json!({"Sid": "KibusRouterOnly", "Effect": "Allow"})), true),
        ("under another name", changed("/Sid", json!("Lock")), false),
        ("that allows", changed("/Effect", json!("Allow")), false),
        ("of other actions", changed("/Action", json!("sqs:ReceiveMessage")), false),
        ("under another condition", changed("/Condition", json!({})), false),
        ("of another queue", cluster_queue_policy(&scope, &scope.hub_queue()), false),
        ("of another bus", cluster_queue_policy(&two, &queue), false),
    ] {
        assert_eq!(has_lock(&scope, &queue, &policy), is_locked, "{case}");
    }
}

/// SQS moves a message to the dead-letter queue itself. AWS documents no request context for that, so no condition may match a missing key.
#[test]
fn what_has_no_context_is_not_denied_at_the_dead_letter_queue() {
    let itself = Caller::default().whose_policies_allow(true);
    let queue = scope().dead_letter_queue();
    assert!(itself.may_send(&scope().queue_arn(&queue), &policies()[&queue]));
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
    for policy in policies().into_values() {
        let statements = policy.statements();
        let actions = statements.iter().map(|statement| count(&statement["Action"])).max();
        let conditions: usize = statements.iter().map(|statement| operators(statement)).sum();
        let used = [policy.compact().len(), statements.len(), conditions, actions.unwrap_or_default()];
        for (used, limit) in used.into_iter().zip([8192, 20, 10, 7]) {
            assert!(used * 2 < limit, "{used} of {limit}: {}", policy.pretty());
        }
    }
}

fn operators(statement: &Value) -> usize {
    let operators = statement["Condition"].as_object().into_iter().flatten();
    operators.map(|(_, keys)| keys.as_object().map_or(0, serde_json::Map::len)).sum()
}

/// S7: an IAM principal that was just created is refused for some seconds; a service never is.
#[test]
fn s7_principals_are_services_or_everyone() {
    for policy in policies().into_values() {
        for statement in policy.statements() {
            let principal = &statement["Principal"];
            let services = principal.as_object().is_some_and(|of| of.keys().eq(["Service"]));
            assert!(services || principal == "*", "{principal}");
        }
    }
}
