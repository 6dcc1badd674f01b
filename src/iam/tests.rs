//! What the policies of kibus allow, and any policy that is read back.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::grants::{lets_role_decrypt, lets_role_receive, matches, other_senders, queues_received_from};
use super::operator_policy::{RolePattern, operator};
use super::service_access::lets_rules_in;
use crate::model::{
    Document, HubOptions, QueueName, QueuePrefix, Senders, Signal, policy,
    readings::{any_policy, any_text},
    region::WITHOUT_QUEUE_TAG_CONDITIONS,
    scope::tests::{scope, scope_in},
    texts,
};

proptest! {
    #[test]
    fn any_policy_can_be_judged(value in any_policy(), pattern in any_text()) {
        let policy = Document::new(value);
        let rules = [scope().rule_arn(&scope().rule(Signal::Probe))];
        let _ = (
            lets_rules_in(&policy, &scope().account, &rules),
            queues_received_from(&policy),
            other_senders(&policy),
            pattern.parse::<RolePattern>(),
        );
    }
}

#[test]
fn the_statements_of_a_grant_let_the_role_in_and_no_other() {
    for scope in [scope(), scope_in("aws-cn", "cn-north-1")] {
        let [role, other] = ["team/r", "r"].map(|role| scope.roles_arn(role));
        let queue: QueueName = "karpenter-base".parse().unwrap();
        let arn = scope.queue_arn(&queue);
        for senders in [Senders::Locked, Senders::ByTheirPolicies] {
            let created = policy::cluster_queue_policy(&scope, &queue, senders);
            let adopted = policy::adopted_queue_policy(&scope, &queue, senders, Some(&created));
            for of_queue in [created, adopted] {
                assert!(!lets_role_receive(&of_queue, &arn, &role));
                let of_queue = policy::with_controller(of_queue, &scope, &queue, &role);
                assert!(lets_role_receive(&of_queue, &arn, &role));
                assert!(!lets_role_receive(&of_queue, &arn, &other));
            }
        }
        let statement = policy::controller_key_statement(&scope, &[role.clone(), "x".to_owned()].into());
        let of_key = Document::new(json!({ "Statement": [statement.value()] }));
        let lets = |role: &str, via: &[String]| lets_role_decrypt(&of_key, "key", role, via);
        assert!(lets(&role, &scope.sqs_services()));
        assert!(!lets(&other, &scope.sqs_services()));
        assert!(!lets(&role, &["sqs.eu-west-1.amazonaws.com".to_owned()]));
    }
}

/// Whether the router may send to a queue without tags: no statement with a condition counts.
fn sends_by_name(policy: &Document, arn: &str) -> bool {
    let sends = |effect: &str| {
        policy.statements().iter().any(|statement| {
            statement["Effect"] == effect
                && statement.get("Condition").is_none()
                && texts(statement.get("Action")).contains(&"sqs:SendMessage")
                && texts(statement.get("Resource")).iter().any(|pattern| matches(pattern, arn))
        })
    };
    sends("Allow") && !sends("Deny")
}

fn with_prefix(prefix: &QueuePrefix) -> HubOptions {
    HubOptions { queue_prefix: Some(prefix.clone()), ..HubOptions::default() }
}

/// S14: the list of Regions decides unless the option does.
#[test]
fn the_option_decides_on_tag_conditions_in_any_region() {
    for region in ["us-west-2", "eu-south-2"] {
        let scope = scope_in("aws", region);
        let by_list = policy::router_policy(&scope, &HubOptions::default());
        assert_eq!(policy::requires_tags(&by_list), Some(region == "us-west-2"));
        for given in [true, false] {
            let options = HubOptions { tag_conditions: Some(given), ..HubOptions::default() };
            let router = policy::router_policy(&scope, &options);
            assert_eq!(policy::requires_tags(&router), Some(given), "{region}");
            let operator = operator(&scope, &options, &BTreeSet::new()).compact();
            for document in [router.compact(), operator] {
                assert_eq!(document.contains("aws:ResourceTag/kibus:bus"), given, "{region}: {document}");
            }
        }
    }
}

/// S14: in these Regions a condition on a tag would turn every event into a dead letter.
#[test]
fn the_router_sends_by_name_where_sqs_has_no_tag_conditions() {
    let longest = "c".repeat(100).parse().unwrap();
    for prefix in ["karpenter-", "kibus-", "k"] {
        let prefix: QueuePrefix = prefix.parse().unwrap();
        for region in WITHOUT_QUEUE_TAG_CONDITIONS.into_iter().chain(["us-west-2", "eu-west-1"]) {
            let scope = scope_in("aws", region);
            let policy = policy::router_policy(&scope, &with_prefix(&prefix));
            let may_send = |queue: &QueueName| sends_by_name(&policy, &scope.queue_arn(queue));
            let by_name = WITHOUT_QUEUE_TAG_CONDITIONS.contains(&region);
            for queue in [
                scope.cluster_queue(&prefix, &"base".parse().unwrap()),
                scope.cluster_queue(&prefix, &longest),
                scope.probe_queue(),
            ] {
                assert_eq!(may_send(&queue), by_name, "{region} {queue}");
            }
            for queue in [scope.hub_queue(), scope.dead_letter_queue(), "orders".parse().unwrap()] {
                assert!(!may_send(&queue), "{region} {queue}");
            }
            assert_eq!(policy.compact().contains("aws:ResourceTag"), !by_name, "{region}");
        }
    }
}

/// The next bootstrap of a hub from before the prefix was in the policy replaces it in one call: every cluster queue
/// must be in both, or events are lost until the clusters are added again.
#[test]
fn the_policy_by_prefix_has_every_queue_of_the_bus() {
    let longest = "c".repeat(100).parse().unwrap();
    for prefix in ["karpenter-", ""] {
        let prefix: QueuePrefix = prefix.parse().unwrap();
        let policy = policy::router_policy(&scope(), &with_prefix(&prefix));
        for queue in [
            scope().cluster_queue(&prefix, &"base".parse().unwrap()),
            scope().cluster_queue(&prefix, &longest),
            scope().probe_queue(),
        ] {
            for sid in ["KibusSendToClusters", "KibusAskWhoseQueue"] {
                let statements = policy.statements();
                let statement = statements.iter().find(|s| s["Sid"] == sid).unwrap();
                let arn = scope().queue_arn(&queue);
                let has = texts(statement.get("Resource")).iter().any(|p| matches(p, &arn));
                assert!(has, "{sid} {queue}");
            }
        }
    }
}
