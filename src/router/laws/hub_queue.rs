//! Messages that the router receives itself leave the hub queue only when they are done, whatever EC2 and SQS answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::answers::any_tag_answer;
use super::bench::TestRouter;
use super::fakes::Script;
use super::*;
use crate::model::signal::HEARTBEAT_DETAIL_TYPE;
use crate::router::clock::{Deadline, visibility};
use crate::router::invocation::{Finished, route_batch};

/// The hub queue, without the messages that Lambda passed.
pub(super) struct FakeHub {
    waiting: Mutex<Vec<Message>>,
    receives: Script<TagAnswer>,
    deletes: Script<SendAnswer>,
    deleted: Mutex<BTreeSet<String>>,
    hidden: Mutex<BTreeMap<String, u32>>,
}

impl Default for FakeHub {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            receives: Script::new(vec![TagAnswer::True]),
            deletes: Script::new(vec![sent()]),
            deleted: Mutex::default(),
            hidden: Mutex::default(),
        }
    }
}

impl FakeHub {
    pub(super) fn receive(&self) -> Result<Vec<Message>, CallFailure> {
        match self.receives.next() {
            TagAnswer::CallFailure(failure) => Err(failure),
            TagAnswer::Panic => panic!("a receive"),
            TagAnswer::True => {
                let mut waiting = self.waiting.lock().unwrap();
                let taken = waiting.len().min(10);
                Ok(waiting.drain(..taken).collect())
            }
        }
    }

    pub(super) fn delete(&self, receipts: &[&str]) -> Result<usize, CallFailure> {
        let answers = match self.deletes.next() {
            SendAnswer::CallFailure(failure) => return Err(failure),
            SendAnswer::Panic => panic!("a delete"),
            SendAnswer::Short => vec![Ok(()); receipts.len() - 1],
            SendAnswer::Entries(answers) => answers,
        };
        let answers = receipts.iter().zip(answers.iter().cycle());
        let deleted: Vec<_> = answers.filter(|(_, answer)| answer.is_ok()).collect();
        let receipts = deleted.iter().map(|(receipt, _)| (**receipt).to_owned());
        self.deleted.lock().unwrap().extend(receipts);
        Ok(deleted.len())
    }

    pub(super) fn hide(&self, receipts: &[(&str, u32)]) {
        let receipts = receipts.iter().map(|(receipt, wait)| ((*receipt).to_owned(), *wait));
        self.hidden.lock().unwrap().extend(receipts);
    }
}

fn hub(number: usize) -> Origin {
    Origin::HubQueue { receipt: number.to_string() }
}

/// A message whose receipt equals its id.
fn of_hub(number: usize, instances: &[usize], receives: u32) -> Message {
    Message { origin: hub(number), ..message(number, instances, receives) }
}

fn invoke(router: &TestRouter, batch: Vec<Message>, time: Duration) -> Finished {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(invoked(router, batch, time))
}

async fn invoked(router: &TestRouter, batch: Vec<Message>, time: Duration) -> Finished {
    let ends = SystemTime::now() + time + Duration::from_millis(1500);
    let ends = ends.duration_since(UNIX_EPOCH).unwrap().as_millis();
    let deadline = Deadline::at(u64::try_from(ends).unwrap());
    route_batch(router, batch, deadline, "request").await
}

fn failures(finished: &Finished) -> BTreeSet<String> {
    let failures = finished.answer.as_ref().unwrap()["batchItemFailures"].as_array().unwrap().iter();
    failures.map(|failure| failure["itemIdentifier"].as_str().unwrap().to_owned()).collect()
}

fn count(finished: &Finished, name: &str) -> Option<usize> {
    let mut lines = finished.lines.iter().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let line = lines.find(|line| line.get("_aws").is_some())?;
    Some(usize::try_from(line.get(name)?.as_u64()?).unwrap())
}

/// A router with these messages in its hub queue.
fn with_waiting(mut router: TestRouter, waiting: impl IntoIterator<Item = Message>) -> TestRouter {
    let hub = &mut Arc::get_mut(&mut router).unwrap().services.queues.hub;
    hub.waiting = Mutex::new(waiting.into_iter().collect());
    router
}

/// An endless sequence of instances with a cluster.
fn of_clusters() -> impl Iterator<Item = usize> {
    (0..400).cycle().filter(|n| cluster_of(*n).is_some())
}

/// Any answer after which an event is not dropped.
fn any_passing_send() -> impl Strategy<Value = SendAnswer> {
    let again = || Err(CallFailure::Again(RetryReason::SendThrottled));
    prop_oneof![
        4 => Just(sent()),
        1 => Just(SendAnswer::Entries(vec![Ok(()), again(), Err(CallFailure::Refused)])),
        1 => Just(SendAnswer::CallFailure(CallFailure::Refused)),
        1 => Just(SendAnswer::Short),
        1 => Just(SendAnswer::Panic),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_message_leaves_the_hub_only_if_it_is_done(
        sends in prop::collection::vec(any_passing_send(), 1..6),
        ec2 in prop::collection::vec(any_tag_answer(), 1..4),
        receives in prop::collection::vec(any_tag_answer(), 1..4),
        deletes in prop::collection::vec(any_passing_send(), 1..6),
        instances in prop::collection::vec(prop::collection::vec(0..400_usize, 1..4), 10..230),
        count in 1..4_u32,
    ) {
        let mut router = router(sends, ec2, vec![Ok(Tags::default())]);
        let messages = instances.iter().enumerate();
        let mut messages: Vec<Message> = messages.map(|(number, about)| of_hub(number, about, count)).collect();
        let waiting = messages.split_off(10);
        let hub = &mut Arc::get_mut(&mut router).unwrap().services.queues.hub;
        (hub.receives, hub.deletes) = (Script::new(receives), Script::new(deletes));
        let router = with_waiting(router, waiting);
        let finished = invoke(&router, messages, Duration::from_millis(100));

        let hub = &router.services.queues.hub;
        let (deleted, hidden) = (hub.deleted.lock().unwrap(), hub.hidden.lock().unwrap());
        let failures = failures(&finished);
        let number = |id: &String| id.parse::<usize>().unwrap();
        // Lambda deletes messages that it passed and that are not among the failures; an unknown id would fail the whole batch.
        prop_assert!(failures.iter().all(|id| number(id) < 10));
        prop_assert!(deleted.iter().all(|id| number(id) >= 10));
        prop_assert!(hidden.iter().all(|(id, wait)| !deleted.contains(id) && *wait == visibility(count)));
        prop_assert!(failures.iter().all(|id| hidden.contains_key(id)));
        let taken: BTreeSet<_> = taken(&router).into_iter().collect();
        let of_lambda = (0..10).map(|n| n.to_string()).filter(|id| !failures.contains(id));
        for id in of_lambda.chain(deleted.iter().cloned()) {
            for n in &instances[number(&id)] {
                let arrived = cluster_of(*n).map(|cluster| {
                    let queue = format!("karpenter-{cluster}").parse().unwrap();
                    taken.contains(&(queue, id.clone(), format!("i-{n}")))
                });
                prop_assert_ne!(arrived, Some(false), "message {} about i-{} left the hub", id, n);
            }
        }
        prop_assert!(router.services.load.most.load(Ordering::Relaxed) <= CONCURRENT_CALLS);
        prop_assert!(router.services.queues.largest.load(Ordering::Relaxed) <= 10);
        prop_assert!(router.services.ec2.largest.load(Ordering::Relaxed) <= 200);
    }
}

#[test]
fn two_hundred_messages_take_one_call_of_describe_tags() {
    let mut messages = of_clusters().take(300).enumerate().map(|(number, n)| of_hub(number, &[n], 1));
    let passed = messages.by_ref().take(10).collect();
    let router = with_waiting(healthy(), messages);
    let finished = invoke(&router, passed, Duration::from_secs(60));
    assert_eq!(failures(&finished), BTreeSet::new());
    assert_eq!(router.services.ec2.script.next.load(Ordering::Relaxed), 1);
    assert_eq!(taken(&router).len(), 200);
    let hub = &router.services.queues.hub;
    let own: BTreeSet<String> = (10..200).map(|n| n.to_string()).collect();
    assert_eq!(*hub.deleted.lock().unwrap(), own);
    assert_eq!(*hub.hidden.lock().unwrap(), BTreeMap::new());
    assert_eq!(hub.waiting.lock().unwrap().len(), 100);
    let count = |name| count(&finished, name);
    assert_eq!((count("Received"), count("ReceivedByRouter")), (Some(200), Some(190)));
    assert_eq!(count("NotDeleted"), None);
}

#[test]
fn only_a_full_batch_of_young_messages_of_the_hub_receives_more() {
    let one_of_another = |number| match number {
        0 => Origin::OtherQueue,
        _ => hub(number),
    };
    for (what, passed, receives, bytes, origin, calls) in [
        ("full", 10, 1, 0, hub as fn(usize) -> Origin, 19),
        ("not full", 9, 1, 0, hub, 0),
        ("of another mapping", 100, 1, 0, hub, 0),
        ("with one of another queue", 10, 1, 0, one_of_another, 0),
        ("a redrive", 10, 2, 0, |_| Origin::Invocation, 0),
        ("received nine times", 10, 9, 0, hub, 19),
        ("received ten times", 10, 10, 0, hub, 0),
        ("10 KB each", 10, 1, 10_000, hub, 5),
        ("60 KB each", 10, 1, 60_000, hub, 0),
    ] {
        let router = healthy();
        let numbered = of_clusters().take(passed).enumerate();
        let messages = numbered.map(|(number, n)| {
            let mut message = of_hub(number, &[n], receives);
            message.body += &" ".repeat(bytes);
            message.origin = origin(number);
            message
        });
        let finished = invoke(&router, messages.collect(), Duration::from_secs(60));
        let foreign = failures(&finished).len();
        assert_eq!(taken(&router).len(), passed - foreign, "{what}");
        assert_eq!(router.services.queues.hub.receives.next.load(Ordering::Relaxed), calls, "{what}");
    }
}

#[test]
fn what_fails_in_the_hub_is_counted_and_harms_no_message() {
    let throttled = CallFailure::Again(RetryReason::SendThrottled);
    let one_of_two = SendAnswer::Entries(vec![Ok(()), Err(CallFailure::Refused)]);
    for (what, receives, deletes, own, kept) in [
        ("throttled receives", TagAnswer::CallFailure(throttled), sent(), 0, 0),
        ("denied receives", TagAnswer::CallFailure(CallFailure::Denied), sent(), 0, 0),
        ("panics in receives", TagAnswer::Panic, sent(), 0, 0),
        ("throttled deletes", TagAnswer::True, SendAnswer::CallFailure(throttled), 190, 190),
        ("panics in deletes", TagAnswer::True, SendAnswer::Panic, 190, 190),
        ("every other entry refused", TagAnswer::True, one_of_two, 190, 95),
    ] {
        let mut messages = of_clusters().take(200).enumerate().map(|(number, n)| of_hub(number, &[n], 1));
        let passed = messages.by_ref().take(10).collect();
        let mut router = with_waiting(healthy(), messages);
        let hub = &mut Arc::get_mut(&mut router).unwrap().services.queues.hub;
        (hub.receives, hub.deletes) = (Script::new(vec![receives]), Script::new(vec![deletes]));
        let finished = invoke(&router, passed, Duration::from_secs(60));
        assert_eq!(failures(&finished), BTreeSet::new(), "{what}");
        assert_eq!(taken(&router).len(), 10 + own, "{what}");
        let count = |name| count(&finished, name).unwrap_or(0);
        assert_eq!((count("ReceivedByRouter"), count("NotDeleted")), (own, kept), "{what}");
        let (all, events) = (router.services.queues.hub.deleted.lock().unwrap().len(), count("Received"));
        assert_eq!((all, events), (own - kept, 10 + own), "{what}");
    }
}

/// The messages that Lambda passed are sent first: their cluster's queue is asked first, whatever its name.
#[test]
fn what_the_router_received_does_not_delay_what_lambda_passed() {
    let of_lambda = (0..10).map(|number| of_hub(number, &[17], 1)).collect();
    let others = of_clusters().filter(|n| n % 20 != 17).take(190).enumerate();
    let router = with_waiting(healthy(), others.map(|(number, n)| of_hub(number + 10, &[n], 1)));
    invoke(&router, of_lambda, Duration::from_secs(60));
    let asked = router.services.queues.asked.lock().unwrap();
    assert!(asked.len() > 10);
    assert_eq!(asked[0], "karpenter-c17");
}

#[test]
fn messages_without_room_return_to_the_hub() {
    let passed = of_clusters().take(10).enumerate().map(|(number, n)| of_hub(number, &[n], 1)).collect();
    let waiting = of_clusters().take(100).enumerate().map(|(number, n)| {
        let mut message = of_hub(number + 10, &[n], 3);
        message.body += &" ".repeat(50_000);
        message
    });
    let router = with_waiting(healthy(), waiting);
    let finished = invoke(&router, passed, Duration::from_secs(60));
    assert_eq!(count(&finished, "ReceivedByRouter"), Some(10), "512 KiB hold ten");
    let hub = &router.services.queues.hub;
    let (deleted, hidden) = (hub.deleted.lock().unwrap(), hub.hidden.lock().unwrap());
    assert_eq!((deleted.len(), hidden.len()), (10, 90));
    assert!(hidden.iter().all(|(id, wait)| !deleted.contains(id) && *wait == 8), "{hidden:?}");
}

fn heartbeat(number: usize) -> Message {
    let mut event = sample_event(&scope(), Signal::Probe, &[]);
    event["detail-type"] = serde_json::json!(HEARTBEAT_DETAIL_TYPE);
    Message { body: event.to_string(), ..of_hub(number, &[1], 1) }
}

/// A heartbeat calls EC2 at most once a minute. Each is sent unchanged to the probe queue, and counts in no other metric.
#[test]
fn a_heartbeat_takes_the_whole_way_and_counts_alone() {
    let router = healthy();
    for beats in 1..3 {
        let beat = heartbeat(0);
        let finished = invoke(&router, vec![beat.clone()], Duration::from_secs(1));
        assert_eq!(router.services.ec2.script.next.load(Ordering::Relaxed), 1);
        let taken = router.services.queues.taken.lock().unwrap();
        assert_eq!(taken[&"kibus-probe".parse().unwrap()], vec![beat.body; beats]);
        let [line] = &finished.lines[..] else { panic!("{:?}", finished.lines) };
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let names = &line["_aws"]["CloudWatchMetrics"][0]["Metrics"];
        assert_eq!(names, &serde_json::json!([{"Name": "Heartbeat", "Unit": "Count"}]));
        assert_eq!(line["Heartbeat"], 1);
    }
    let finished = invoke(&router, vec![heartbeat(0), of_hub(1, &[1], 1)], Duration::from_secs(1));
    let counts = ["Heartbeat", "Received", "Delivered"].map(|name| count(&finished, name));
    assert_eq!(counts, [Some(1); 3]);
}

#[test]
fn a_heartbeat_that_fails_is_retried_and_not_counted() {
    let refused = CallFailure::Again(RetryReason::SendThrottled);
    for router in [
        router(vec![SendAnswer::CallFailure(refused)], vec![TagAnswer::True], vec![]),
        router(vec![sent()], vec![TagAnswer::CallFailure(CallFailure::Denied)], vec![]),
    ] {
        let finished = invoke(&router, vec![heartbeat(0)], Duration::from_millis(100));
        assert_eq!(failures(&finished), ["0".to_owned()].into());
        let counts = ["Heartbeat", "Retried", "Received"].map(|name| count(&finished, name));
        assert_eq!(counts, [None, Some(1), Some(0)]);
    }
}

/// A router whose topic gives these answers.
fn with_topic(mut router: TestRouter, answers: Vec<Option<Result<(), String>>>) -> TestRouter {
    let topic = &mut Arc::get_mut(&mut router).unwrap().services.topic;
    topic.answers = Script::new(answers);
    router
}

#[test]
fn a_notice_has_what_a_team_filters_by() {
    let router = healthy();
    let dropped = of_hub(1, &[6], 2);
    let finished = invoke(&router, vec![of_hub(0, &[1], 1), dropped, heartbeat(2)], Duration::from_secs(1));
    assert_eq!(count(&finished, "Notified"), Some(1));
    let published = router.services.topic.published.lock().unwrap();
    let attributes = [("cluster", "c1"), ("nodepool", "x"), ("signal", "spot-interruption"), ("urgency", "urgent")];
    assert_eq!(published[0].attributes, attributes.map(|(name, value)| (name, value.to_owned())));
    let message: serde_json::Value = serde_json::from_str(&published[0].message).unwrap();
    let facts = &message["metadata"]["additionalContext"];
    let members = ["cluster", "account", "region", "time"].map(|name| facts[name].as_str().unwrap());
    assert_eq!(members, ["c1", "111122223333", "us-west-2", "2026-11-20T14:02:31Z"]);
    assert_eq!(message["metadata"]["relatedResources"], serde_json::json!(["i-1"]));
}

/// A topic that hangs takes no more than its share of an invocation, of three invocations a minute.
#[tokio::test(start_paused = true)]
async fn a_topic_that_hangs_or_refuses_keeps_no_event() {
    let denied = || Some(Err("AuthorizationError".to_owned()));
    for (what, answers) in
        [("hangs", vec![None]), ("refuses", vec![denied()]), ("hangs and refuses", vec![None, denied()])]
    {
        let router = with_topic(healthy(), answers);
        for number in 0..6 {
            let begun = tokio::time::Instant::now();
            let finished = invoked(&router, vec![of_hub(number, &[1], 1)], Duration::from_secs(8)).await;
            // The runtime measures in whole milliseconds.
            let most = Duration::from_millis(if number < 3 { 301 } else { 0 });
            assert!(begun.elapsed() <= most, "{what}: {number} took {:?}", begun.elapsed());
            assert_eq!(failures(&finished), BTreeSet::new(), "{what}");
            let counts = ["Delivered", "Notified", "NotNotified"].map(|name| count(&finished, name));
            assert_eq!(counts, [Some(1), None, Some(1)], "{what}");
            assert!(finished.lines.iter().any(|line| line.contains("\"not notified\"")), "{what}");
        }
        assert_eq!(router.services.topic.answers.next.load(Ordering::Relaxed), 3, "{what}");
    }
}

#[test]
fn a_storm_publishes_nothing() {
    let mut messages = of_clusters().take(30).enumerate().map(|(number, n)| of_hub(number, &[n], 1));
    let passed = messages.by_ref().take(10).collect();
    let router = with_topic(with_waiting(healthy(), messages), vec![None]);
    let finished = invoke(&router, passed, Duration::from_secs(8));
    let counts = ["Delivered", "Notified", "NotNotified"].map(|name| count(&finished, name));
    assert_eq!(counts, [Some(30), None, Some(30)]);
    assert_eq!(router.services.topic.answers.next.load(Ordering::Relaxed), 0);
}
