//! Laws of routing: whatever EC2 and SQS answer, everything that arrives has one verdict, and it is true.

mod services;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde_json::{Value, json};

use services::{FakeEc2, FakeQueues, Load, Script, SendAnswer, Steady, TagAnswer};

use super::*;
use crate::model::name::QueueName;
use crate::model::scope::tests::scope;
use crate::model::tags::Tags;

type World = Arc<Router<FakeEc2, FakeQueues>>;

fn world(sends: Vec<SendAnswer>, ec2: Vec<TagAnswer>, tags: Vec<Result<Tags, Fault>>) -> World {
    let load = Arc::new(Load::default());
    let truth = (0..400).filter_map(|n| Some((id(n), tags_of(n)?))).collect();
    Arc::new(Router::new(
        scope(),
        "karpenter-".parse().unwrap(),
        FakeEc2 {
            truth,
            script: Script::new(ec2),
            load: Arc::clone(&load),
            largest: AtomicUsize::new(0),
        },
        FakeQueues {
            sends: Script::new(sends),
            tags: Script::new(tags),
            taken: Mutex::default(),
            load,
            largest: AtomicUsize::new(0),
        },
    ))
}

/// A world in which every call does what it should.
fn healthy() -> World {
    world(vec![sent()], vec![TagAnswer::True], vec![Ok(Tags::default())])
}

fn sent() -> SendAnswer {
    SendAnswer::Entries(vec![Ok(())])
}

fn id(n: usize) -> InstanceId {
    InstanceId::parse(&format!("i-{n}")).unwrap()
}

/// The cluster of an instance; every fifth has no tags, and every seventh of the others is nobody's.
fn cluster_of(n: usize) -> Option<String> {
    (n % 5 != 4 && n % 7 != 6).then(|| format!("c{}", n % 20))
}

fn tags_of(n: usize) -> Option<Tags> {
    match cluster_of(n) {
        Some(cluster) => Some(
            Tags::default()
                .with("karpenter.sh/nodepool", "x")
                .with("eks:eks-cluster-name", cluster),
        ),
        None if n % 5 == 4 => None,
        None => Some(Tags::default().with("Name", "x")),
    }
}

/// A message, which is known by its number: a spot warning, or a health event of several instances.
fn message(number: usize, instances: &[usize], receives: impl Into<Option<u32>>) -> Message {
    let (source, kind, detail) = match instances {
        [n] => (
            "aws.ec2",
            "EC2 Spot Instance Interruption Warning",
            json!({"instance-id": format!("i-{n}")}),
        ),
        several => {
            let entities: Vec<Value> = several
                .iter()
                .map(|n| json!({"entityValue": format!("i-{n}")}))
                .collect();
            (
                "aws.health",
                "AWS Health Event",
                json!({"service": "EC2", "eventTypeCategory": "scheduledChange", "affectedEntities": entities}),
            )
        }
    };
    Message {
        id: number.to_string(),
        receipt: "r".to_owned(),
        body: json!({
            "version": "0", "id": number.to_string(), "source": source, "detail-type": kind,
            "time": "2026-11-20T14:02:31Z", "detail": detail,
        })
        .to_string(),
        receives: receives.into(),
        arrived: 0,
    }
}

fn run(world: &World, clock: &Arc<Steady>, messages: &[Message]) -> Outcome {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(route(world, clock, messages, 0))
}

/// Every instance in every body that a queue took, with its message.
fn taken(world: &World) -> Vec<(QueueName, String, String)> {
    let mut all = Vec::new();
    for (queue, bodies) in world.queues.taken.lock().unwrap().iter() {
        for body in bodies {
            let event: Value = serde_json::from_str(body).unwrap();
            let message = event["id"].as_str().unwrap().to_owned();
            let detail = &event["detail"];
            let entities = detail["affectedEntities"].as_array().map(|entities| {
                let value = |entity: &Value| entity["entityValue"].as_str().unwrap().to_owned();
                entities.iter().map(value).collect::<Vec<_>>()
            });
            let instances = entities.unwrap_or_else(|| vec![detail["instance-id"].as_str().unwrap().to_owned()]);
            all.extend(instances.into_iter().map(|id| (queue.clone(), message.clone(), id)));
        }
    }
    all
}

fn any_fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        Just(Fault::Again(GiveBack::SendThrottled)),
        Just(Fault::Denied),
        Just(Fault::Absent),
        Just(Fault::TooLong),
        Just(Fault::Refused),
    ]
}

fn any_entry() -> impl Strategy<Value = Result<(), Fault>> {
    prop_oneof![3 => Just(Ok(())), 1 => any_fault().prop_map(Err)]
}

fn any_send() -> impl Strategy<Value = SendAnswer> {
    prop_oneof![
        4 => prop::collection::vec(any_entry(), 1..5).prop_map(SendAnswer::Entries),
        2 => any_fault().prop_map(SendAnswer::Fault),
        1 => Just(SendAnswer::Short),
        1 => Just(SendAnswer::Panic),
    ]
}

fn any_tag_answer() -> impl Strategy<Value = TagAnswer> {
    prop_oneof![
        4 => Just(TagAnswer::True),
        2 => any_fault().prop_map(TagAnswer::Fault),
        1 => Just(TagAnswer::Panic),
    ]
}

fn any_queue_tags() -> impl Strategy<Value = Result<Tags, Fault>> {
    prop_oneof![
        Just(Ok(Tags::default())),
        Just(Ok(Tags::default()
            .with("kibus:bus", "kibus")
            .with("kibus:cluster", "c1"))),
        any_fault().prop_map(Err),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_the_services_answer(
        sends in prop::collection::vec(any_send(), 1..6),
        ec2 in prop::collection::vec(any_tag_answer(), 1..6),
        tags in prop::collection::vec(any_queue_tags(), 1..4),
        instances in prop::collection::vec(prop::collection::vec(0..400_usize, 1..6), 0..30),
        receives in 1..4_u32,
        budget in 0..3000_u64,
    ) {
        let absent_is_heard = tags.iter().any(|answer| matches!(answer, Err(Fault::Absent)));
        let world = world(sends, ec2, tags);
        let messages: Vec<Message> = instances
            .iter()
            .enumerate()
            .map(|(number, instances)| message(number, instances, receives))
            .collect();
        let outcome = run(&world, &Steady::with(budget), &messages);

        // Every entity has one verdict.
        let mut named: Vec<(usize, String)> = Vec::new();
        for (number, instances) in instances.iter().enumerate() {
            named.extend(instances.iter().map(|n| (number, format!("i-{n}"))));
        }
        let mut judged: Vec<(usize, String)> = outcome
            .items
            .iter()
            .map(|item| (item.message, item.instance.as_ref().unwrap().to_string()))
            .collect();
        named.sort();
        judged.sort();
        prop_assert_eq!(&named, &judged);

        // What is delivered is in its cluster's queue, and no queue holds another cluster's instance.
        let taken = taken(&world);
        for (queue, _, instance) in &taken {
            let n: usize = instance[2..].parse().unwrap();
            prop_assert_eq!(Some(queue.to_string()), cluster_of(n).map(|c| format!("karpenter-{c}")));
        }
        let mut delivered: Vec<(String, String)> = outcome
            .items
            .iter()
            .filter(|item| item.verdict == Verdict::Delivered)
            .map(|item| (item.message.to_string(), item.instance.as_ref().unwrap().to_string()))
            .collect();
        let mut arrived: Vec<(String, String)> = taken.into_iter().map(|(_, message, id)| (message, id)).collect();
        delivered.sort();
        arrived.sort();
        // A call that panics loses the memory of what its batch had done, and all of it is given back.
        let panics = world.queues.sends.answers.iter().any(|answer| matches!(answer, SendAnswer::Panic));
        if panics {
            prop_assert!(delivered.iter().all(|item| arrived.contains(item)));
        } else {
            prop_assert_eq!(&delivered, &arrived);
        }

        // Nothing is dropped on a guess.
        for item in &outcome.items {
            let n: usize = item.instance.as_ref().unwrap().as_str()[2..].parse().unwrap();
            match item.verdict {
                Verdict::Dropped(Drop::NoTagsSeen) => {
                    prop_assert!(tags_of(n).is_none() && receives > 1);
                }
                Verdict::Dropped(Drop::NoKarpenterMarker) => prop_assert!(tags_of(n).is_some()),
                Verdict::Dropped(Drop::Unregistered) => prop_assert!(absent_is_heard),
                _ => {}
            }
        }

        // Limits of the calls.
        prop_assert!(world.queues.load.most.load(Ordering::Relaxed) <= CALLS);
        prop_assert!(world.queues.largest.load(Ordering::Relaxed) <= 10);
        prop_assert!(world.ec2.largest.load(Ordering::Relaxed) <= 200);
    }
}

#[test]
fn when_all_is_well_calls_are_as_few_as_can_be() {
    let world = healthy();
    let clock = Steady::with(1000);
    // A hundred messages about instances of a few clusters.
    let messages: Vec<Message> = (0..400)
        .filter(|n| cluster_of(*n).is_some() && n % 20 < 12)
        .take(100)
        .enumerate()
        .map(|(number, n)| message(number, &[n], 1))
        .collect();
    assert_eq!(messages.len(), 100);
    let outcome = run(&world, &clock, &messages);
    assert!(outcome.items.iter().all(|item| item.verdict == Verdict::Delivered));
    let queues = world.queues.taken.lock().unwrap();
    let needed: usize = queues.values().map(|bodies| bodies.len().div_ceil(10)).sum();
    assert_eq!(world.queues.sends.next.load(Ordering::Relaxed), needed);
    assert_eq!(world.ec2.script.next.load(Ordering::Relaxed), 1);
    drop(queues);
    run(&world, &clock, &messages);
    assert_eq!(
        world.ec2.script.next.load(Ordering::Relaxed),
        1,
        "the second time all is known"
    );
}

#[test]
fn what_no_cluster_can_want_costs_no_call() {
    let world = healthy();
    let mut unwanted = message(0, &[1], 1);
    unwanted.body = unwanted.body.replace("aws.ec2", "aws.other");
    let outcome = run(&world, &Steady::with(1000), &[unwanted]);
    assert_eq!(outcome.items[0].verdict, Verdict::Dropped(Drop::NotForKarpenter));
    assert_eq!(world.ec2.script.next.load(Ordering::Relaxed), 0);
    assert_eq!(world.queues.sends.next.load(Ordering::Relaxed), 0);
}

#[test]
fn an_answer_of_a_queue_becomes_a_verdict() {
    let again = Fault::Again(GiveBack::SendThrottled);
    let refused = |fault| vec![SendAnswer::Fault(fault)];
    let ours = || Tags::default().with("kibus:bus", "kibus").with("kibus:cluster", "c1");
    let others = || Tags::default().with("kibus:bus", "kibus").with("kibus:cluster", "c2");
    for (what, sends, tags, verdict) in [
        ("taken", vec![sent()], Ok(ours()), Verdict::Delivered),
        (
            "throttled, then taken",
            vec![SendAnswer::Fault(again), sent()],
            Ok(ours()),
            Verdict::Delivered,
        ),
        (
            "one entry failed, then taken",
            vec![SendAnswer::Entries(vec![Err(again)]), sent()],
            Ok(ours()),
            Verdict::Delivered,
        ),
        (
            "throttled for good",
            refused(again),
            Ok(ours()),
            Verdict::GivenBack(GiveBack::SendThrottled),
        ),
        (
            "absent",
            refused(Fault::Absent),
            Err(Fault::Absent),
            Verdict::Dropped(Drop::Unregistered),
        ),
        (
            "denied and absent",
            refused(Fault::Denied),
            Err(Fault::Absent),
            Verdict::Dropped(Drop::Unregistered),
        ),
        (
            "denied, no tags",
            refused(Fault::Denied),
            Ok(Tags::default()),
            Verdict::Dropped(Drop::QueueNotOurs),
        ),
        (
            "denied, another's",
            refused(Fault::Denied),
            Ok(others()),
            Verdict::Dropped(Drop::QueueNotOurs),
        ),
        (
            "denied, ours",
            refused(Fault::Denied),
            Ok(ours()),
            Verdict::GivenBack(GiveBack::QueueDenied),
        ),
        (
            "denied twice",
            refused(Fault::Denied),
            Err(Fault::Denied),
            Verdict::GivenBack(GiveBack::QueueDenied),
        ),
        (
            "denied, no answer",
            refused(Fault::Denied),
            Err(again),
            Verdict::GivenBack(GiveBack::SendThrottled),
        ),
        (
            "refused",
            refused(Fault::Refused),
            Ok(ours()),
            Verdict::GivenBack(GiveBack::SendRefused),
        ),
        (
            "too long",
            refused(Fault::TooLong),
            Ok(ours()),
            Verdict::Dropped(Drop::TooLarge),
        ),
    ] {
        let world = world(sends, vec![TagAnswer::True], vec![tags]);
        let outcome = run(&world, &Steady::with(5000), &[message(0, &[1], 1)]);
        assert_eq!(outcome.items[0].verdict, verdict, "{what}");
    }
}

#[test]
fn no_tags_are_no_proof_the_first_time() {
    for (receives, verdict) in [
        (Some(1), Verdict::GivenBack(GiveBack::NoTagsYet)),
        (Some(2), Verdict::Dropped(Drop::NoTagsSeen)),
        (None, Verdict::Dropped(Drop::NoTagsSeen)),
    ] {
        let outcome = run(&healthy(), &Steady::with(1000), &[message(0, &[4], receives)]);
        assert_eq!(outcome.items[0].verdict, verdict, "received {receives:?} times");
    }
}

#[test]
fn a_slow_answer_of_ec2_holds_up_only_whom_it_concerns() {
    let world = healthy();
    run(&world, &Steady::with(1000), &[message(0, &[1], 1)]);
    let throttled = TagAnswer::Fault(Fault::Again(GiveBack::TagsThrottled));
    let later = world_that_knows(&world, vec![throttled]);
    let outcome = run(&later, &Steady::with(1000), &[message(0, &[1], 1), message(1, &[2], 1)]);
    let verdicts: Vec<Verdict> = outcome.items.iter().map(|item| item.verdict).collect();
    assert_eq!(
        verdicts,
        [Verdict::Delivered, Verdict::GivenBack(GiveBack::TagsThrottled)]
    );
}

/// A world with other answers that remembers what another has seen.
fn world_that_knows(known: &World, ec2: Vec<TagAnswer>) -> World {
    let world = world(vec![sent()], ec2, vec![Ok(Tags::default())]);
    let now = Instant::now();
    for n in 0..400 {
        if let Some(owner) = known.saved(&id(n), now) {
            world.remember(id(n), owner, now);
        }
    }
    world
}

#[test]
fn a_hub_queue_is_never_a_clusters() {
    let router: Router<(), ()> = Router::new(scope(), "".parse().unwrap(), (), ());

    for (cluster, queue) in [
        (Some("kibus-hub"), None),
        (Some("kibus-hub-dlq"), None),
        (Some("kibus-probe"), None),
        (Some("base"), Some("base")),
        (None, Some("kibus-probe")),
    ] {
        let to = router.destination(cluster.map(|name| name.parse().unwrap()));
        assert_eq!(to.as_ref().map(|to| to.queue.as_str()), queue, "{cluster:?}");
    }
}
