//! Reports of whole buses.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::*;
use crate::model::{
    ClusterName, ClusterRecord, Code, Document, EventRule, Hub, HubOptions, ListedTarget, Moment, Queue, QueueActivity,
    Resource, ResourceId, RuleName, Tags, hub, scope::tests::scope,
};
use crate::survey::ListedRole;

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
    survey.known.eks_clusters = Fact::Present(BTreeSet::new());
    survey.known.queues.insert(String::new(), Fact::Present(BTreeSet::new()));
    survey
}

fn rules(survey: &mut Survey) -> &mut Vec<EventRule> {
    let Fact::Present(all) = &mut survey.known.event_rules else { unreachable!() };
    all
}

/// Adds a rule with targets: their ids and ARNs.
fn add_rule(survey: &mut Survey, name: &str, pattern: Value, targets: &[(&str, String)]) {
    let name: RuleName = name.parse().unwrap();
    rules(survey).push(EventRule {
        name: name.clone(),
        pattern: Some(Document::new(pattern)),
        enabled: true,
        managed_by: None,
    });
    let target = |(id, arn): &(&str, String)| ListedTarget { id: (*id).to_owned(), arn: arn.clone() };
    let targets = targets.iter().map(target).collect();
    survey.known.rule_targets.insert(name, Fact::Present(targets));
}

fn tags(tags: &[(&str, &str)]) -> Tags {
    tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn names(names: &[&str]) -> BTreeSet<ClusterName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn add_queue(survey: &mut Survey, name: &str, of_queue: &[(&str, &str)]) {
    let desired = Hub::new(&scope(), HubOptions::default(), Code::of_archive("0.1.0", "aa")).desired();
    let some = desired.resources().find_map(Resource::as_queue).unwrap();
    let queue = Resource::Queue(Queue { name: name.parse().unwrap(), tags: tags(of_queue), ..some.clone() });
    survey.observed.insert(queue.id(), Fact::Present(queue));
}

/// Adds two rules for a queue that is tagged with its cluster.
fn add_cluster(survey: &mut Survey, cluster: &str, queue: &str) {
    add_queue(survey, queue, &[("ClusterName", cluster)]);
    for rule in ["Spot", "Rebalance"] {
        add_rule(survey, &format!("Karpenter-{queue}-{rule}"), spot(), &[(TEMPLATE, arn(queue))]);
    }
}

fn with_hub() -> Survey {
    let mut survey = empty();
    let options = HubOptions::default();
    let base = ClusterRecord::new(&scope(), &options, "base".parse().unwrap(), Moment(0));
    let base = ClusterRecord { role: Some("old-base".parse().unwrap()), ..base };
    let mut desired = Hub::new(&scope(), options.clone(), Code::of_archive("0.1.0", "aa")).desired();
    desired.extend(base.desired(&scope(), &options.clone().into()));
    for resource in desired.resources().cloned() {
        survey.observed.insert(resource.id(), Fact::Present(resource));
    }
    survey
}

fn commands(found: &Discovery) -> Vec<String> {
    found.steps.iter().filter_map(|step| step.command.clone()).collect()
}

#[test]
fn a_cluster_comes_from_a_tag_eks_or_a_role() {
    const OF_PROD: &[(&str, &str)] = &[("ClusterName", "prod")];
    for (case, queue, of_queue, of_rule, eks, role, expected) in [
        ("a tag of kibus", "karpenter-q", &[("kibus:cluster", "prod")][..], &[][..], &[][..], "", Some("prod")),
        ("a tag of Kubernetes", "karpenter-q", &[("kubernetes.io/cluster/prod", "owned")], &[], &[], "", Some("prod")),
        ("a tag of Karpenter", "karpenter-q", &[], &[("karpenter.sh/discovery", "prod")], &[], "", Some("prod")),
        ("a tag and EKS", "karpenter-eu", OF_PROD, &[], &["eu"], "", Some("prod")),
        ("tags that differ", "karpenter-prod", OF_PROD, &[("ClusterName", "test")], &["prod"], "", None),
        ("a tag that is no name", "karpenter-q", &[("ClusterName", "?")], &[], &[], "", None),
        ("nothing", "karpenter-prod", &[], &[], &[], "", None),
        ("EKS", "karpenter-interruption-prod", &[], &[], &["prod", "interrupt"], "", Some("prod")),
        ("EKS, a longer name", "karpenter-events-team-prod", &[], &[], &["prod", "team-prod"], "", Some("team-prod")),
        ("EKS, two names", "karpenter-blue-prod", &[], &[], &["blue", "prod"], "", None),
        ("EKS, in a word", "karpenter-products", &[], &[], &["prod"], "", None),
        ("EKS before a role", "karpenter-prod", &[], &[], &["other"], "KarpenterServiceAccount-prod", None),
        ("a role", "karpenter-prod", &[], &[], &[], "KarpenterServiceAccount-prod", Some("prod")),
        ("a role, and only a part of a name", "karpenter-events-prod", &[], &[], &[], "prod-karpenter", None),
        ("a role with the name of the queue", "id-karpenter", &[], &[], &[], "id-karpenter", None),
        ("not of a Karpenter", "prod-events", &[], &[], &["prod"], "", None),
    ] {
        let mut survey = empty();
        add_queue(&mut survey, queue, of_queue);
        add_rule(&mut survey, "spot", spot(), &[("1", arn(queue))]);
        survey.known.rule_tags.insert("spot".parse().unwrap(), Fact::Present(tags(of_rule)));
        survey.known.eks_clusters = Fact::Present(names(eks));
        if !role.is_empty() {
            let listed = BTreeMap::from([(role.parse().unwrap(), ListedRole::default())]);
            survey.known.listed_roles = Fact::Present(listed);
        }
        let found = discovery(&survey).unwrap();
        let [queue] = found.queues.as_slice() else { panic!("{found:?}") };
        assert_eq!(queue.cluster.as_ref().map(ClusterName::as_str), expected, "{case}");
    }
}

#[test]
fn the_tag_of_a_rule_for_several_queues_names_no_cluster() {
    let mut survey = empty();
    let targets = ["karpenter-a", "karpenter-b"].map(|queue| (queue, arn(queue)));
    add_rule(&mut survey, "spot", spot(), &targets);
    let tags = Fact::Present(tags(&[("ClusterName", "a")]));
    survey.known.rule_tags.insert("spot".parse().unwrap(), tags);
    let found = discovery(&survey).unwrap();
    assert!(found.queues.iter().all(|queue| queue.cluster.is_none()), "{found:?}");
}

#[test]
fn a_rule_with_another_use_stays() {
    const BASE: &str = "arn:aws:sqs:us-west-2:111122223333:karpenter-base";
    const FOREIGN: &str = "arn:aws:sqs:us-west-2:444455556666:karpenter-base";
    const FIFO: &str = "arn:aws:sqs:us-west-2:111122223333:q.fifo";
    let broad = json!({"source": ["aws.ec2"], "detail-type": [{"prefix": "EC2 "}]});
    let too_broad = "its pattern also matches events that Karpenter does not handle".to_owned();
    let both = json!({"source": ["aws.ec2", "aws.autoscaling"]});
    let unclear = "there is no evidence that only Karpenter reads its queue".to_owned();
    let beyond = |arn: &str| format!("kibus cannot follow events to `{arn}`");
    for (case, pattern, target, managed_by, expected, is_moved) in [
        ("managed", spot(), BASE, Some("fis.amazonaws.com"), "`fis.amazonaws.com` manages it".to_owned(), true),
        ("more events", broad, BASE, None, too_broad, true),
        ("events of EC2 Auto Scaling", both, BASE, None, unclear, false),
        ("another account", spot(), FOREIGN, None, beyond(FOREIGN), false),
        ("a FIFO queue", spot(), FIFO, None, beyond(FIFO), false),
    ] {
        let mut survey = empty();
        add_rule(&mut survey, "rule", pattern, &[("1", target.to_owned())]);
        rules(&mut survey)[0].managed_by = managed_by.map(str::to_owned);
        let found = discovery(&survey).unwrap();
        let [rule] = found.rules.as_slice() else { panic!("{found:?}") };
        assert_eq!((rule.reason.as_ref(), rule.verdict), (Some(&expected), Verdict::Keep), "{case}");
        assert_eq!(!found.steps.is_empty(), is_moved, "{case}");
    }
}

#[test]
fn one_rule_about_auto_scaling_keeps_the_others_of_its_queue() {
    let mut survey = empty();
    add_cluster(&mut survey, "base", "base");
    add_rule(&mut survey, "hooks", json!({"source": ["aws.autoscaling"]}), &[("1", arn("base"))]);
    let found = discovery(&survey).unwrap();
    assert_eq!((found.rules.len(), found.steps.len()), (2, 0), "{found:?}");
    assert!(found.rules.iter().all(|rule| rule.verdict == Verdict::Keep));
}

#[test]
fn what_is_none_of_karpenters_is_not_reported() {
    let mut survey = empty();
    for (name, pattern, targets) in [
        ("s3", json!({"source": ["aws.s3"]}), &[("1", arn("files"))][..]),
        ("malformed", json!("{"), &[("1", arn("karpenter-x"))]),
        ("scaling", json!({"source": ["aws.autoscaling"]}), &[("1", arn("hooks"))]),
        ("without-targets", spot(), &[]),
        ("other-spot-interruption", spot(), &[("kibus-hub", arn("other-hub"))]),
        ("other-probe", json!({"source": ["kibus.probe"]}), &[("kibus-hub", arn("other-hub"))]),
    ] {
        add_rule(&mut survey, name, pattern, targets);
    }
    let found = discovery(&survey).unwrap();
    assert_eq!((found.rule_count, found.rule_limit, found.rules_of_kibus), (6, 300, 2));
    assert_eq!((found.rules, found.queues, found.steps), (vec![], vec![], vec![]));
}

/// Nothing is removed before a cluster is on the bus.
#[test]
fn the_steps_move_every_cluster_and_change_few_settings() {
    for (case, clusters, template, adds, verified) in [
        ("nothing", &[][..], "", &[][..], ""),
        ("the clusters' names", &[("a", "a"), ("b", "b")], " --queue-name '{cluster}'", &["a b --external"], "a b"),
        (
            "most queues fit one template",
            &[("a", "a"), ("b", "Karpenter-b"), ("c", "Karpenter-c")],
            " --queue-name 'Karpenter-{cluster}'",
            &["b c --external", "a"],
            "a b c",
        ),
        ("the default fits as many", &[("a", "a"), ("b", "karpenter-b")], "", &["b --external", "a"], "a b"),
    ] {
        let mut survey = empty();
        clusters.iter().for_each(|(cluster, queue)| add_cluster(&mut survey, cluster, queue));
        let mut expected = vec![format!("kibus bootstrap-hub{template}")];
        expected.extend(adds.iter().map(|add| format!("kibus add-cluster {add}")));
        expected.extend([format!("kibus verify --probe {verified}"), "kibus discover".to_owned()]);
        expected.retain(|_| !clusters.is_empty());
        assert_eq!(commands(&discovery(&survey).unwrap()), expected, "{case}");
    }
}

fn remove(rule: &str, ids: &str) -> String {
    format!("aws events remove-targets --region us-west-2 --rule {rule} --ids {ids}")
}

fn delete(rule: &str) -> String {
    format!("aws events delete-rule --region us-west-2 --name {rule}")
}

/// Cluster `base` is on the bus. `verify` judges the rules of its own queue by the same removals.
#[test]
fn only_what_clusters_on_the_bus_no_longer_need_is_removed() {
    let mut survey = with_hub();
    add_cluster(&mut survey, "base", "base");
    let targets = [("a b", arn("base")), ("new", arn("karpenter-base"))];
    add_rule(&mut survey, "broad", json!({"source": ["aws.ec2"]}), &targets);
    add_rule(&mut survey, "managed", spot(), &targets[..1]);
    rules(&mut survey).last_mut().unwrap().managed_by = Some("fis.amazonaws.com".to_owned());
    let found = discovery(&survey).unwrap();
    let own = ["Karpenter-base-Spot", "Karpenter-base-Rebalance"].map(|rule| [remove(rule, TEMPLATE), delete(rule)]);
    let removed: Vec<String> = own.into_iter().flatten().chain([remove("broad", "'a b' new")]).collect();
    let role = "aws iam list-role-policies --role-name old-base";
    assert_eq!(commands(&found), ["kibus verify --probe base", &removed.join("\n"), role]);

    let [Removal { rule, targets, kept }] = &removals(&survey, &"karpenter-base".parse().unwrap())[..] else {
        panic!("one rule sends to its own queue")
    };
    let others = format!("it has other targets than `new`: `{}`", arn("base"));
    assert_eq!((rule.as_str(), &targets[..], kept.as_ref()), ("broad", &["new".to_owned()][..], Some(&others)));
    let broad = found.rules.iter().find(|rule| rule.name.as_str() == "broad").unwrap().removal.as_ref().unwrap();
    let why = "its pattern also matches events that Karpenter does not handle";
    assert_eq!(broad.kept.as_deref(), Some(why));
}

/// A queue from Karpenter's template or a guide, whose rule now has another target.
#[test]
fn a_queue_of_karpenter_without_a_rule_is_found() {
    let policy = |who: &str| {
        let allow = json!({"Effect": "Allow", "Principal": {"Service": who}, "Action": "sqs:SendMessage"});
        Document::new(json!({ "Statement": [allow] }))
    };
    for (case, queue, of_queue, sender, expected) in [
        ("its name", "karpenter-delta", &[("ClusterName", "delta")][..], "events.amazonaws.com", Some(Some("delta"))),
        ("no cluster", "eks-Karpenter-1", &[], "sqs.amazonaws.com", Some(None)),
        ("EKS", "karpenter-prod", &[], "events.amazonaws.com.cn", Some(Some("prod"))),
        ("no service may send", "karpenter-jobs", &[], "ec2.example.com", None),
        ("another name", "products", &[], "events.amazonaws.com", None),
        ("another bus", "karpenter-delta", &[("kibus:bus", "two")], "events.amazonaws.com", None),
        ("the cluster's own", "karpenter-base", &[], "events.amazonaws.com", None),
        ("one with a rule", "karpenter-rule", &[], "events.amazonaws.com", None),
    ] {
        let mut survey = with_hub();
        add_queue(&mut survey, queue, of_queue);
        let mut with_policy = survey.observed.queue(queue.parse().unwrap()).unwrap().clone();
        with_policy.policy = Some(policy(sender));
        survey
            .observed
            .insert(ResourceId::Queue(with_policy.name.clone()), Fact::Present(Resource::Queue(with_policy)));
        survey.known.eks_clusters = Fact::Present(names(&["prod"]));
        survey.known.queues.insert(String::new(), Fact::Present([queue.parse().unwrap()].into()));
        add_rule(&mut survey, "scaling", json!({"source": ["aws.autoscaling"]}), &[("1", arn("karpenter-rule"))]);
        let found = discovery(&survey).unwrap();
        let clusters: Vec<_> =
            found.queues.iter().map(|queue| queue.cluster.as_ref().map(ClusterName::as_str)).collect();
        assert_eq!(clusters, expected.into_iter().collect::<Vec<_>>(), "{case}");
        // If its targets are unknown, a rule may send to it.
        survey.known.rule_targets.insert("scaling".parse().unwrap(), Fact::Unreadable(Fault::denied("x:Y")));
        assert_eq!(discovery(&survey).unwrap().queues, [], "{case}");
    }
    let mut survey = empty();
    survey.known.queues.insert(String::new(), Fact::Unreadable(Fault::denied("sqs:ListQueues")));
    assert_eq!(discovery(&survey).unwrap().unread[0].0, "the names of queues");
}

#[test]
fn a_queue_that_does_not_exist_is_replaced_by_a_new_one() {
    let mut survey = empty();
    add_cluster(&mut survey, "base", "karpenter-base");
    let queue = ResourceId::Queue("karpenter-base".parse().unwrap());
    survey.observed.insert(queue, Fact::Absent);
    survey.known.eks_clusters = Fact::Present(names(&["base"]));
    let activity = Fact::Present(QueueActivity::default());
    survey.known.activity.insert("karpenter-base".parse().unwrap(), activity);
    let found = discovery(&survey).unwrap();
    assert_eq!(found.queues[0].reader, Readership::NoQueue);
    assert_eq!(commands(&found)[1], "kibus add-cluster base");
}

#[test]
fn what_could_not_be_read_is_named_once() {
    let mut survey = empty();
    for cluster in ["a", "b", "c"] {
        add_cluster(&mut survey, cluster, cluster);
        let queue: QueueName = cluster.parse().unwrap();
        let unread = Fact::Unreadable(Fault::denied("sqs:GetQueueAttributes"));
        survey.observed.insert(ResourceId::Queue(queue.clone()), unread);
        survey.known.activity.insert(queue, Fact::Unreadable(Fault::denied("cloudwatch:GetMetricData")));
    }
    let found = discovery(&survey).unwrap();
    let unread: Vec<&str> = found.unread.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(unread, ["queue `a` and 2 more"]);
    assert_eq!(found.unmeasured, Some(Fault::denied("cloudwatch:GetMetricData")));
    for targets in survey.known.rule_targets.values_mut() {
        *targets = Fact::Unreadable(Fault::denied("events:ListTargetsByRule"));
    }
    let found = discovery(&survey).unwrap();
    let reasons: BTreeSet<_> = found.rules.iter().map(|rule| rule.reason.as_deref()).collect();
    assert_eq!((found.rules.len(), reasons), (6, BTreeSet::from([Some("its targets could not be read")])));
}

/// The queries of a survey of the largest bus: each depends on earlier answers.
#[test]
fn a_full_bus_is_read_in_three_rounds() {
    let mut survey = empty();
    for number in 0..150 {
        let cluster = format!("c{number}");
        add_cluster(&mut survey, &cluster, &cluster);
    }
    let asked = |survey: &Survey| {
        discovery(survey).unwrap();
        survey.take_open()
    };
    let targets = std::mem::take(&mut survey.known.rule_targets);
    let query = asked(&survey);
    assert_eq!((query.rule_targets.len(), query.activity.len()), (300, 0));
    survey.known.rule_targets = targets;
    let read = std::mem::replace(&mut survey.observed, empty().observed);
    let query = asked(&survey);
    assert_eq!((query.rule_tags.len(), query.resources.len(), query.activity.len()), (300, 150, 150));
    survey.observed = read;
    let found = discovery(&survey).unwrap();
    assert_eq!((found.rule_count, found.queues.len()), (300, 150));
}
