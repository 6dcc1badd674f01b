//! External queues: what a check finds of them, and that no command writes to one.

use serde_json::{Value, json};

use super::*;
use crate::model::{
    Encryption, EventRule, FindingCode, ListedTarget, Maker, QueueActivity, RuleName, Severity,
    tags::{BUS, CLUSTER},
};

/// The statements of the queue's policy, as its owner names them.
fn needed() -> Vec<Value> {
    let policy = policy::cluster_queue_policy(&scope(), &QUEUE.parse().unwrap());
    let unnamed = policy.statements().into_iter().cloned().map(|mut statement| {
        statement.as_object_mut().unwrap().remove("Sid");
        statement
    });
    unnamed.collect()
}

fn allows(principal: Value) -> Value {
    json!({"Effect": "Allow", "Principal": principal, "Action": "sqs:SendMessage", "Resource": "*"})
}

/// A survey in which `base` is external and has no finding, with these statements besides.
pub(super) fn external_with(more: &[Value]) -> Survey {
    let mut survey = survey();
    edit_record(&mut survey, |record| (record.external, record.role) = (true, None));
    survey.observed.insert(scope().controller_policy_id(&base(), &ROLE.parse().unwrap()), Fact::Absent);
    let statements = [needed().as_slice(), more].concat();
    edit_queue(&mut survey, QUEUE, |queue| queue.policy = Some(Document::new(json!({ "Statement": statements }))));
    let reads = QueueActivity { deleted: 1, receives_of_last_hour: Some(180), ..QueueActivity::default() };
    survey.known.activity.insert(QUEUE.parse().unwrap(), Fact::Present(reads));
    survey.known.event_rules = Fact::Present(Vec::new());
    survey
}

/// The findings, as `code severity`.
fn graded(survey: &Survey) -> Vec<String> {
    let intent = reconcile(survey, &verify(OfferedRouter::Packaged(code()))).unwrap();
    let about = intent.findings.iter().filter(|finding| finding.name() == QUEUE);
    about.map(|finding| format!("{} {}", finding.code.unwrap(), finding.severity.as_str())).collect()
}

#[test]
fn a_check_grades_what_it_finds_of_an_external_queue() {
    type Edit = fn(&mut Queue);
    let rows: [(&str, Edit, &[&str]); 9] = [
        ("nothing", |_| {}, &[]),
        ("lost tags", |queue| drop(queue.tags.0.remove(CLUSTER)), &["K320 critical"]),
        ("another bus", |queue| queue.tags = queue.tags.clone().with(BUS, "two"), &["K320 critical"]),
        ("another setting", |queue| queue.retention = 60, &["K320 error"]),
        ("its own key", |queue| queue.encryption = Encryption::Kms(KEY.parse().unwrap()), &["K320 critical"]),
        ("a tag of its own", |queue| queue.tags = queue.tags.clone().with("team", "x"), &[]),
        ("an older queue", |queue| queue.created = SINCE - 86_400, &[]),
        ("no policy", |queue| queue.policy = None, &["K320 critical", "K320 critical"]),
        (
            "the policy of kibus",
            |queue| queue.policy = Some(policy::cluster_queue_policy(&scope(), &queue.name)),
            &["K326 critical"],
        ),
    ];
    for (name, edit, expected) in rows {
        let mut survey = external_with(&[]);
        edit_queue(&mut survey, QUEUE, edit);
        assert_eq!(graded(&survey), expected, "{name}");
    }
}

#[test]
fn what_a_policy_opens_is_graded_by_the_rules_that_still_send() {
    let published = allows(json!({"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]}));
    let unclear = json!({"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"});
    for (name, statement, has_rule, expected) in [
        ("published by Karpenter, while its rules send", published.clone(), true, &["K320 warning"; 2][..]),
        ("published by Karpenter, and no rule sends", published, false, &["K320 error"; 2]),
        ("another account", allows(json!({"AWS": "999999999999"})), false, &["K320 critical"]),
        ("everyone", allows(json!("*")), true, &["K320 critical"]),
        ("a denial", unclear, false, &["K330 error"]),
    ] {
        let mut survey = external_with(&[statement]);
        if has_rule {
            let rule: RuleName = "Karpenter-base-Spot".parse().unwrap();
            let pattern = json!({"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]});
            let pattern = Some(Document::new(pattern));
            survey.known.event_rules =
                Fact::Present(vec![EventRule { name: rule.clone(), pattern, enabled: true, managed_by: None }]);
            let target = ListedTarget { id: "1".to_owned(), arn: scope().queue_arn(&QUEUE.parse().unwrap()) };
            survey.known.rule_targets.insert(rule, Fact::Present(vec![target]));
        }
        assert_eq!(graded(&survey), expected, "{name}");
    }
}

#[test]
fn a_missing_external_queue_is_created_by_its_owner() {
    let removes = "kibus remove-cluster base";
    for (tool, commands) in [
        (None, &["kibus export cluster base", removes][..]),
        (Some("terraform"), &["kibus export cluster base"]),
        (Some("cloudformation"), &["kibus export cluster base --format cloudformation"]),
    ] {
        let mut survey = external_with(&[]);
        survey.observed.insert(id_of_queue(QUEUE), Fact::Absent);
        if let Some(tool) = tool {
            edit_record(&mut survey, |record| record.made_by = Maker::Tool(tool.to_owned()));
        }
        let findings = reconcile(&survey, &verify(OfferedRouter::Packaged(code()))).unwrap().findings;
        let [finding] = <[Message; 1]>::try_from(findings).unwrap();
        assert_eq!(finding.code, Some(FindingCode::ClusterQueueMissing));
        assert_eq!(finding.severity, Severity::Critical);
        let printed: Vec<String> = finding.fix.steps().into_iter().filter_map(|step| step.command).collect();
        assert_eq!(printed, commands);
    }
}

/// Whatever its queue is like.
#[test]
fn no_command_writes_to_an_external_queue() {
    let edits: [fn(&mut Queue); 5] = [
        |_| {},
        |queue| queue.retention = 60,
        |queue| queue.policy = None,
        |queue| queue.tags = Default::default(),
        |queue| queue.policy = Some(policy::cluster_queue_policy(&scope(), &queue.name)),
    ];
    let external = ClusterSetting { external: Some(true), ..ClusterSetting::default() };
    let targets = [
        add(),
        add_with(external),
        remove(),
        Target::teardown(),
        bootstrap(with_key(KEY)),
        verify(OfferedRouter::Packaged(code())),
    ];
    for edit in edits {
        for target in &targets {
            let mut survey = external_with(&[]);
            edit_queue(&mut survey, QUEUE, edit);
            let intent = reconcile(&survey, target).unwrap();
            assert!(intent.plan.changes.iter().all(|change| change.id != id_of_queue(QUEUE)), "{target:?}");
        }
    }
}

#[test]
fn external_queues_are_named_when_the_key_changes() {
    let intent = reconcile(&external_with(&[]), &bootstrap(with_key(KEY))).unwrap();
    let said =
        "the queues of external clusters do not follow, and the owner of each must change its encryption: `base`";
    assert!(warned(&intent).contains(said), "{}", warned(&intent));
}
