//! What a queue without our tags costs: SQS allows few calls about tags, and all of them belong to the whole account.

use std::time::Duration;

use super::bench::TestRouter;
use super::*;

fn refusing(failure: CallFailure, tags: Result<Tags, CallFailure>) -> TestRouter {
    router(
        vec![SendAnswer::CallFailure(failure)],
        vec![TagAnswer::True],
        vec![tags],
    )
}

fn tag_calls(router: &TestRouter) -> usize {
    router.queues.tags.next.load(Ordering::Relaxed)
}

/// S10, S16.
#[test]
fn a_missing_queue_takes_no_tag_call() {
    let router = refusing(CallFailure::Absent, Ok(Tags::default()));
    let outcome = run(&router, 1000, &[message(0, &[1], 1)]);
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
        // Nobody asked for a long time, so this absence may be another one.
        (300, 8),
        (301, 8),
        (302, 9),
    ] {
        // A call takes the fake clock a millisecond.
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
