//! S25: which old keys stay allowed, and when they leave.

use super::*;
use crate::model::name::{KmsKey, QueueName};
use crate::model::options::OrNone;
use crate::model::policy::{self, KeyUse};
use crate::model::resource::{Encryption, RolePolicy};
use crate::plan::Refusal;

const DAY: u64 = 86_400;
const CHANGE_SETTLES: u64 = 60;

fn key(id: u32) -> KmsKey {
    format!("arn:aws:kms:us-west-2:111122223333:key/{id}").parse().unwrap()
}

fn with_key(id: Option<u32>) -> HubOptions {
    HubOptions {
        kms_key: Some(OrNone(id.map(key))),
        ..HubOptions::default()
    }
}

type Edit = Box<dyn Fn(&mut Survey)>;

/// The ids of the old keys in the policies of the router and of `base`.
type Left = [&'static [&'static str]; 2];

/// A hub that has changed from key 1 to key 2, and its cluster `base`.
fn survey_after(change: &[Edit]) -> Survey {
    let mut survey = survey_of(with_key(Some(2)), &[]);
    survey.now = NOW;
    for name in policies() {
        old_keys(&mut survey, &name, &[key(1)]);
    }
    change.iter().for_each(|edit| edit(&mut survey));
    survey
}

fn policies() -> [ResourceId; 2] {
    let base = Cluster::policy_id(&scope(), &"base".parse().unwrap(), &ROLE.parse().unwrap());
    [
        ResourceId::RolePolicy(scope().router_role(), scope().router_policy()),
        base,
    ]
}

fn old_keys(survey: &mut Survey, id: &ResourceId, keys: &[KmsKey]) {
    let key_use = if *id == policies()[0] {
        KeyUse::Route
    } else {
        KeyUse::Receive
    };
    let live = survey.observed.resource(id).and_then(Resource::as_role_policy).unwrap();
    let document = policy::with_old_keys(
        live.document.clone(),
        key_use,
        &scope(),
        &keys.iter().cloned().collect(),
    );
    let policy = RolePolicy {
        document,
        ..live.clone()
    };
    let policy = Reading::Present(Box::new(Resource::RolePolicy(policy)));
    survey.observed.insert(id.clone(), policy);
}

/// The queue changed this many seconds ago, and holds this many messages.
fn queue(name: &'static str, ago: u64, waiting: u64) -> Edit {
    Box::new(move |survey| {
        let state = QueueState {
            depth: Depth { waiting, in_flight: 0 },
            changed: Some(NOW - ago),
        };
        let id = ResourceId::Queue(name.parse().unwrap());
        survey.status.insert(id, Status::Queue(state));
    })
}

/// All queues of the hub changed this many seconds ago.
fn hub_ago(ago: u64) -> Vec<Edit> {
    let names = ["kibus-hub", "kibus-hub-dlq", "kibus-probe"];
    names.map(|name| queue(name, ago, 0)).into()
}

fn all_ago(ago: u64) -> Vec<Edit> {
    let mut all = hub_ago(ago);
    all.push(queue("karpenter-base", ago, 0));
    all
}

fn and(mut edits: Vec<Edit>, more: Edit) -> Vec<Edit> {
    edits.push(more);
    edits
}

fn still_has_key_1(name: &'static str) -> Edit {
    Box::new(move |survey| {
        let name: QueueName = name.parse().unwrap();
        let mut queue = survey.observed.queue(name).unwrap().clone();
        queue.encryption = Encryption::Kms(key(1));
        let queue = Resource::Queue(queue);
        survey.observed.insert(queue.id(), Reading::Present(Box::new(queue)));
    })
}

/// The ids of the old keys in the policies of the router and of `base`, after the plan.
fn left(survey: &Survey, intent: &Intent) -> [Vec<String>; 2] {
    policies().map(|id| {
        let change = intent.plan.changes.iter().find(|change| change.id == id);
        let after = change.map_or_else(|| survey.observed.resource(&id), |change| change.after.as_ref());
        let document = &after.and_then(Resource::as_role_policy).unwrap().document;
        let current = policy::current_keys(document);
        let keys = policy::keys(document).into_iter();
        let old = keys.filter(|key| !current.contains(key.as_str()));
        old.map(|key| key.as_str().rsplit('/').next().unwrap().to_owned())
            .collect()
    })
}

#[test]
fn s25_an_old_key_stays_while_a_message_may_be_under_it() {
    let other_region: KmsKey = "arn:aws:kms:eu-west-1:111122223333:key/1".parse().unwrap();
    let both: Left = [&["1"], &["1"]];
    let rows: Vec<(&str, Vec<Edit>, HubOptions, Left)> = vec![
        ("just changed", all_ago(5), with_key(None), [&["1", "2"], &["1", "2"]]),
        ("just changed, and repeated", all_ago(5), HubOptions::default(), both),
        ("it is unknown when", vec![], HubOptions::default(), both),
        (
            "a second too early",
            all_ago(300 + CHANGE_SETTLES - 1),
            HubOptions::default(),
            both,
        ),
        (
            "the messages of the cluster have expired",
            all_ago(300 + CHANGE_SETTLES),
            HubOptions::default(),
            [&["1"], &[]],
        ),
        (
            "those of the hub too, and no dead letter",
            all_ago(14 * DAY + CHANGE_SETTLES - 1),
            HubOptions::default(),
            [&["1"], &[]],
        ),
        (
            "all have expired",
            all_ago(14 * DAY + CHANGE_SETTLES),
            HubOptions::default(),
            [&[], &[]],
        ),
        (
            "a dead letter came from the hub queue before that changed",
            and(all_ago(15 * DAY), queue("kibus-hub", 2 * DAY, 0)),
            HubOptions::default(),
            [&["1"], &[]],
        ),
        (
            "the next change of key",
            all_ago(15 * DAY),
            with_key(Some(3)),
            [&["2"], &["2"]],
        ),
        ("and back", all_ago(15 * DAY), with_key(Some(1)), [&["2"], &["2"]]),
        (
            "the hub queue has the old key again",
            and(all_ago(15 * DAY), still_has_key_1("kibus-hub")),
            HubOptions::default(),
            [&["1"], &[]],
        ),
        (
            "the queue of the cluster has the old key again",
            and(all_ago(15 * DAY), still_has_key_1("karpenter-base")),
            HubOptions::default(),
            both,
        ),
        (
            "the router sends to a queue that has just changed",
            and(all_ago(15 * DAY), queue("karpenter-base", 5, 0)),
            HubOptions::default(),
            both,
        ),
        (
            "a key that no queue can have",
            and(
                all_ago(5),
                Box::new(move |survey| old_keys(survey, &policies()[0], std::slice::from_ref(&other_region))),
            ),
            HubOptions::default(),
            both,
        ),
        (
            "the policy of the router is missing, and the hub queue has the old key",
            and(
                and(all_ago(15 * DAY), still_has_key_1("kibus-hub")),
                Box::new(|survey| survey.observed.insert(policies()[0].clone(), Reading::Absent)),
            ),
            with_key(Some(2)),
            [&["1"], &[]],
        ),
    ];
    for (name, edits, options, expected) in rows {
        let survey = survey_after(&edits);
        let intent = reconcile(&survey, &bootstrap(options)).unwrap();
        assert_eq!(intent.refusals, [], "{name}");
        assert_eq!(left(&survey, &intent), expected, "{name}");
        let warned = format!("{:?}", intent.warnings).contains("is still allowed for");
        assert_eq!(warned, expected != [&[] as &[&str], &[]], "{name}");
    }
}

#[test]
fn s25_a_check_reports_old_keys_and_no_drift() {
    for (name, edits, says) in [
        (
            "just changed",
            all_ago(5),
            "for the router and 1 controller: messages may be encrypted with it until 2027-01-29T08:00:55Z, and",
        ),
        (
            "it is unknown when",
            vec![],
            "until they expire, and bootstrap-hub removes it after that",
        ),
        (
            "all have expired",
            all_ago(15 * DAY),
            "for the router and 1 controller, and no message can be encrypted with it any more",
        ),
    ] {
        let survey = survey_after(&edits);
        let intent = reconcile(&survey, &verify(OfferedRouter::Packaged(code()))).unwrap();
        assert!(intent.plan.is_empty(), "{name}: {:?}", intent.plan.changes);
        assert!(
            format!("{:?}", intent.warnings).contains(says),
            "{name}: {:?}",
            intent.warnings
        );
    }
}

#[test]
fn s25_an_old_key_leaves_at_once_if_no_message_waits() {
    let waits = |names: &[&str]| Refusal::MessagesUnderOldKey {
        queues: names.iter().map(|name| (name.parse().unwrap(), 2)).collect(),
    };
    let in_use = |names: &[&str]| Refusal::OldKeyInUse {
        queues: names.iter().map(|name| name.parse().unwrap()).collect(),
    };
    let all = ["karpenter-base", "kibus-hub", "kibus-hub-dlq", "kibus-probe"];
    let rows: Vec<(&str, Vec<Edit>, HubOptions, Vec<Refusal>)> = vec![
        ("empty", all_ago(120), HubOptions::default(), vec![]),
        ("just changed", all_ago(119), HubOptions::default(), vec![in_use(&all)]),
        (
            "with a change",
            all_ago(15 * DAY),
            with_key(Some(3)),
            vec![in_use(&all)],
        ),
        (
            "messages in the hub queue",
            and(all_ago(120), queue("kibus-hub", 120, 2)),
            HubOptions::default(),
            vec![waits(&["kibus-hub"])],
        ),
        (
            "dead letters, and messages of the cluster",
            and(
                and(all_ago(120), queue("kibus-hub-dlq", 120, 2)),
                queue("karpenter-base", 120, 2),
            ),
            HubOptions::default(),
            vec![waits(&["karpenter-base", "kibus-hub-dlq"])],
        ),
        (
            "messages of the cluster that came later",
            and(hub_ago(DAY), queue("karpenter-base", 600, 2)),
            HubOptions::default(),
            vec![],
        ),
        (
            "messages of a self-test",
            and(all_ago(120), queue("kibus-probe", 120, 2)),
            HubOptions::default(),
            vec![],
        ),
        (
            "messages, and no old key",
            and(
                and(all_ago(120), queue("kibus-hub", 120, 2)),
                Box::new(|survey| {
                    for resource in survey_of(with_key(Some(2)), &[]).observed.resources() {
                        let reading = Reading::Present(Box::new(resource.clone()));
                        survey.observed.insert(resource.id(), reading);
                    }
                }),
            ),
            HubOptions::default(),
            vec![],
        ),
    ];
    for (name, edits, options, refusals) in rows {
        let survey = survey_after(&edits);
        let setting = HubSetting {
            drop_old_key: true,
            ..setting(options)
        };
        let intent = reconcile(&survey, &Target::bootstrap(setting)).unwrap();
        assert_eq!(intent.refusals, refusals, "{name}");
        if refusals.is_empty() {
            assert_eq!(left(&survey, &intent), [[""; 0]; 2], "{name}");
        }
    }
}

#[test]
fn s25_a_cluster_keeps_its_own_old_key_and_a_new_one_has_none() {
    for (name, edits, expected) in [
        ("just changed", all_ago(5), &["1"] as &[&str]),
        ("expired", all_ago(600), &[]),
        (
            "a new cluster",
            and(
                all_ago(5),
                Box::new(|survey: &mut Survey| {
                    let queue = ResourceId::Queue("karpenter-base".parse().unwrap());
                    survey.observed.insert(queue, Reading::Absent);
                    survey.observed.insert(policies()[1].clone(), Reading::Absent);
                }) as Edit,
            ),
            &[],
        ),
    ] {
        let survey = survey_after(&edits);
        let intent = reconcile(&survey, &add()).unwrap();
        assert_eq!(intent.refusals, [], "{name}");
        assert_eq!(left(&survey, &intent)[1], expected, "{name}");
        let document = old_keys_of_controller(&survey, "karpenter-base".parse().unwrap(), Some(&key(2)));
        assert_eq!(document.len(), expected.len(), "{name}: the document of a controller");
    }
    let survey = survey_after(&[]);
    assert_eq!(old_keys_of_router(&survey, Some(&key(2))), [key(1)].into());
    assert_eq!(old_keys_of_router(&survey, Some(&key(1))), [key(2)].into());
    assert_eq!(old_keys_of_router(&survey, None), [key(1), key(2)].into());
}
