//! Sends a probe event, and watches whether it is delivered and received.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};

use crate::cloud::{Fault, Probe};
use crate::model::{
    ClusterName, Depth, ProbeResult, Probed, QueueName, RouterDecision, Scope,
    scope::LIVE,
    signal::{PROBE_DETAIL_TYPE, PROBE_SOURCE},
    status::{BUS_LIMIT, PROBE_LIMIT, RECEIVED_AT_ONCE, RESEND},
};

/// How long to wait for late copies of a probe after the first has arrived.
const TIDY: Duration = Duration::from_secs(4);
/// The times of the first looks, in seconds. There are few, because each look moves the messages that it shows back in the queue (S28).
const FIRST_LOOKS: [u64; 4] = [1, 2, 4, 8];
/// A message that is seen again after this time was not read. Karpenter receives continuously, and messages that it
/// received but could not delete become visible again after 20 s.
const STAYS: Duration = Duration::from_secs(45);
/// The times when the counts of a queue are read if looks are not allowed, in seconds: counts are accurate after about a minute (SQS API
/// reference, `GetQueueAttributes`).
const COUNTED: [u64; 4] = [60, 70, 80, 90];
/// Probes the bus: puts an event on the event bus, repeatedly, until one is in the probe queue.
pub async fn bus(cloud: &impl Probe, scope: &Scope) -> Probed {
    let (clock, queue, probe) = (Instant::now(), scope.probe_queue(), name());
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
    // Copies that arrive later expire with the queue's retention.
    while result == ProbeResult::Delivered && arrived < sent && clock.elapsed() < took + TIDY {
        match cloud.take_probe(&queue, &probe).await {
            Ok(copies) => arrived += copies,
            Err(_) => break,
        }
    }
    Probed { cluster: None, queue, took, sent, result }
}

/// Probes a cluster: invokes the router with an event for the cluster's queue, and watches whether it is received.
/// `turns` limits concurrent invocations, because they take concurrency away from the hub's events.
pub async fn cluster(
    cloud: &impl Probe,
    scope: &Scope,
    turns: &Semaphore,
    cluster: ClusterName,
    queue: QueueName,
) -> Probed {
    let clock = Instant::now();
    // When invoked directly, the router answers once the probe is in the queue; through the bus, that time is unknown.
    let event = event(json!({ "cluster": cluster.as_str(), "probe": name() }));
    let function = scope.router_function();
    let probing = async {
        let turn = turns.acquire().await;
        let routed = cloud.route_probe(&function, LIVE, &event).await?;
        drop(turn);
        match routed {
            Err(message) => Ok(ProbeResult::NotDelivered(message)),
            Ok(decisions) if decisions.iter().any(RouterDecision::is_delivered) => watch_reader(cloud, &queue).await,
            Ok(decisions) => Ok(ProbeResult::NotDelivered(reasons(&decisions))),
        }
    };
    let result = in_time(probing).await;
    Probed { cluster: Some(cluster), queue, took: clock.elapsed(), sent: 1, result }
}

/// Watches a queue that has just received a probe, until it is known whether it is read. A consumer deletes each
/// message, so a message that still exists after a while was not read. A look is a receive that hides the messages it
/// shows for a second.
async fn watch_reader(cloud: &impl Probe, queue: &QueueName) -> Result<ProbeResult, Fault> {
    let clock = Instant::now();
    let mut looks: Vec<(Duration, BTreeSet<String>)> = Vec::new();
    let mut due: VecDeque<Duration> = FIRST_LOOKS.map(Duration::from_secs).into();
    while let Some(time) = due.pop_front() {
        sleep_until(clock + time).await;
        match cloud.look(queue).await {
            Ok(look) => looks.push((clock.elapsed(), look)),
            // If kibus may not receive or decrypt the messages, the counts decide.
            Err(denied) if looks.is_empty() => {
                let mut counts = Vec::new();
                for due in COUNTED {
                    sleep_until(clock + Duration::from_secs(due)).await;
                    counts.extend(cloud.depth(queue).await?);
                }
                return judge_counts(&counts).ok_or(denied);
            }
            Err(fault) => return Err(fault),
        }
        // The last look is long enough after the first ones.
        if looks.len() == 1 || looks.len() == FIRST_LOOKS.len() {
            due.push_back(clock.elapsed() + STAYS);
        }
        if let Some(result) = judge(&looks) {
            return Ok(result);
        }
    }
    Ok(conclude(&looks))
}

/// The result of these looks, in chronological order; `None` while another look can still decide.
fn judge(looks: &[(Duration, BTreeSet<String>)]) -> Option<ProbeResult> {
    let (at, last) = looks.last()?;
    // One look may be too early: a new message is not yet on all SQS servers.
    if let [.., (_, before), (_, last)] = looks
        && before.is_empty()
        && last.is_empty()
    {
        return Some(ProbeResult::Read);
    }
    let old = looks.iter().filter(|(before, _)| *at >= *before + STAYS);
    old.flat_map(|(_, look)| look).any(|id| last.contains(id)).then_some(ProbeResult::NotRead)
}

/// The result after the last look, in which no message reappeared: if it shows all waiting messages, those of the first looks are gone.
fn conclude(looks: &[(Duration, BTreeSet<String>)]) -> ProbeResult {
    match looks.last() {
        Some((_, last)) if last.len() < RECEIVED_AT_ONCE => ProbeResult::Read,
        _ => ProbeResult::Unknown("more messages are waiting than one receive returns".to_owned()),
    }
}

/// The result from the counts at [`COUNTED`]; `None` if they are inconclusive.
fn judge_counts(counts: &[Depth]) -> Option<ProbeResult> {
    match counts {
        [] => None,
        _ if counts.iter().all(|depth| depth.waiting == 0) => Some(ProbeResult::Read),
        _ if counts.iter().all(|depth| depth.waiting > 0 && depth.in_flight == 0) => Some(ProbeResult::NotRead),
        _ => None,
    }
}

/// The result of a probe, within the time that all may take.
async fn in_time(probing: impl Future<Output = Result<ProbeResult, Fault>>) -> ProbeResult {
    match timeout(PROBE_LIMIT, probing).await {
        Ok(result) => result.unwrap_or_else(|fault| ProbeResult::Unknown(fault.to_string())),
        Err(_) => ProbeResult::Unknown(format!("no result within {}s", PROBE_LIMIT.as_secs())),
    }
}

/// A unique name for a probe.
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
mod tests;
