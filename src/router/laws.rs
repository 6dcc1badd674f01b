//! Laws of routing: whatever EC2 and SQS answer, everything that arrives has one decision, and it is correct.

mod answers;
mod bench;
mod fakes;
mod hub_queue;
mod readings;
mod registrations;

use std::sync::atomic::Ordering;

use proptest::prelude::*;

use answers::{any_queue_tags, any_send, any_tag_answer};
use bench::{cluster_of, healthy, id, message, router, router_with_cache, run, run_with, sent, tags_of, taken};
use fakes::{FakeClock, SendAnswer, TagAnswer};

use super::batch::{Message, Origin};
use super::decision::{Decision, RetryReason};
use super::services::CallFailure;
use super::*;
use crate::model::{QueueName, Signal, SubjectMember, Tags, sample_event, scope::tests::scope};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_decision_is_correct_whatever_the_services_answer(
        sends in prop::collection::vec(any_send(), 1..6),
        ec2 in prop::collection::vec(any_tag_answer(), 1..6),
        tags in prop::collection::vec(any_queue_tags(), 1..4),
        instances in prop::collection::vec(prop::collection::vec(0..400_usize, 1..6), 0..30),
        receives in 1..4_u32,
        budget in 0..3000_u64,
    ) {
        let absent_is_answered = tags.iter().any(|answer| matches!(answer, Err(CallFailure::Absent)))
            || sends.iter().any(|answer| match answer {
                SendAnswer::Entries(entries) => entries.contains(&Err(CallFailure::Absent)),
                answer => matches!(answer, SendAnswer::CallFailure(CallFailure::Absent)),
            });
        let router = router(sends, ec2, tags);
        let messages: Vec<Message> = instances
            .iter()
            .enumerate()
            .map(|(number, instances)| message(number, instances, receives))
            .collect();
        let outcome = run(&router, budget, &messages);

        // Every entity has one decision.
        let mut named: Vec<(usize, String)> = Vec::new();
        for (number, instances) in instances.iter().enumerate() {
            named.extend(instances.iter().map(|n| (number, format!("i-{n}"))));
        }
        let mut decided: Vec<(usize, String)> = outcome
            .items
            .iter()
            .map(|item| (item.message, item.instance.as_ref().unwrap().to_string()))
            .collect();
        named.sort();
        decided.sort();
        prop_assert_eq!(&named, &decided);

        // Every delivery is in its cluster's queue, and no queue contains another cluster's instance.
        let taken = taken(&router);
        for (queue, _, instance) in &taken {
            let n: usize = instance[2..].parse().unwrap();
            prop_assert_eq!(Some(queue.to_string()), cluster_of(n).map(|c| format!("karpenter-{c}")));
        }
        let mut delivered: Vec<(String, String)> = outcome
            .items
            .iter()
            .filter(|item| item.decision == Decision::Delivered)
            .map(|item| (item.message.to_string(), item.instance.as_ref().unwrap().to_string()))
            .collect();
        let mut arrived: Vec<(String, String)> = taken.into_iter().map(|(_, message, id)| (message, id)).collect();
        delivered.sort();
        arrived.sort();
        // If a call panics, the results of its batch are lost, and all of the batch is retried.
        let panics = router.services.queues.sends.answers.iter().any(|answer| matches!(answer, SendAnswer::Panic));
        if panics {
            prop_assert!(delivered.iter().all(|item| arrived.contains(item)));
        } else {
            prop_assert_eq!(&delivered, &arrived);
        }

        // Every drop has its proof.
        for item in &outcome.items {
            let n: usize = item.instance.as_ref().unwrap().as_str()[2..].parse().unwrap();
            match item.decision {
                Decision::Dropped(DropReason::NoTagsSeen) => {
                    prop_assert!(tags_of(n).is_none() && receives > 1);
                }
                Decision::Dropped(DropReason::NoKarpenterMarker) => prop_assert!(tags_of(n).is_some()),
                Decision::Dropped(DropReason::Unregistered) => prop_assert!(absent_is_answered && receives > 1),
                Decision::Dropped(DropReason::QueueNotOurs) => prop_assert!(receives > 1),
                _ => {}
            }
        }

        // Limits of the calls.
        prop_assert!(router.services.load.most.load(Ordering::Relaxed) <= CONCURRENT_CALLS);
        prop_assert!(router.services.queues.largest.load(Ordering::Relaxed) <= 10);
        prop_assert!(router.services.ec2.largest.load(Ordering::Relaxed) <= 200);
    }
}

#[test]
fn a_healthy_batch_takes_the_fewest_calls() {
    let router = healthy();
    // A hundred messages about instances of a few clusters.
    let messages: Vec<Message> = (0..400)
        .filter(|n| cluster_of(*n).is_some() && n % 20 < 12)
        .take(100)
        .enumerate()
        .map(|(number, n)| message(number, &[n], 1))
        .collect();
    assert_eq!(messages.len(), 100);
    let outcome = run(&router, 1000, &messages);
    assert!(outcome.items.iter().all(|item| item.decision == Decision::Delivered));
    let queues = router.services.queues.taken.lock().unwrap();
    let needed: usize = queues.values().map(|bodies| bodies.len().div_ceil(10)).sum();
    assert_eq!(router.services.queues.sends.next.load(Ordering::Relaxed), needed);
    assert_eq!(router.services.ec2.script.next.load(Ordering::Relaxed), 1);
    drop(queues);
    run(&router, 1000, &messages);
    assert_eq!(router.services.ec2.script.next.load(Ordering::Relaxed), 1, "the second time, every owner is cached");
}

#[test]
fn every_kind_of_event_reaches_its_queues() {
    for signal in Signal::ALL {
        let (about, queues) = match signal.subject() {
            SubjectMember::Instance => (&["i-1"][..], &["karpenter-c1"][..]),
            SubjectMember::Entities => (&["i-1", "i-2"][..], &["karpenter-c1", "karpenter-c2"][..]),
            SubjectMember::Cluster | SubjectMember::Bus => (&[][..], &["kibus-probe"][..]),
        };
        for detail_type in signal.detail_types() {
            let mut event = sample_event(&scope(), signal, about);
            event["detail-type"] = (*detail_type).into();
            let router = healthy();
            run(&router, 1000, &[Message { body: event.to_string(), ..message(0, &[1], 1) }]);
            let taken = router.services.queues.taken.lock().unwrap();
            assert!(taken.keys().map(QueueName::as_str).eq(queues.iter().copied()), "{detail_type}: {taken:?}");
        }
    }
}

/// It is ambiguous which instance it is about.
#[test]
fn an_ambiguous_event_reaches_no_queue_and_returns() {
    let router = healthy();
    let mut ambiguous = message(1, &[1], 3);
    ambiguous.body = ambiguous.body.replace("\"instance-id\":", "\"instance-id\":\"i-2\",\"instance-id\":");
    let outcome = run(&router, 1000, &[message(0, &[1], 1), ambiguous]);
    let decisions: Vec<_> = outcome.items.iter().map(|item| (item.signal, item.decision)).collect();
    let spot = Some(Signal::SpotInterruption);
    let retried = Decision::Retried(RetryReason::AmbiguousEvent);
    assert_eq!(decisions, [(spot, Decision::Delivered), (spot, retried)]);
    assert_eq!(taken(&router).len(), 1);
}

#[test]
fn an_event_for_no_karpenter_costs_no_call() {
    let router = healthy();
    let mut other = message(0, &[1], 1);
    other.body = other.body.replace("aws.ec2", "aws.other");
    let outcome = run(&router, 1000, &[other]);
    assert_eq!(outcome.items[0].decision, Decision::Dropped(DropReason::NotForKarpenter));
    assert_eq!(router.services.ec2.script.next.load(Ordering::Relaxed), 0);
    assert_eq!(router.services.queues.sends.next.load(Ordering::Relaxed), 0);
}

#[test]
fn an_answer_of_a_queue_becomes_a_verdict() {
    let again = CallFailure::Again(RetryReason::SendThrottled);
    let refused = |fault| vec![SendAnswer::CallFailure(fault)];
    let ours = || Tags::default().with("kibus:bus", "kibus").with("kibus:cluster", "c1");
    let others = || Tags::default().with("kibus:bus", "kibus").with("kibus:cluster", "c2");
    let (delivered, throttled) = (Decision::Delivered, Decision::Retried(RetryReason::SendThrottled));
    let [unregistered, not_ours] = [DropReason::Unregistered, DropReason::QueueNotOurs].map(Decision::Dropped);
    let [denied, send_refused] = [RetryReason::QueueDenied, RetryReason::SendRefused].map(Decision::Retried);
    let denial = || refused(CallFailure::Denied);
    for (what, sends, tags, decision) in [
        ("taken", vec![sent()], Ok(ours()), delivered),
        ("throttled, then taken", vec![SendAnswer::CallFailure(again), sent()], Ok(ours()), delivered),
        ("one entry failed, then taken", vec![SendAnswer::Entries(vec![Err(again)]), sent()], Ok(ours()), delivered),
        ("always throttled", refused(again), Ok(ours()), throttled),
        ("absent", refused(CallFailure::Absent), Err(CallFailure::Absent), unregistered),
        ("denied and absent", denial(), Err(CallFailure::Absent), unregistered),
        ("denied, no tags", denial(), Ok(Tags::default()), not_ours),
        ("denied, another cluster's", denial(), Ok(others()), not_ours),
        ("denied, ours", denial(), Ok(ours()), denied),
        ("denied twice", denial(), Err(CallFailure::Denied), denied),
        ("denied, no answer", denial(), Err(again), throttled),
        ("refused", refused(CallFailure::Refused), Ok(ours()), send_refused),
        ("too long", refused(CallFailure::TooLong), Ok(ours()), Decision::Dropped(DropReason::TooLarge)),
    ] {
        let router = router(sends, vec![TagAnswer::True], vec![tags]);
        let outcome = run(&router, 5000, &[message(0, &[1], 2)]);
        assert_eq!(outcome.items[0].decision, decision, "{what}");
    }
}

/// S3, S15, S16: in the first seconds after add-cluster, not every connection sees the queue and its tags.
#[test]
fn an_urgent_event_without_a_queue_is_retried_once() {
    let (once, unregistered) = (RetryReason::NoQueueYet, DropReason::Unregistered);
    for (what, answer, tags, dropped) in [
        ("absent", CallFailure::Absent, Ok(Tags::default()), unregistered),
        ("denied and absent", CallFailure::Denied, Err(CallFailure::Absent), unregistered),
        ("denied, no tags", CallFailure::Denied, Ok(Tags::default()), DropReason::QueueNotOurs),
    ] {
        for (receives, decision) in [
            (Some(1), Decision::Retried(once)),
            (Some(2), Decision::Dropped(dropped)),
            (None, Decision::Dropped(dropped)),
        ] {
            let answers = vec![SendAnswer::CallFailure(answer)];
            let router = router(answers, vec![TagAnswer::True], vec![tags.clone()]);
            let outcome = run(&router, 1000, &[message(0, &[1], receives)]);
            assert_eq!(outcome.items[0].decision, decision, "{what}, received {receives:?} times");
        }
        // The second receive asks another connection, which sees the queue.
        let answers = vec![SendAnswer::CallFailure(answer), sent()];
        let router = router(answers, vec![TagAnswer::True], vec![tags]);
        let decisions = [1, 2].map(|receives| run(&router, 1000, &[message(0, &[1], receives)]).items[0].decision);
        assert_eq!(decisions, [Decision::Retried(once), Decision::Delivered], "{what}");
    }
}

/// Karpenter finds a stopped instance without the message.
#[test]
fn an_event_that_is_not_urgent_is_dropped_at_once() {
    let router = router(vec![SendAnswer::CallFailure(CallFailure::Absent)], vec![TagAnswer::True], vec![]);
    let stopped = |number, instance| Message {
        body: sample_event(&scope(), Signal::StateChange, &[instance]).to_string(),
        ..message(number, &[1], 1)
    };
    let outcome = run(&router, 1000, &[stopped(0, "i-1"), stopped(1, "i-4")]);
    let decisions: Vec<Decision> = outcome.items.iter().map(|item| item.decision).collect();
    let dropped = [DropReason::Unregistered, DropReason::NoTagsSeen].map(Decision::Dropped);
    assert_eq!(decisions, dropped);
}

/// Only the hub queue, to which the rules of the bus send, feeds the router.
#[test]
fn a_message_of_another_queue_returns_unread() {
    let router = healthy();
    let forged = Message { origin: Origin::OtherQueue, ..message(1, &[1], 1) };
    let outcome = run(&router, 1000, &[message(0, &[1], 1), forged, message(2, &[4, 1], 2)]);
    let decisions: Vec<(Option<Signal>, Decision)> =
        outcome.items.iter().map(|item| (item.signal, item.decision)).collect();
    let health = Some(Signal::ScheduledChange);
    assert_eq!(
        decisions,
        [
            (Some(Signal::SpotInterruption), Decision::Delivered),
            (None, Decision::Retried(RetryReason::OtherQueue)),
            (health, Decision::Dropped(DropReason::NoTagsSeen)),
            (health, Decision::Delivered),
        ]
    );
    let numbers: Vec<String> = taken(&router).into_iter().map(|(_, message, _)| message).collect();
    assert_eq!(numbers, ["0", "2"]);
}

#[test]
fn an_urgent_event_without_tags_is_retried_once() {
    for (receives, decision) in [
        (Some(1), Decision::Retried(RetryReason::NoTagsYet)),
        (Some(2), Decision::Dropped(DropReason::NoTagsSeen)),
        (None, Decision::Dropped(DropReason::NoTagsSeen)),
    ] {
        let outcome = run(&healthy(), 1000, &[message(0, &[4], receives)]);
        assert_eq!(outcome.items[0].decision, decision, "received {receives:?} times");
    }
}

/// AWS's own tag decides, even if its cluster has no queue. An instance counts once per read of its tags.
#[test]
fn a_contradiction_is_counted_once_and_gives_nobody_the_event() {
    let absent = SendAnswer::CallFailure(CallFailure::Absent);
    let mut router = Arc::into_inner(router(vec![absent], vec![TagAnswer::True], vec![])).unwrap();
    let tags = router.services.ec2.truth.get_mut(&id(1)).unwrap();
    *tags = tags.clone().with("aws:eks:cluster-name", "unregistered");
    let router = Arc::new(router);
    let first = run(&router, 1000, &[message(0, &[1], 2), message(1, &[1], 2)]);
    assert_eq!(first.contradictions, [id(1)].into());
    let decisions: Vec<Decision> = first.items.iter().map(|item| item.decision).collect();
    assert_eq!(decisions, [Decision::Dropped(DropReason::Unregistered); 2]);
    let again = run(&router, 1000, &[message(2, &[1], 1)]);
    assert_eq!(again.contradictions, [].into());
}

#[test]
fn a_slow_ec2_delays_only_instances_with_unknown_owners() {
    let router = healthy();
    run(&router, 1000, &[message(0, &[1], 1)]);
    let throttled = TagAnswer::CallFailure(CallFailure::Again(RetryReason::TagsThrottled));
    let later = router_with_cache(&router, vec![throttled]);
    let outcome = run(&later, 1000, &[message(0, &[1], 1), message(1, &[2], 1)]);
    let decisions: Vec<Decision> = outcome.items.iter().map(|item| item.decision).collect();
    assert_eq!(decisions, [Decision::Delivered, Decision::Retried(RetryReason::TagsThrottled)]);
}

#[test]
fn no_cluster_has_a_hub_queue() {
    let router: Router<()> = Router::new(scope(), "kibus/{cluster}".parse().unwrap(), ());
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
