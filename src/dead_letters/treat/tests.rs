//! Dead letters processed on a fake queue: whatever fails, no message is lost unless the router has cleared it.

use std::sync::Mutex;

use super::*;
use crate::dead_letters::{MOST, look};
use crate::model::{FunctionName, LogGroupName, scope::tests::scope};

/// A dead-letter queue and a router. Ids that begin with `bad` cannot be routed.
#[derive(Default)]
struct FakeQueue {
    visible: Mutex<Vec<String>>,
    hidden: Mutex<BTreeSet<String>>,
    /// The length of each text.
    body: usize,
    /// Whether each message becomes visible again as soon as all others were received.
    returns: bool,
    routed: Mutex<Vec<String>>,
    calls: Mutex<usize>,
    /// The call from which on all calls fail.
    fails_at: Option<usize>,
}

impl FakeQueue {
    fn of(ids: &[String]) -> Self {
        Self { visible: Mutex::new(ids.to_vec()), ..Self::default() }
    }

    fn call(&self) -> Result<(), Fault> {
        let mut calls = self.calls.lock().unwrap();
        *calls += 1;
        assert!(*calls < 20_000, "it does not end");
        let fails = self.fails_at.is_some_and(|at| *calls >= at);
        (!fails).then_some(()).ok_or_else(|| Fault::new(FaultKind::Unreachable, "sqs:Call", "no answer"))
    }

    /// The messages that SQS still has, visible or hidden.
    fn kept(&self) -> BTreeSet<String> {
        let hidden = self.hidden.lock().unwrap().clone();
        self.visible.lock().unwrap().iter().cloned().chain(hidden).collect()
    }
}

impl DeadLetters for FakeQueue {
    async fn receive(&self, _: &QueueName, _: u32) -> Result<Vec<DeadLetter>, Fault> {
        self.call()?;
        let mut visible = self.visible.lock().unwrap();
        let count = visible.len().min(10);
        let received: Vec<String> = visible.drain(..count).collect();
        visible.extend(received.iter().filter(|_| self.returns).cloned());
        self.hidden.lock().unwrap().extend(received.iter().cloned());
        let letter =
            |id: String| DeadLetter { receipt: id.clone(), id, body: "\"".repeat(self.body), ..DeadLetter::default() };
        Ok(received.into_iter().map(letter).collect())
    }

    async fn release(&self, _: &QueueName, receipt: &str) -> Result<(), Fault> {
        self.call()?;
        if self.hidden.lock().unwrap().remove(receipt) {
            self.visible.lock().unwrap().push(receipt.to_owned());
        }
        Ok(())
    }

    async fn delete(&self, _: &QueueName, receipt: &str) -> Result<(), Fault> {
        self.call()?;
        self.hidden.lock().unwrap().remove(receipt);
        Ok(())
    }

    async fn route(&self, _: &FunctionName, _: &str, batch: &Value) -> Result<Vec<u8>, Fault> {
        let records = batch["Records"].as_array().unwrap();
        assert!(records.len() <= 10);
        let payload = batch.to_string().len();
        assert!(payload < 6_291_456, "Lambda refuses a payload of {payload} bytes");
        let ids = records.iter().map(|record| record["messageId"].as_str().unwrap().to_owned());
        let (bad, good): (Vec<_>, Vec<_>) = ids.partition(|id| id.starts_with("bad"));
        self.routed.lock().unwrap().extend(good);
        // The router has processed the messages even if its answer is lost.
        self.call()?;
        let failures: Vec<_> = bad.iter().map(|id| json!({ "itemIdentifier": id })).collect();
        Ok(json!({ "batchItemFailures": failures }).to_string().into_bytes())
    }

    async fn retry_lines(&self, _: &LogGroupName, _: i64) -> Result<(Vec<String>, bool), Fault> {
        Ok((Vec::new(), true))
    }
}

fn ids(names: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{names}-{number:02}")).collect()
}

fn set(ids: &[String]) -> BTreeSet<String> {
    ids.iter().cloned().collect()
}

fn left(treated: &Treated) -> BTreeSet<String> {
    let left = treated.results.iter().filter(|(_, result)| result.status == LetterStatus::Left);
    left.map(|(id, _)| id.clone()).collect()
}

/// Processes these letters, without a stop.
async fn treated(queue: &FakeQueue, treatment: Treatment, shown: &[String]) -> Treated {
    treat(queue, &scope(), treatment, set(shown), &watch::channel(false).1).await
}

#[tokio::test]
async fn only_what_was_shown_and_cleared_is_deleted() {
    let (good, bad, unseen) = (ids("good", 23), ids("bad", 2), ids("unseen", 12));
    let shown = [good.clone(), bad.clone()].concat();
    for (treatment, done, returned, kept) in [
        (Treatment::Redrive, &good, &bad, [unseen.clone(), bad.clone()].concat()),
        (Treatment::Purge, &shown, &Vec::new(), unseen.clone()),
    ] {
        let queue = FakeQueue::of(&[unseen.clone(), shown.clone()].concat());
        let done = done.iter().map(|id| (id.clone(), LetterResult::of_delete(treatment, &[], &Ok(()))));
        let returned = returned.iter().map(|id| (id.clone(), LetterResult::returned(&[])));
        let expected = Treated { results: done.chain(returned).collect(), fault: None, stopped: false };
        assert_eq!(treated(&queue, treatment, &shown).await, expected, "{treatment:?}");
        assert_eq!(queue.kept(), set(&kept), "{treatment:?}");
        assert!(queue.hidden.lock().unwrap().is_empty(), "all is visible again");
    }
}

#[tokio::test]
async fn whatever_fails_nothing_is_lost_and_only_a_batch_is_doubled() {
    let good = ids("good", 25);
    for fails_at in 1..40 {
        let queue = FakeQueue { fails_at: Some(fails_at), ..FakeQueue::of(&good) };
        let treated = self::treated(&queue, Treatment::Redrive, &good).await;
        let routed = set(&queue.routed.lock().unwrap());
        let kept = queue.kept();
        for id in &good {
            assert!(routed.contains(id) || kept.contains(id), "{fails_at}: {id} is lost");
        }
        let doubled = routed.intersection(&kept).count();
        assert!(doubled <= 10, "{fails_at}: {doubled} would be routed twice");
        assert_eq!(treated.fault.is_some(), treated.done() < good.len(), "{fails_at}");
        // A message that is reported as deleted is deleted, and one that may be routed twice is reported as failed.
        for (id, result) in &treated.results {
            let is_so = match result.status {
                status if status.is_done() => !kept.contains(id),
                LetterStatus::Failed => kept.contains(id),
                LetterStatus::Left => kept.contains(id) && !routed.contains(id),
                _ => false,
            };
            assert!(is_so, "{fails_at}: {id} is {result:?}");
        }
        // A repeated run, after the messages are visible again, finishes.
        let rest: Vec<String> = kept.into_iter().collect();
        let again = FakeQueue::of(&rest);
        let treated = self::treated(&again, Treatment::Redrive, &rest).await;
        assert_eq!((again.kept().len(), treated.fault), (0, None), "{fails_at}");
    }
}

#[tokio::test]
async fn others_messages_do_not_keep_it_forever() {
    let unseen = ids("unseen", 900);
    let queue = FakeQueue::of(&unseen);
    let gone = ids("gone", 1);
    let treated = treated(&queue, Treatment::Purge, &gone).await;
    assert_eq!((left(&treated), queue.kept()), (set(&gone), set(&unseen)));
    // It is unknown whether it is gone.
    assert_eq!(treated.fault, Some(crowded()));
}

#[tokio::test]
async fn large_messages_are_routed_in_several_invocations() {
    let good = ids("good", 25);
    let queue = FakeQueue { body: 400 * 1024, ..FakeQueue::of(&good) };
    let treated = treated(&queue, Treatment::Redrive, &good).await;
    let routed = queue.routed.lock().unwrap().len();
    assert_eq!((treated.done(), treated.fault, queue.kept(), routed), (25, None, BTreeSet::new(), 25));
}

/// Each result, as it appears in the document.
#[test]
fn each_dead_letter_has_its_result() {
    use Treatment::{Purge, Redrive};

    let fault = || Fault::new(FaultKind::Unreachable, "x:Call", "no answer");
    // As the router reports it.
    let decisions = |decisions: Value| {
        let answer = json!({"batchItemFailures": [], "decisions": {"m": decisions}}).to_string();
        let mut answer = RouterAnswer::read(answer.as_bytes(), &["m"]);
        answer.decisions.remove("m").unwrap()
    };
    let routed = decisions(json!([
        {"decision": "delivered", "reason": null, "cluster": "base"},
        {"decision": "dropped", "reason": "unregistered", "cluster": "other"},
    ]));
    let dropped = decisions(json!([{"decision": "dropped", "reason": "no tags seen", "cluster": null}]));
    let denied = decisions(json!([{"decision": "retried", "reason": "queue denied", "cluster": "base"}]));
    let new = |reason: String| LetterResult::new(LetterStatus::Failed, Some(reason), &[]);
    let deleted = LetterResult::of_delete;
    let not_deleted = "routed or dropped, but not deleted: x:Call: no answer";
    let retried = "the router returned it: retried: queue denied, for cluster base";
    let routed_to = "routed to base; dropped: unregistered, for cluster other";
    let silent = "routed or dropped: this router does not report which";
    for (result, status, reason, clusters) in [
        (deleted(Redrive, &[], &Ok(())), "routed-or-dropped-and-deleted", Some(silent), &[][..]),
        (deleted(Redrive, &routed, &Ok(())), "routed-and-deleted", Some(routed_to), &["base"]),
        (deleted(Redrive, &dropped, &Ok(())), "dropped-and-deleted", Some("dropped: no tags seen"), &[]),
        (LetterResult::returned(&denied), "failed", Some(retried), &[]),
        (deleted(Purge, &[], &Ok(())), "deleted", None, &[]),
        (LetterResult::returned(&[]), "failed", Some("the router returned it"), &[]),
        (new(fault().to_string()), "failed", Some("x:Call: no answer"), &[]),
        (deleted(Redrive, &[], &Err(fault())), "failed", Some(not_deleted), &[]),
        (deleted(Purge, &[], &Err(fault())), "failed", Some("x:Call: no answer"), &[]),
    ] {
        let expected = json!({"status": status, "reason": reason, "clusters": clusters});
        assert_eq!(json!(result), expected);
    }
}

#[tokio::test]
async fn why_a_dead_letter_is_left_is_said() {
    let gone = set(&ids("gone", 1));
    for (stops, why) in [(false, "no longer found"), (true, "not tried")] {
        let stop = watch::channel(stops).1;
        let treated = treat(&FakeQueue::of(&[]), &scope(), Treatment::Purge, gone.clone(), &stop).await;
        assert_eq!(treated.results["gone-00"], LetterResult::new(LetterStatus::Left, Some(why.to_owned()), &[]));
    }
}

#[tokio::test]
async fn reading_ends_however_slow_and_large_the_queue_is() {
    for (messages, body, expected, cut) in
        [(900, 10, 900, false), (5_000, 10, MOST, true), (900, 1024 * 1024, 70, true)]
    {
        let queue = FakeQueue { body, returns: true, ..FakeQueue::of(&ids("id", messages)) };
        let seen = look(&queue, &scope().dead_letter_queue()).await.unwrap();
        assert_eq!((seen.0.len(), seen.1), (expected, cut), "{messages} messages of {body} bytes");
    }
}
