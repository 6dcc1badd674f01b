//! The cost of a queue without kibus's tags: SQS allows few tag calls, and the whole account shares them.

use std::time::{Duration, Instant};

use serde_json::json;

use super::bench::{TestRouter, id};
use super::*;

fn refusing(failure: CallFailure, tags: Result<Tags, CallFailure>) -> TestRouter {
    router(vec![SendAnswer::CallFailure(failure)], vec![TagAnswer::True], vec![tags])
}

fn tag_calls(router: &TestRouter) -> usize {
    router.services.queues.tags.next.load(Ordering::Relaxed)
}

/// S10, S16.
#[test]
fn a_missing_queue_takes_no_tag_call() {
    let router = refusing(CallFailure::Absent, Ok(Tags::default()));
    let outcome = run(&router, 1000, &[message(0, &[1], 2)]);
    assert_eq!(outcome.items[0].decision, Decision::Dropped(DropReason::Unregistered));
    assert_eq!(tag_calls(&router), 0);
}

/// S3, S13: a queue that was just created is seen within seconds, and one that stays absent is asked about ever less often.
#[test]
fn an_absent_queue_is_asked_about_after_2_to_30_seconds() {
    let start = Instant::now();
    let router = refusing(CallFailure::Denied, Err(CallFailure::Absent));
    for (second, calls) in [
        (0, 1),
        (1, 1),
        (2, 2),
        (5, 2),
        (6, 3),
        (13, 3),
        (14, 4),
        (29, 4),
        (30, 5),
        (59, 5),
        (60, 6),
        (89, 6),
        (90, 7),
        // There was no request for a long time, so this may be a new absence.
        (300, 8),
        (301, 8),
        (302, 9),
    ] {
        // A call advances the fake clock by a millisecond.
        let at = start + Duration::from_secs(second) + Duration::from_millis(second);
        run_with(&router, FakeClock::at(at, 1000), &[message(0, &[1], 1)]);
        assert_eq!(tag_calls(&router), calls, "after {second} s");
    }
}

/// S15: the tags of a new queue may come after the queue.
#[test]
fn each_answer_is_valid_for_its_own_time() {
    let ours = Tags::default().with("kibus:bus", "kibus").with("kibus:cluster", "c1");
    for (what, answer, seconds) in [
        ("absent", Err(CallFailure::Absent), 2),
        ("not ours", Ok(Tags::default()), 2),
        ("throttled", Err(CallFailure::Again(RetryReason::SendThrottled)), 2),
        ("ours", Ok(ours), 30),
        ("denied", Err(CallFailure::Denied), 30),
    ] {
        let start = Instant::now();
        let router = refusing(CallFailure::Denied, answer);
        let at = |time: Duration| run_with(&router, FakeClock::at(start + time, 1000), &[message(0, &[1], 1)]);
        at(Duration::ZERO);
        at(Duration::from_secs(seconds) - Duration::from_millis(10));
        assert_eq!(tag_calls(&router), 1, "{what}");
        at(Duration::from_secs(seconds) + Duration::from_millis(10));
        assert_eq!(tag_calls(&router), 2, "{what}");
    }
}

/// A router that may send to no queue, and instances that all have a cluster of their own.
fn unknown_clusters(instances: usize) -> TestRouter {
    let mut router = Arc::into_inner(refusing(CallFailure::Denied, Ok(Tags::default()))).unwrap();
    let tags = |n| {
        let tags = Tags::default().with("karpenter.sh/nodepool", "x");
        (id(n), tags.with("eks:eks-cluster-name", format!("unknown-{n}")))
    };
    router.services.ec2.truth = (0..instances).map(tags).collect();
    Arc::new(router)
}

/// Ten messages that each name thirty of these instances.
fn batch(first: usize) -> Vec<Message> {
    let instances = |n| (first + 30 * n..first + 30 * (n + 1)).collect::<Vec<_>>();
    (0..10).map(|n| message(n, &instances(n), 1)).collect()
}

/// Three hundred unknown queues, in each of thirty invocations: their cost is limited per invocation, and a repeated
/// name costs no more than its share.
#[test]
fn many_unknown_clusters_cost_a_limited_number_of_tag_calls() {
    const INVOCATIONS: usize = 30;
    for (what, names, most) in [
        ("always other names", 300 * INVOCATIONS, 100 * INVOCATIONS),
        // In the first three invocations. All happen within two seconds of the clock.
        ("the same names", 300, 300),
    ] {
        let router = unknown_clusters(names);
        let start = Instant::now();
        for invocation in 0..INVOCATIONS {
            let at = start + Duration::from_millis(u64::try_from(invocation).unwrap());
            let before = tag_calls(&router);
            run_with(&router, FakeClock::at(at, 8500), &batch(300 * invocation % names));
            assert!(tag_calls(&router) - before <= 101, "{what}: invocation {invocation}");
        }
        assert!(tag_calls(&router) <= most, "{what}: {}", tag_calls(&router));
    }
}

/// A cluster whose last event was dropped is served after all others.
#[test]
fn an_unregistered_cluster_is_not_served_ahead_of_others() {
    let router = unknown_clusters(2);
    run(&router, 1000, &[message(0, &[0], 1)]);
    let drops = |n: usize| router.registry.drops(&format!("karpenter-unknown-{n}").parse().unwrap());
    assert!(drops(0) && !drops(1));
    run(&router, 1000, &[message(0, &[0, 1], 1)]);
    assert_eq!(
        *router.services.queues.asked.lock().unwrap(),
        ["karpenter-unknown-0", "karpenter-unknown-1", "karpenter-unknown-0"]
    );
}

/// The probe rule matches no event with `detail.cluster`, but the router also accepts the member in another case.
#[test]
fn only_a_direct_invocation_names_a_cluster() {
    for (member, receives, queue) in [
        ("cluster", None, Some("karpenter-base")),
        ("Cluster", None, None),
        ("cluster", Some(1), None),
        ("Cluster", Some(1), None),
        ("other", Some(1), Some("kibus-probe")),
    ] {
        let router = healthy();
        let mut event = sample_event(&scope(), Signal::Probe, &[]);
        event["detail"][member] = json!("base");
        let message = Message { body: event.to_string(), receives, ..message(0, &[1], 1) };
        let outcome = run(&router, 1000, &[message]);
        let asked = router.services.queues.asked.lock().unwrap();
        assert!(asked.iter().map(String::as_str).eq(queue), "{member} {receives:?}: {asked:?}");
        let dropped = Decision::Dropped(DropReason::NotForKarpenter);
        assert_eq!(outcome.items[0].decision == dropped, queue.is_none(), "{member} {receives:?}");
    }
}
