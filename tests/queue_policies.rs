//! The policies of queues: within the limits of SQS, and without a principal that may be new.

use kibus::model::cluster::Cluster;
use kibus::model::document::Document;
use kibus::model::hub::Hub;
use kibus::model::options::{ClusterOptions, HubOptions};
use kibus::model::resource::{Code, Resource};
use kibus::model::scope::Scope;
use serde_json::Value;

/// The policies of all queues, with the longest names.
fn policies() -> Vec<Document> {
    let scope = Scope {
        bus: "a-bus-of-20-letters-".parse().unwrap(),
        account: "111122223333".parse().unwrap(),
        region: "ap-southeast-4".parse().unwrap(),
        partition: "aws".parse().unwrap(),
    };
    let options = HubOptions {
        queue_prefix: Some("p".repeat(40).parse().unwrap()),
        rebalance: Some(true),
        ..HubOptions::default()
    };
    let hub = Hub::new(&scope, options, Code::of_archive("0.1.0", "aa"));
    let name = "c".repeat(100).parse().unwrap();
    let cluster = Cluster::new(&scope, &hub.queue_prefix(), name, None, ClusterOptions::default());
    let mut desired = hub.desired();
    desired.extend(cluster.desired(&scope, None));
    let policy = |resource: &Resource| match resource {
        Resource::Queue(queue) => queue.policy.clone(),
        _ => None,
    };
    let policies: Vec<_> = desired.resources().filter_map(policy).collect();
    assert_eq!(policies.len(), 4, "the hub queue, dead letters, probes, a cluster");
    policies
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
    for policy in policies() {
        let statements = policy.statements();
        let actions = statements.iter().map(|statement| count(&statement["Action"])).max();
        let conditions: usize = statements.iter().map(|statement| operators(statement)).sum();
        let used = [
            policy.compact().len(),
            statements.len(),
            conditions,
            actions.unwrap_or_default(),
        ];
        for (used, limit) in used.into_iter().zip([8192, 20, 10, 7]) {
            assert!(used * 2 < limit, "{used} of {limit}: {}", policy.pretty());
        }
    }
}

/// The condition keys of a statement.
fn operators(statement: &Value) -> usize {
    let operators = statement["Condition"].as_object().into_iter().flatten();
    operators
        .map(|(_, keys)| keys.as_object().map_or(0, serde_json::Map::len))
        .sum()
}

/// S7: a principal of IAM that was just created is refused for some seconds; a service never is.
#[test]
fn s7_principals_are_services_or_everyone() {
    for policy in policies() {
        for statement in policy.statements() {
            let principal = &statement["Principal"];
            let services = principal.as_object().is_some_and(|of| of.keys().eq(["Service"]));
            assert!(services || principal == "*", "{principal}");
        }
    }
}
