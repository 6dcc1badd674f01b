//! What kibus's policies allow, and any policy that is read back.

use proptest::prelude::*;

use super::grants::{Need, lets_anyone_send, lets_in, matches, names_service_account, openings, other_senders};
use super::operator_policy::{RolePattern, operator};
use crate::model::{
    Document, HubOptions, QueueName, QueueTemplate, Scope, Signal, policy,
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
            [Need::RulesUseKey, Need::AlarmsUseKey, Need::AlarmsPublish].map(|need| lets_in(&policy, need, &scope(), &rules)),
            other_senders(&policy),
            lets_anyone_send(&policy),
            openings(&policy, &policy::cluster_queue_policy(&scope(), &"q".parse().unwrap()), &scope().account),
            names_service_account(&policy, "arn:aws:iam::111122223333:oidc-provider/x", "karpenter"),
            pattern.parse::<RolePattern>(),
        );
    }
}

/// Whether the router can send to a queue without tags: statements with a condition do not count.
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

fn naming(template: &QueueTemplate) -> HubOptions {
    HubOptions { queue_name: Some(template.clone()), ..HubOptions::default() }
}

/// Queues that the router sends to: a cluster's, the one with the longest name, and the probe queue.
fn of_bus(scope: &Scope, template: &QueueTemplate) -> [QueueName; 3] {
    let queue = |cluster: &str| scope.cluster_queue(template, &cluster.parse().unwrap());
    [queue("base"), queue(&"c".repeat(100)), scope.probe_queue()]
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
            let operator = operator(&scope, &options).compact();
            for document in [router.compact(), operator] {
                assert_eq!(document.contains("aws:ResourceTag/kibus:bus"), given, "{region}: {document}");
            }
        }
    }
}

/// S14: in these Regions a condition on a tag would turn every event into a dead letter.
#[test]
fn the_router_sends_by_name_where_sqs_has_no_tag_conditions() {
    for template in ["karpenter-{cluster}", "kibus-{cluster}", "{cluster}-hub", "k{cluster}b"] {
        let template: QueueTemplate = template.parse().unwrap();
        for region in WITHOUT_QUEUE_TAG_CONDITIONS.into_iter().chain(["us-west-2", "eu-west-1"]) {
            let scope = scope_in("aws", region);
            let policy = policy::router_policy(&scope, &naming(&template));
            let may_send = |queue: &QueueName| sends_by_name(&policy, &scope.queue_arn(queue));
            let by_name = WITHOUT_QUEUE_TAG_CONDITIONS.contains(&region);
            for queue in of_bus(&scope, &template) {
                assert_eq!(may_send(&queue), by_name, "{region} {queue}");
            }
            for queue in [scope.hub_queue(), scope.dead_letter_queue(), "orders".parse().unwrap()] {
                assert!(!may_send(&queue), "{region} {queue}");
            }
            assert_eq!(policy.compact().contains("aws:ResourceTag"), !by_name, "{region}");
        }
    }
}

#[test]
fn the_policy_of_the_router_has_every_queue_of_the_bus() {
    const SIDS: [&str; 2] = ["KibusSendToClusters", "KibusAskWhoseQueue"];
    for template in ["karpenter-{cluster}", "{cluster}", "{cluster}-karpenter"] {
        let template: QueueTemplate = template.parse().unwrap();
        let policy = policy::router_policy(&scope(), &naming(&template));
        for (queue, sid) in of_bus(&scope(), &template).iter().flat_map(|queue| SIDS.map(|sid| (queue, sid))) {
            let statements = policy.statements();
            let statement = statements.iter().find(|s| s["Sid"] == sid).unwrap();
            let arn = scope().queue_arn(queue);
            assert!(texts(statement.get("Resource")).iter().any(|p| matches(p, &arn)), "{sid} {queue}");
        }
    }
}
