//! Reports of whole buses.

mod moves;
mod readers;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::*;
use crate::model::{
    ClusterName, ClusterRecord, Code, Document, EventRule, Hub, HubOptions, Moment, Queue, QueueActivity, Resource,
    ResourceId, RuleName, hub, scope::tests::scope,
};

const TEMPLATE: &str = "KarpenterInterruptionQueueTarget";
const SPOT: &str = "EC2 Spot Instance Interruption Warning";

fn arn(queue: &str) -> String {
    format!("arn:aws:sqs:us-west-2:111122223333:{queue}")
}

fn spot() -> Value {
    json!({"source": ["aws.ec2"], "detail-type": [SPOT]})
}

/// A bus without a hub and without rules.
fn empty() -> Survey {
    let mut survey = Survey::new(scope());
    survey.now = 1_800_000_000;
    for id in hub::ids(&scope(), [&HubOptions::all_parts()]) {
        survey.observed.insert(id, Fact::Absent);
    }
    survey.known.records = Fact::Present(BTreeSet::new());
    survey.known.listed_roles = Fact::Present(BTreeMap::new());
    survey.known.event_rules = Fact::Present(Vec::new());
    survey
}

/// Adds a rule with targets: their ids and ARNs.
fn add_rule(survey: &mut Survey, name: &str, pattern: Value, targets: &[(&str, String)]) {
    let Fact::Present(all) = &mut survey.known.event_rules else { unreachable!() };
    let name: RuleName = name.parse().unwrap();
    all.push(EventRule { name: name.clone(), pattern: Some(Document::new(pattern)), enabled: true, managed_by: None });
    let target = |(id, arn): &(&str, String)| ListedTarget { id: (*id).to_owned(), arn: arn.clone() };
    let targets = targets.iter().map(target).collect();
    survey.known.rule_targets.insert(name, Fact::Present(targets));
}

/// Adds a queue that exists, with tags.
fn add_queue(survey: &mut Survey, name: &str, tags: &[(&str, &str)]) {
    let desired = Hub::new(&scope(), HubOptions::default(), Code::of_archive("0.1.0", "aa")).desired();
    let some = desired.resources().find_map(Resource::as_queue).unwrap();
    let queue = Queue {
        name: name.parse().unwrap(),
        tags: tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        ..some.clone()
    };
    let queue = Resource::Queue(queue);
    survey.observed.insert(queue.id(), Fact::Present(queue));
}

/// Adds a cluster of which the template of Karpenter was created.
fn add_template(survey: &mut Survey, cluster: &str) {
    add_queue(survey, cluster, &[]);
    for rule in ["SpotInterruptionRule", "RebalanceRule"] {
        add_rule(survey, &format!("Karpenter-{cluster}-{rule}-1A2B"), spot(), &[(TEMPLATE, arn(cluster))]);
    }
}

/// A survey with a hub and the recorded cluster `base`.
fn with_hub() -> Survey {
    let mut survey = empty();
    let options = HubOptions::default();
    let base = ClusterRecord::new(&scope(), &options, "base".parse().unwrap(), Moment(0));
    let mut desired = Hub::new(&scope(), options.clone(), Code::of_archive("0.1.0", "aa")).desired();
    desired.extend(base.desired(&scope(), &options.clone().into()));
    for resource in desired.resources().cloned() {
        survey.observed.insert(resource.id(), Fact::Present(resource));
    }
    survey
}

fn commands(found: &Discovery) -> Vec<String> {
    let commands = found.moves.iter().filter_map(|hint| hint.command.clone());
    commands.collect()
}

/// What each tool leaves: its rule, the target, the queue, the cluster, and the way to remove the rule. `None`: it stays.
#[test]
fn each_tool_is_found_attributed_and_judged() {
    for (rule, target, queue, tag, origin, cluster, way) in [
        (
            "Karpenter-c-SpotInterruptionRule-1A",
            TEMPLATE,
            "c",
            None,
            Origin::CloudFormation,
            Some("c"),
            Some("stack `Karpenter-c`"),
        ),
        (
            "KarpenterSpotInterrupt-c",
            TEMPLATE,
            "Karpenter-c",
            None,
            Origin::TerraformAwsEks,
            Some("c"),
            Some("enable_spot_termination = false"),
        ),
        (
            "KarpenterSpotInterrupt-2024",
            TEMPLATE,
            "Karpenter-c",
            Some("c"),
            Origin::TerraformAwsEks,
            Some("c"),
            Some("enable_spot_termination = false"),
        ),
        (
            "eksctl-c-karpenter-SpotInterruptionRule-1A",
            TEMPLATE,
            "c",
            None,
            Origin::Eksctl,
            Some("c"),
            Some("stack `eksctl-c-karpenter`"),
        ),
        (
            "eks-SpotInterruptionRuleAB-1A",
            "Target0",
            "c",
            None,
            Origin::CdkEksKarpenter,
            Some("c"),
            Some("tryRemoveChild"),
        ),
        (
            "stack-spotinterruptionruleAB-1A",
            "Target0",
            "stack",
            None,
            Origin::CdkEksBlueprints,
            None,
            Some("interruptionHandling: false"),
        ),
        (
            "Karpenter-SpotInterrupt-2024",
            "KarpenterQueueTarget",
            "karpenter-c",
            Some("c"),
            Origin::EksBlueprintsAddons,
            Some("c"),
            Some("karpenter_enable_spot_termination = false"),
        ),
        (
            "id-SpotInterrupt",
            TEMPLATE,
            "id",
            None,
            Origin::CloudPosse,
            None,
            Some("interruption_handler_enabled = false"),
        ),
        (
            "karpenter-spot-interruption",
            "karpenter-sqs",
            "karpenter-c",
            None,
            Origin::ByHand,
            Some("c"),
            Some("delete them:"),
        ),
        ("c.example.com-SpotInterruption", "1", "c-example-com-nth", None, Origin::NodeTerminationHandler, None, None),
        ("MyK8sSpotTermRule", "1", "MyK8sTermQueue", None, Origin::NodeTerminationHandler, None, None),
        ("spot", "x", "karpenter-c", None, Origin::Unknown, Some("c"), Some("where they were created")),
        ("spot", "x", "alarms", None, Origin::Unknown, None, None),
    ] {
        let mut survey = empty();
        add_queue(&mut survey, queue, &[]);
        add_rule(&mut survey, rule, spot(), &[(target, arn(queue))]);
        if let Some(cluster) = tag {
            let tags = [("ClusterName".to_owned(), cluster.to_owned())].into_iter().collect();
            survey.known.rule_tags.insert(rule.parse().unwrap(), Fact::Present(tags));
        }
        let found = discovery(&survey, None).unwrap();
        let [queue] = found.queues.as_slice() else { panic!("{rule}: {found:?}") };
        assert_eq!(queue.made_by, origin, "{rule}");
        assert_eq!(queue.cluster.as_ref().map(ClusterName::as_str), cluster, "{rule}");
        let ways: Vec<&str> = queue.removals.iter().map(|removal| removal.way.text.as_str()).collect();
        match way {
            Some(way) => assert!(ways.len() == 1 && ways[0].contains(way), "{rule}: {ways:?}"),
            None => assert_eq!(ways, Vec::<&str>::new(), "{rule}"),
        }
        assert_eq!(queue.is_replaced(), way.is_some(), "{rule}");
        assert_eq!(found.moves.is_empty(), way.is_none(), "{rule}");
    }
}

#[test]
fn what_is_none_of_karpenters_is_not_reported() {
    let mut survey = empty();
    add_rule(&mut survey, "audit", spot(), &[("1", "arn:aws:sns:us-west-2:111122223333:audit".to_owned())]);
    add_rule(&mut survey, "s3", json!({"source": ["aws.s3"]}), &[("1", arn("files"))]);
    add_rule(&mut survey, "malformed", json!("{"), &[("1", arn("karpenter-x"))]);
    add_rule(&mut survey, "scaling", json!({"source": ["aws.autoscaling"]}), &[("1", arn("hooks"))]);
    add_rule(&mut survey, "other-spot-interruption", spot(), &[("kibus-hub", arn("other-hub"))]);
    let found = discovery(&survey, None).unwrap();
    assert_eq!((found.rules, found.rule_limit), (5, 300));
    assert_eq!((found.queues, found.rules_elsewhere, found.moves), (vec![], vec![], vec![]));
}

#[test]
fn a_queue_elsewhere_and_another_hub_are_named() {
    for (target, arn, reason) in [
        (
            "RouterLambda",
            "arn:aws:lambda:us-west-2:111122223333:function:router",
            "it belongs to another hub, which routes the same events",
        ),
        (
            "1",
            "arn:aws:sqs:us-west-2:444455556666:q",
            "its target `arn:aws:sqs:us-west-2:444455556666:q` is FIFO, or in another account or Region",
        ),
        (
            "1",
            "arn:aws:sqs:us-west-2:111122223333:q.fifo",
            "its target `arn:aws:sqs:us-west-2:111122223333:q.fifo` is FIFO, or in another account or Region",
        ),
    ] {
        let mut survey = empty();
        add_rule(&mut survey, "spot", spot(), &[(target, arn.to_owned())]);
        let found = discovery(&survey, None).unwrap();
        let [rule] = found.rules_elsewhere.as_slice() else { panic!("{found:?}") };
        assert_eq!((rule.verdict, rule.reason.as_deref()), (Verdict::Keep, Some(reason)));
        assert!(found.queues.is_empty());
    }
}

/// Rules of one queue by two tools, and rules that stay among them.
#[test]
fn each_rule_of_a_queue_has_its_own_verdict() {
    let mut survey = empty();
    add_template(&mut survey, "base");
    add_rule(&mut survey, "by-hand", spot(), &[("1", arn("base"))]);
    add_rule(&mut survey, "audited", spot(), &[("1", arn("base")), ("2", "arn:aws:sns:x".to_owned())]);
    let mut narrow = spot();
    narrow["detail"] = json!({"instance-id": ["i-1"]});
    add_rule(&mut survey, "narrow", narrow, &[("1", arn("base"))]);
    let found = discovery(&survey, None).unwrap();
    let verdicts: Vec<_> =
        found.queues[0].rules.iter().map(|rule| (rule.name.as_str(), rule.verdict == Verdict::Replace)).collect();
    assert_eq!(
        verdicts,
        [
            ("Karpenter-base-RebalanceRule-1A2B", true),
            ("Karpenter-base-SpotInterruptionRule-1A2B", true),
            ("audited", false),
            ("by-hand", true),
            ("narrow", false),
        ]
    );
    assert_eq!(found.queues[0].made_by, Origin::CloudFormation);
    assert_eq!(found.queues[0].removals.len(), 2, "one for each tool");
}

#[test]
fn what_could_not_be_read_is_named_once() {
    let mut survey = empty();
    for cluster in ["a", "b", "c"] {
        add_template(&mut survey, cluster);
        let queue = ResourceId::Queue(cluster.parse().unwrap());
        survey.observed.insert(queue, Fact::Unreadable(Fault::denied("sqs:GetQueueAttributes")));
        let queue: QueueName = cluster.parse().unwrap();
        survey.known.activity.insert(queue, Fact::Unreadable(Fault::denied("cloudwatch:GetMetricData")));
    }
    let found = discovery(&survey, None).unwrap();
    let unread: Vec<&str> = found.unread.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(unread, ["queue `a` and 2 more"]);
    assert_eq!(found.unmeasured, Some(Fault::denied("cloudwatch:GetMetricData")));
    survey.known.event_rules = Fact::Unreadable(Fault::denied("events:ListRules"));
    assert_eq!(discovery(&survey, None), Err(Fault::denied("events:ListRules")));
}

/// The queries of a survey of the largest bus: each is about what the answers before it say.
#[test]
fn a_full_bus_is_read_in_three_rounds() {
    let mut survey = empty();
    for number in 0..150 {
        add_template(&mut survey, &format!("c{number}"));
    }
    let asked = |survey: &Survey| {
        discovery(survey, None).unwrap();
        survey.take_open()
    };
    let targets = std::mem::take(&mut survey.known.rule_targets);
    let query = asked(&survey);
    assert_eq!((query.rule_targets.len(), query.activity.len()), (300, 0));
    survey.known.rule_targets = targets;
    let read = std::mem::replace(&mut survey.observed, empty().observed);
    let query = asked(&survey);
    assert_eq!((query.rule_tags.len(), query.resources.len(), query.activity.len()), (150, 150, 150));
    survey.observed = read;
    let found = discovery(&survey, None).unwrap();
    assert_eq!((found.rules, found.queues.len()), (300, 150));
}
