//! Sends a probe event, and watches whether it is delivered and received.

mod clock;
mod consumer;
pub mod counts;
#[cfg(test)]
mod fake;

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::cloud::{Fault, Probe};
use crate::model::answer::Fact;
use crate::model::name::{ClusterName, QueueName};
use crate::model::router_batch::RouterDecision;
use crate::model::router_function::LiveTest;
use crate::model::scope::{LIVE, Scope};
use crate::model::signal::{PROBE_DETAIL_TYPE, PROBE_SOURCE};
use crate::model::status::{BUS_LIMIT, Look, PROBE_LIMIT, ProbeResult, Probed, RESEND};
use clock::{Clock, WallClock};
use consumer::{COUNTED, FIRST_LOOKS, STAYS};

/// How long late copies of a probe are waited for after the first has arrived.
const TIDY: Duration = Duration::from_secs(4);
/// The decision of the router about a probe that is in its queue.
const DELIVERED: &str = "delivered";

/// Asks the live router for its self-test.
pub async fn live(cloud: &impl Probe, scope: &Scope) -> Fact<LiveTest> {
    Fact::of_option(cloud.self_test(&scope.router_function(), LIVE).await)
}

/// Probes the bus: puts an event on the event bus, again and again, until one is in the probe queue.
pub async fn bus(cloud: &impl Probe, scope: &Scope) -> Probed {
    put_and_take(cloud, scope.probe_queue(), &WallClock::start()).await
}

async fn put_and_take(cloud: &impl Probe, queue: QueueName, clock: &impl Clock) -> Probed {
    let probe = name();
    let mut sent = 0;
    let mut arrived = 0;
    let probing = async {
        while clock.elapsed() < BUS_LIMIT {
            if clock.elapsed() >= RESEND * sent {
                cloud.put_event(&event(json!({ "probe": probe }))).await?;
                sent += 1;
            }
            arrived += cloud.take_probe(&queue, &probe).await?;
            if arrived > 0 {
                return Ok(ProbeResult::Delivered);
            }
        }
        Ok(ProbeResult::Lost)
    };
    let result = in_time(probing).await;
    let took = clock.elapsed();
    // Copies that come later than this expire with the queue's retention.
    while result == ProbeResult::Delivered && arrived < sent && clock.elapsed() < took + TIDY {
        match cloud.take_probe(&queue, &probe).await {
            Ok(copies) => arrived += copies,
            Err(_) => break,
        }
    }
    Probed {
        cluster: None,
        queue,
        took,
        sent,
        result,
    }
}

/// Probes a cluster: invokes the router with an event for the cluster's queue, and watches whether it is received. `turns` limits
/// how many invocations run at once, because they take concurrency from the events of the hub.
pub async fn cluster(
    cloud: &impl Probe,
    scope: &Scope,
    turns: &Semaphore,
    cluster: ClusterName,
    queue: QueueName,
) -> Probed {
    let clock = WallClock::start();
    // Invoked directly, the router answers when the probe is in the queue; by way of the bus that is unknown.
    let event = event(json!({ "cluster": cluster.as_str(), "probe": name() }));
    let function = scope.router_function();
    let probing = async {
        let turn = turns.acquire().await;
        let routed = cloud.route_probe(&function, LIVE, &event).await?;
        drop(turn);
        match routed {
            Err(message) => Ok(ProbeResult::NotDelivered(message)),
            Ok(decisions) if !decisions.iter().any(|one| one.decision == DELIVERED) => {
                Ok(ProbeResult::NotDelivered(reasons(&decisions)))
            }
            Ok(_) => watch(cloud, &queue, &WallClock::start()).await,
        }
    };
    let result = in_time(probing).await;
    Probed {
        cluster: Some(cluster),
        queue,
        took: clock.elapsed(),
        sent: 1,
        result,
    }
}

/// Watches a queue that a probe was just delivered to, until it is known whether it is read.
async fn watch(cloud: &impl Probe, queue: &QueueName, clock: &impl Clock) -> Result<ProbeResult, Fault> {
    let mut looks: Vec<(Duration, Look)> = Vec::new();
    let mut due: VecDeque<Duration> = FIRST_LOOKS.into();
    while let Some(time) = due.pop_front() {
        clock.sleep(time.saturating_sub(clock.elapsed())).await;
        match cloud.look(queue).await {
            Ok(look) => looks.push((clock.elapsed(), look)),
            Err(denied) if looks.is_empty() => return count(cloud, queue, clock, denied).await,
            Err(fault) => return Err(fault),
        }
        // The last look comes long enough after all of the first ones.
        if looks.len() == 1 || looks.len() == FIRST_LOOKS.len() {
            due.push_back(clock.elapsed() + STAYS);
        }
        if let Some(result) = consumer::judge(&looks) {
            return Ok(result);
        }
    }
    Ok(consumer::conclude(&looks))
}

/// The same where nobody may look at the messages, or decrypt them.
async fn count(cloud: &impl Probe, queue: &QueueName, clock: &impl Clock, denied: Fault) -> Result<ProbeResult, Fault> {
    let mut counts = Vec::new();
    for due in COUNTED {
        clock.sleep(due.saturating_sub(clock.elapsed())).await;
        counts.extend(cloud.depth(queue).await?);
    }
    consumer::judge_counts(&counts).ok_or(denied)
}

/// The result of a probe, within the time that all may take.
async fn in_time(probing: impl Future<Output = Result<ProbeResult, Fault>>) -> ProbeResult {
    match timeout(PROBE_LIMIT, probing).await {
        Ok(result) => result.unwrap_or_else(unknown),
        Err(_) => ProbeResult::Unknown(format!("no result within {}s", PROBE_LIMIT.as_secs())),
    }
}

fn unknown(fault: Fault) -> ProbeResult {
    ProbeResult::Unknown(fault.to_string())
}

/// A name that no other probe has.
fn name() -> String {
    let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    format!("{:x}-{:x}", time.as_nanos(), std::process::id())
}

fn event(detail: Value) -> Value {
    json!({ "version": "0", "source": PROBE_SOURCE, "detail-type": PROBE_DETAIL_TYPE, "resources": [], "detail": detail })
}

/// Why the router delivered nothing, in its own words.
fn reasons(decisions: &[RouterDecision]) -> String {
    let reason = |one: &RouterDecision| match &one.reason {
        Some(reason) => format!("{}: {reason}", one.decision),
        None => one.decision.clone(),
    };
    match decisions {
        [] => "it answered without a decision".to_owned(),
        _ => decisions.iter().map(reason).collect::<Vec<_>>().join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::fake::LateCloud;
    use super::*;
    use crate::model::answer::FaultKind;
    use crate::model::scope::tests::scope;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// E1, P9: a rule that takes effect late misses the first events, so the probe is sent again until one arrives.
    #[tokio::test]
    async fn a_probe_is_sent_again_until_a_late_rule_delivers_one() {
        for (name, cloud, verdict, sent, took) in [
            ("at once", LateCloud::rules(0, 1), ProbeResult::Delivered, 1, 2),
            (
                "a rule that is late",
                LateCloud::rules(25, 1),
                ProbeResult::Delivered,
                4,
                32,
            ),
            ("a minute late", LateCloud::rules(60, 1), ProbeResult::Delivered, 7, 62),
            (
                "a router that is slow",
                LateCloud::rules(0, 15),
                ProbeResult::Delivered,
                2,
                16,
            ),
            ("no rule at all", LateCloud::rules(1000, 1), ProbeResult::Lost, 12, 120),
        ] {
            let probed = put_and_take(&cloud, scope().probe_queue(), &cloud).await;
            assert_eq!((probed.result, probed.sent), (verdict, sent), "{name}");
            assert_eq!(probed.took, seconds(took), "{name}");
        }
    }

    /// S28: a look pushes messages back in the queue, so there are few.
    #[tokio::test]
    async fn s28_a_queue_is_looked_at_seldom() {
        let queue = scope().probe_queue();
        for (name, probes, result, looked) in [
            ("a queue that is read", 0, ProbeResult::Read, &[1, 2][..]),
            ("a queue that is not read", 1, ProbeResult::NotRead, &[1, 2, 4, 8, 46]),
        ] {
            let cloud = LateCloud::counts(&[], probes);
            assert_eq!(watch(&cloud, &queue, &cloud).await.unwrap(), result, "{name}");
            assert_eq!(*cloud.looked.lock().unwrap(), looked, "{name}");
        }
    }

    #[tokio::test]
    async fn where_nobody_may_look_the_counts_decide_after_a_minute() {
        let denied = Fault {
            kind: FaultKind::Denied {
                principal: None,
                resource: None,
            },
            action: "sqs:ReceiveMessage".to_owned(),
            code: None,
            message: "no".to_owned(),
        };
        let queue = scope().probe_queue();
        for (counts, result) in [
            ([1, 1, 1, 1], Ok(ProbeResult::NotRead)),
            ([0, 0, 0, 0], Ok(ProbeResult::Read)),
            ([0, 1, 0, 0], Err(denied.clone())),
        ] {
            let mut cloud = LateCloud::counts(&counts, 0);
            cloud.denied = Some(denied.clone());
            assert_eq!(watch(&cloud, &queue, &cloud).await, result, "{counts:?}");
            assert_eq!(cloud.elapsed(), seconds(90));
        }
    }

    #[tokio::test]
    async fn late_copies_of_a_probe_are_cleaned_up() {
        // The second copy arrives seconds after the first.
        let cloud = LateCloud::rules(0, 11);
        let probed = put_and_take(&cloud, scope().probe_queue(), &cloud).await;
        assert_eq!((probed.sent, probed.took), (2, seconds(12)));
        assert!(cloud.elapsed() <= probed.took + TIDY, "{:?}", cloud.elapsed());
        // A probe that was sent once has no late copy to wait for.
        let cloud = LateCloud::rules(0, 1);
        let probed = put_and_take(&cloud, scope().probe_queue(), &cloud).await;
        assert_eq!(cloud.elapsed(), probed.took);
    }

    #[test]
    fn the_router_gives_its_reason_in_its_words() {
        for (decisions, why) in [
            (
                json!([{"decision": "dropped", "reason": "unregistered", "cluster": "base"}]),
                "dropped: unregistered",
            ),
            (
                json!([{"decision": "retried", "reason": null, "cluster": null}]),
                "retried",
            ),
            (json!([]), "it answered without a decision"),
        ] {
            let decisions: Vec<RouterDecision> = serde_json::from_value(decisions).unwrap();
            assert_eq!(reasons(&decisions), why);
        }
    }
}
