//! External queues: nothing writes to one, and the tag that makes one can only prevent writes.

use serde_json::json;

use super::*;
use crate::model::{
    AccessDecision, QueueActivity, RoleName, policy,
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
fn what_a_controller_may_do_is_simulated_or_seen_or_unknown() {
    let role = || -> RoleName { ROLE.parse().unwrap() };
    let base = || -> ClusterName { "base".parse().unwrap() };
    let grant = || {
        let actions = ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"];
        let role = scope().roles_arn(ROLE);
        json!([{"Effect": "Allow", "Principal": {"AWS": role}, "Action": actions, "Resource": "*"}])
    };
    let nothing = || AccessDecision::NoPolicy { keys: BTreeSet::new() };
    for (name, tagged, decision, deleted, granted, expected) in [
        ("allowed", true, Some(AccessDecision::Allowed), None, false, ""),
        ("not allowed", true, Some(nothing()), Some(7), false, "K322"),
        ("allowed by the queue", true, Some(nothing()), None, true, ""),
        ("a boundary", true, Some(AccessDecision::Boundary), None, true, "K322"),
        ("not simulated", true, None, None, false, "unknown"),
        ("not simulated, and idle", true, None, Some(0), false, "unknown"),
        ("not simulated, and read", true, None, Some(1), false, ""),
        ("not simulated, and allowed by the queue", true, None, None, true, ""),
        ("no role", false, Some(AccessDecision::Allowed), None, false, "unknown"),
        ("no role, and read", false, None, Some(1), false, ""),
    ] {
        let mut survey = survey_with(|queue| {
            let ours = queue.policy.as_ref().unwrap().statements().into_iter().cloned();
            let ours = ours.map(|mut statement| {
                statement.as_object_mut().unwrap().remove("Sid");
                statement
            });
            let more = granted.then(grant).into_iter();
            let statements: Vec<_> = ours.chain(more.flat_map(|more| more.as_array().unwrap().clone())).collect();
            queue.policy = Some(Document::new(json!({ "Statement": statements })));
            queue.tags = queue.tags.clone().with(EXTERNAL, "terraform");
            if !tagged {
                queue.tags.0.remove("kibus:controller-role");
            }
        });
        let listed = ListedRole { arn: scope().roles_arn(ROLE), ..ListedRole::default() };
        survey.known.listed_roles = Fact::Present([(role(), listed)].into());
        let decisions = decision.map(|decision| [("sqs:ReceiveMessage".to_owned(), decision)].into());
        let access = decisions.map_or(Fact::Absent, Fact::Present);
        survey.known.controller_access.insert((base(), role()), access);
        let activity = deleted.map(|deleted| QueueActivity { deleted, ..QueueActivity::default() });
        let activity = activity.map_or(Fact::Absent, Fact::Present);
        survey.known.queue_activity.insert(QUEUE.parse().unwrap(), activity);
        let intent = reconcile(&survey, &verify(OfferedRouter::Packaged(code()))).unwrap();
        let of_queue = intent.findings.iter().filter(|one| one.name() == QUEUE);
        let found = of_queue.map(|one| one.code.unwrap().as_str());
        let unknown = intent.warnings.iter().filter(|hint| hint.text.starts_with("unknown whether Karpenter"));
        let said: Vec<_> = found.chain(unknown.map(|_| "unknown")).collect();
        let expected: Vec<_> = (!expected.is_empty()).then_some(expected).into_iter().collect();
        assert_eq!(said, expected, "{name}");
    }
}
