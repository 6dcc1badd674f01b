//! External queues: nothing writes to one, and the tag that makes one can only prevent writes.

use serde_json::json;

use super::*;
use crate::model::{
    QueueActivity, policy,
    tags::{BUS, EXTERNAL},
};

const QUEUE: &str = "karpenter-base";

/// The survey of an up-to-date hub, with the queue of its cluster as `edit` leaves it.
fn survey_with(edit: impl Fn(&mut Queue)) -> Survey {
    let mut survey = survey_of(options(None), &[]);
    let mut queue = survey.observed.queue(QUEUE.parse().unwrap()).unwrap().clone();
    edit(&mut queue);
    let queue = Resource::Queue(queue);
    survey.observed.insert(queue.id(), Fact::Present(queue));
    survey
}

/// The changes of the queue that a command applies, without the tag itself.
fn writes(survey: &Survey, target: &Target) -> Vec<String> {
    let Ok(intent) = reconcile(survey, target) else {
        return Vec::new();
    };
    if !intent.refusals.is_empty() {
        return Vec::new();
    }
    let changes = intent.plan.changes.into_iter().filter(|change| change.id.name() == QUEUE);
    let fields = changes.flat_map(|change| change.fields.into_iter().map(move |field| (change.action, field.path)));
    let fields = fields.filter(|(_, path)| *path != format!("tags.{EXTERNAL}"));
    fields.map(|(action, path)| format!("{} {path}", action.as_str())).collect()
}

#[test]
fn the_tag_can_only_prevent_writes() {
    let adopt = |adopt| {
        let setting = ClusterSetting { role: RoleOption::Unmanaged, adopt: Some(adopt), ..ClusterSetting::default() };
        Target::add(["base".parse().unwrap()], &setting)
    };
    let key = || HubOptions {
        kms_key: Some("arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap()),
        ..HubOptions::default()
    };
    let targets = [
        ("add", adopt(Adopt::No)),
        ("adopt", adopt(Adopt::Unproven)),
        ("remove", remove()),
        ("teardown", Target::teardown()),
        ("another key", bootstrap(key())),
    ];
    let two = || {
        let mut two = scope();
        two.bus = "two".parse().unwrap();
        two
    };
    let queue = || QUEUE.parse().unwrap();
    let senders = HubOptions::default().senders();
    let policies = [
        ("created", Some(policy::cluster_queue_policy(&scope(), &queue(), senders))),
        ("adopted", Some(policy::adopted_queue_policy(&scope(), &queue(), senders, None))),
        ("of another bus", Some(policy::cluster_queue_policy(&two(), &queue(), senders))),
        ("of its owner", Some(Document::new(json!({"Statement": [{"Sid": "Theirs", "Effect": "Deny"}]})))),
        ("none", None),
    ];
    let mut prevented = 0;
    for (origin, policy) in &policies {
        for bus in [Some("kibus"), Some("two"), None] {
            let edit = |external: bool| {
                survey_with(|queue| {
                    queue.policy.clone_from(policy);
                    queue.retention = 60;
                    queue.tags.0.remove(BUS);
                    queue.tags.0.extend(bus.map(|bus| (BUS.to_owned(), bus.to_owned())));
                    if external {
                        queue.tags = queue.tags.clone().with(EXTERNAL, "terraform");
                    }
                })
            };
            for (name, target) in &targets {
                let case = format!("{name}: {origin}, {bus:?}");
                let [without, with] = [false, true].map(|external| writes(&edit(external), target));
                match *origin {
                    "created" | "adopted" | "of another bus" => assert_eq!(with, without, "{case}"),
                    _ if bus == Some("two") => assert_eq!(with, without, "{case}"),
                    _ => assert_eq!(with, [""; 0], "{case}"),
                }
                prevented += usize::from(with != without);
            }
        }
    }
    assert!(prevented > 5, "the tag prevented writes in {prevented} cases");
}

#[test]
fn whether_a_controller_reads_its_queue_is_seen_or_unknown() {
    let survey = survey_with(|queue| {
        let ours = queue.policy.as_ref().unwrap().statements().into_iter().cloned();
        let statements: Vec<_> = ours
            .map(|mut statement| {
                statement.as_object_mut().unwrap().remove("Sid");
                statement
            })
            .collect();
        queue.policy = Some(Document::new(json!({ "Statement": statements })));
        queue.tags = queue.tags.clone().with(EXTERNAL, "terraform");
    });
    let seen = |deleted| Fact::Present(QueueActivity { deleted, ..QueueActivity::default() });
    for (activity, unknown) in [(Fact::Absent, true), (seen(0), true), (seen(1), false)] {
        let mut survey = survey.clone();
        survey.known.queue_activity.insert(QUEUE.parse().unwrap(), activity.clone());
        let intent = reconcile(&survey, &verify(OfferedRouter::Packaged(code()))).unwrap();
        assert!(intent.findings.iter().all(|one| one.name() != QUEUE), "{activity:?}");
        let says = intent.warnings.iter().any(|hint| hint.text.starts_with("unknown whether Karpenter"));
        assert_eq!(says, unknown, "{activity:?}");
    }
}
