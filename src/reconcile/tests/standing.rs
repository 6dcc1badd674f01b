//! How a queue relates to the bus, and that no addition to a queue hides its problems.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::model::{
    Severity,
    readings::{any_json, any_text},
    tags::{BUS, CLUSTER},
};

/// The lock of the queue on a bus, alone.
fn lock(bus: &str) -> Value {
    let scope = Scope { bus: bus.parse().unwrap(), ..scope() };
    let policy = policy::cluster_queue_policy(&scope, &QUEUE.parse().unwrap());
    let statements = policy.statements().into_iter();
    statements.filter(|one| one["Sid"] == "KibusRouterOnly").cloned().next_back().unwrap()
}

/// The lock of this bus with a different value for a member, which makes it a different denial.
fn other_lock(member: &str, value: Value) -> Value {
    let mut lock = lock("kibus");
    lock[member] = value;
    lock
}

#[test]
fn tags_a_lock_and_the_age_say_what_a_queue_is() {
    use Standing::{Foreign, LacksTags, Ours};
    let locks = [
        Some(lock("kibus")),
        None,
        Some(lock("two")),
        Some(other_lock("NotResource", json!("x"))),
        Some(other_lock("Sid", json!("Mine"))),
    ];
    let cluster = (CLUSTER, "base");
    let lost = [LacksTags, Foreign, Foreign, Foreign, Foreign];
    for (tags, expected) in [
        (&[(BUS, "kibus"), cluster][..], [Ours; 5]),
        (&[(BUS, "kibus")], lost),
        (&[cluster], lost),
        (&[], lost),
        (&[(BUS, "two"), cluster], [Foreign; 5]),
        (&[(BUS, "two")], [Foreign; 5]),
        (&[(BUS, "kibus"), (CLUSTER, "other")], [Foreign; 5]),
        (&[(CLUSTER, "other")], [Foreign; 5]),
    ] {
        for (lock, expected) in locks.iter().zip(expected) {
            for created in [SINCE - 6, SINCE - 5, SINCE - 4, SINCE, NOW] {
                let mut survey = survey();
                edit_queue(&mut survey, QUEUE, |queue| {
                    queue.tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
                    queue.policy = lock.clone().map(|lock| Document::new(json!({ "Statement": [lock] })));
                    queue.created = created;
                });
                let (_, standing) = survey.own_queue(survey.record(&base()).unwrap()).unwrap();
                let is_prepared = created == SINCE - 6;
                let expected = if is_prepared { Foreign } else { expected };
                assert_eq!(standing, expected, "{tags:?} {lock:?} {created}");
            }
        }
    }
}

/// The damage to a queue; nothing if it is gone.
type Damage = fn(Queue) -> Option<Queue>;

const DAMAGES: [Damage; 8] = [
    |_| None,
    |queue| Some(Queue { policy: None, ..queue }),
    |queue| Some(without(CLUSTER, queue)),
    |queue| Some(without(BUS, without(CLUSTER, queue))),
    |queue| Some(Queue { policy: None, ..without(CLUSTER, queue) }),
    |queue| Some(with(DELETING, &YOUNG.to_string(), queue)),
    |queue| Some(with(BUS, "two", queue)),
    |queue| Some(Queue { created: SINCE - 6, ..queue }),
];

fn with(key: &str, value: &str, mut queue: Queue) -> Queue {
    queue.tags.0.insert(key.to_owned(), value.to_owned());
    queue
}

fn without(key: &str, mut queue: Queue) -> Queue {
    queue.tags.0.remove(key);
    queue
}

/// The subjects of the critical findings of a check of this queue, and whether `status` shows the damage. If the queue
/// is gone, the addition goes to another queue.
fn critical(damage: Damage, tags: &[(String, String)], statements: &[Value], first: bool) -> BTreeSet<String> {
    let mut survey = survey();
    let whole = queue_of(&survey, QUEUE);
    lose(&mut survey, [id_of_queue(QUEUE)]);
    let mut queue = damage(whole.clone()).unwrap_or(Queue { name: "karpenter-other".parse().unwrap(), ..whole });
    queue.tags.0.extend(tags.iter().cloned());
    let own: Vec<Value> = queue.policy.iter().flat_map(Document::statements).cloned().collect();
    let all = if first { [statements, &own].concat() } else { [own.as_slice(), statements].concat() };
    if !statements.is_empty() {
        queue.policy = Some(Document::new(json!({ "Statement": all })));
    }
    survey.known.tagged_queues = Fact::Present([(queue.name.clone(), queue.tags.clone())].into());
    see(&mut survey, Resource::Queue(queue));
    let critical = checked(&survey).findings.into_iter().filter(|finding| finding.severity == Severity::Critical);
    let of_base = critical.filter(|finding| finding.cluster == Some(base())).map(|finding| finding.name());
    let clusters = status::listed(&survey).unwrap();
    let shown = clusters.iter().any(|cluster| cluster.damage.is_some()).then(|| "status".to_owned());
    of_base.chain(shown).collect()
}

/// Any tag but the two that a queue should have.
fn any_tag() -> impl Strategy<Value = (String, String)> {
    let one_of = |known: [String; 3]| prop_oneof![3 => prop::sample::select(known.to_vec()), 1 => any_text()];
    let key = one_of([DELETING, "kibus:external", "kibus:Bus"].map(str::to_owned));
    let value = one_of([YOUNG.to_string(), OLD.to_string(), "base".to_owned()]);
    (key, value).prop_filter("one of the two", |(key, _)| key != BUS && key != CLUSTER)
}

/// Any allowing statement, and any denial that is not exactly the lock of this bus.
fn any_statement() -> impl Strategy<Value = Value> {
    let member = prop::sample::select(&["Sid", "Principal", "Action", "Resource", "Condition", "NotResource"][..]);
    let denial = (member, any_json()).prop_map(|(member, value)| other_lock(member, value));
    let allowed = (any_json(), any_text()).prop_map(|(principal, sid)| {
        json!({"Sid": sid, "Effect": "Allow", "Principal": principal, "Action": "sqs:*", "Resource": "*"})
    });
    prop_oneof![
        allowed,
        Just(json!({"Sid": "KibusRouterOnly", "Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"})),
        Just(lock("two")),
        denial.prop_filter("the lock", |denial| *denial != lock("kibus")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn nothing_that_is_added_hides_a_critical_finding(
        tags in prop::collection::vec(any_tag(), 0..3),
        statements in prop::collection::vec(any_statement(), 0..3),
        first in any::<bool>(),
    ) {
        for (number, damage) in DAMAGES.into_iter().enumerate() {
            let before = critical(damage, &[], &[], first);
            let after = critical(damage, &tags, &statements, first);
            prop_assert!(before.len() > 1 && after.is_superset(&before), "{number}: {before:?} and then {after:?}");
        }
    }
}
