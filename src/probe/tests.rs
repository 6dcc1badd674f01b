//! Probes on a bus whose rules take effect late. The clock moves only during waits.

use std::sync::Mutex;

use tokio::time::sleep;

use super::*;
use crate::model::{FaultKind, FunctionName, scope::tests::scope};

/// A bus whose rules take effect late, on the paused clock.
struct LateCloud {
    begin: Instant,
    /// Events that are put before this time are lost.
    effective: Duration,
    /// The time from the event bus to the probe queue.
    delay: Duration,
    /// When each event arrives.
    arriving: Mutex<Vec<Duration>>,
    /// The counts of every queue, one sample after the other.
    counts: Mutex<VecDeque<u64>>,
    /// How many messages a look shows.
    probes: u64,
    looked: Mutex<Vec<u64>>,
    /// Why looks are not allowed.
    denied: Option<Fault>,
}

impl LateCloud {
    fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Rules that take effect after some seconds, and a path that takes some seconds.
    fn rules(effective: u64, delay: u64) -> Self {
        Self {
            begin: Instant::now(),
            effective: seconds(effective),
            delay: seconds(delay),
            arriving: Mutex::default(),
            counts: Mutex::default(),
            probes: 0,
            looked: Mutex::default(),
            denied: None,
        }
    }
}

/// The answer of a function.
type Routed = Result<Result<Vec<RouterDecision>, String>, Fault>;

impl Probe for LateCloud {
    async fn put_event(&self, _: &Value) -> Result<(), Fault> {
        let now = self.elapsed();
        if now >= self.effective {
            self.arriving.lock().unwrap().push(now + self.delay);
        }
        Ok(())
    }

    async fn take_probe(&self, _: &QueueName, _: &str) -> Result<u32, Fault> {
        sleep(seconds(2)).await;
        let now = self.elapsed();
        let mut arriving = self.arriving.lock().unwrap();
        let before = arriving.len();
        arriving.retain(|at| *at > now);
        Ok(u32::try_from(before - arriving.len()).unwrap())
    }

    async fn look(&self, _: &QueueName) -> Result<BTreeSet<String>, Fault> {
        if let Some(fault) = &self.denied {
            return Err(fault.clone());
        }
        self.looked.lock().unwrap().push(self.elapsed().as_secs());
        Ok((0..self.probes).map(|probe| probe.to_string()).collect())
    }

    async fn route_probe(&self, _: &FunctionName, _: &str, _: &Value) -> Routed {
        Ok(Err("no function".to_owned()))
    }

    async fn depth(&self, _: &QueueName) -> Result<Option<Depth>, Fault> {
        let waiting = self.counts.lock().unwrap().pop_front();
        Ok(waiting.map(|waiting| Depth { waiting, in_flight: 0 }))
    }
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// E1, P9: a rule that takes effect late misses the first events, so the probe is sent again until one arrives.
#[tokio::test(start_paused = true)]
async fn a_probe_is_sent_again_until_a_late_rule_delivers_one() {
    for (name, effective, delay, result, sent, took) in [
        ("at once", 0, 1, ProbeResult::Delivered, 1, 2),
        ("a rule that is late", 25, 1, ProbeResult::Delivered, 4, 32),
        ("a minute late", 60, 1, ProbeResult::Delivered, 7, 62),
        ("a router that is slow", 0, 15, ProbeResult::Delivered, 2, 16),
        ("no rule at all", 1000, 1, ProbeResult::Lost, 12, 120),
    ] {
        let probed = bus(&LateCloud::rules(effective, delay), &scope()).await;
        assert_eq!((probed.result, probed.sent, probed.took), (result, sent, seconds(took)), "{name}");
    }
}

/// S28: a look pushes messages back in the queue, so there are few.
#[tokio::test(start_paused = true)]
async fn s28_a_queue_is_looked_at_seldom() {
    let queue = scope().probe_queue();
    for (name, probes, result, looked) in [
        ("a queue that is read", 0, ProbeResult::Read, &[1, 2][..]),
        ("a queue that is not read", 1, ProbeResult::NotRead, &[1, 2, 4, 8, 46]),
    ] {
        let cloud = LateCloud { probes, ..LateCloud::rules(0, 0) };
        assert_eq!(watch_reader(&cloud, &queue).await.unwrap(), result, "{name}");
        assert_eq!(*cloud.looked.lock().unwrap(), looked, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_nobody_may_look_the_counts_decide_after_a_minute() {
    let denied = Fault::new(FaultKind::Denied { principal: None, resource: None }, "sqs:ReceiveMessage", "no");
    let queue = scope().probe_queue();
    for (counts, result) in [
        ([1, 1, 1, 1], Ok(ProbeResult::NotRead)),
        ([0, 0, 0, 0], Ok(ProbeResult::Read)),
        ([0, 1, 0, 0], Err(denied.clone())),
    ] {
        let counts = Mutex::new(counts.into());
        let cloud = LateCloud { counts, denied: Some(denied.clone()), ..LateCloud::rules(0, 0) };
        assert_eq!(watch_reader(&cloud, &queue).await, result);
        assert_eq!(cloud.elapsed(), seconds(90));
    }
}

#[tokio::test(start_paused = true)]
async fn late_copies_of_a_probe_are_cleaned_up() {
    // The second copy arrives seconds after the first.
    let cloud = LateCloud::rules(0, 11);
    let probed = bus(&cloud, &scope()).await;
    assert_eq!((probed.sent, probed.took), (2, seconds(12)));
    assert!(cloud.elapsed() <= probed.took + TIDY, "{:?}", cloud.elapsed());
    // A probe that was sent once has no late copy to wait for.
    let cloud = LateCloud::rules(0, 1);
    let probed = bus(&cloud, &scope()).await;
    assert_eq!(cloud.elapsed(), probed.took);
}

#[test]
fn the_router_gives_its_reason_in_its_words() {
    for (decisions, why) in [
        (json!([{"decision": "dropped", "reason": "unregistered", "cluster": "base"}]), "dropped: unregistered"),
        (json!([{"decision": "retried", "reason": null, "cluster": null}]), "retried"),
        (json!([]), "it answered without a decision"),
    ] {
        let decisions: Vec<RouterDecision> = serde_json::from_value(decisions).unwrap();
        assert_eq!(reasons(&decisions), why);
    }
}

/// Looks at these seconds, each of which shows these messages.
fn looks(all: &[(u64, &str)]) -> Vec<(Duration, BTreeSet<String>)> {
    all.iter().map(|(at, ids)| (seconds(*at), ids.chars().map(|id| id.to_string()).collect())).collect()
}

#[test]
fn a_message_that_is_seen_again_was_not_read() {
    type Row = (&'static str, &'static [(u64, &'static str)], Option<ProbeResult>);
    let rows: &[Row] = &[
        ("nothing yet", &[], None),
        ("one look in vain", &[(1, "")], None),
        ("two looks in vain", &[(1, ""), (3, "")], Some(ProbeResult::Read)),
        ("there, then gone", &[(1, "p"), (2, ""), (4, "")], Some(ProbeResult::Read)),
        ("gone, then there after all", &[(1, ""), (3, "p")], None),
        ("there for some seconds", &[(1, "p"), (2, "p"), (4, "p"), (8, "p")], None),
        ("there after 45 s", &[(1, "p"), (2, "p"), (46, "p")], Some(ProbeResult::NotRead)),
        ("not quite 45 s", &[(2, "p"), (46, "p")], None),
        ("another message than the probe", &[(1, "ab"), (2, "cd"), (46, "be")], Some(ProbeResult::NotRead)),
        ("others than before", &[(1, "a"), (8, "b"), (46, "c")], None),
    ];
    for (name, all, verdict) in rows {
        assert_eq!(judge(&looks(all)), *verdict, "{name}");
    }
    for (name, last, read) in [
        ("nothing waits", "", true),
        ("others wait", "xyz", true),
        ("so many others wait that the first ones may, too", "0123456789", false),
    ] {
        let result = conclude(&looks(&[(53, last)]));
        assert_eq!(result == ProbeResult::Read, read, "{name}: {result:?}");
    }
}

#[test]
fn without_looks_the_counts_decide() {
    for (name, counts, verdict) in [
        ("no counts", &[][..], None),
        ("never counted", &[(0, 0), (0, 0)], Some(ProbeResult::Read)),
        ("received", &[(0, 1), (0, 0)], Some(ProbeResult::Read)),
        ("waiting to the end", &[(1, 0), (2, 0)], Some(ProbeResult::NotRead)),
        ("waiting, and some received", &[(1, 0), (1, 1)], None),
        ("counted late", &[(0, 0), (3, 0)], None),
    ] {
        let counts = counts.iter().map(|&(waiting, in_flight)| Depth { waiting, in_flight });
        assert_eq!(judge_counts(&counts.collect::<Vec<_>>()), verdict, "{name}");
    }
}
