//! Sends a probe event, and watches whether it is delivered and received.

mod clock;
mod consumer;
pub mod counts;
#[cfg(test)]
mod fake;

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::cloud::{Fault, Probe};
use crate::model::fact::Fact;
use crate::model::name::{ClusterName, QueueName};
use crate::model::probe::{BUS_LIMIT, ProbeResult, Probed, RESEND};
use crate::model::scope::{LIVE, Scope};
use crate::model::self_test::LiveTest;
use crate::model::signal::{PROBE_DETAIL_TYPE, PROBE_SOURCE};
use clock::{Clock, WallClock};
use consumer::{LONGEST, QueueSample};

/// How long late copies of a probe are waited for after the first has arrived.
const TIDY: Duration = Duration::from_secs(4);
/// The pause between two samples of a queue.
const PAUSE: Duration = Duration::from_secs(1);
/// The prefix of the router's metrics for dropped events.
const DROPPED: &str = "Dropped";

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
    let result = probing.await.unwrap_or_else(unknown);
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

/// Probes a cluster: invokes the router with an event for the cluster's queue, and watches whether it is received.
pub async fn cluster(cloud: &impl Probe, scope: &Scope, cluster: ClusterName, queue: QueueName) -> Probed {
    let probe = name();
    let clock = WallClock::start();
    // Invoked directly, the router answers when the probe is in the queue; by way of the bus that is unknown.
    let event = event(json!({ "cluster": cluster.as_str(), "probe": probe }));
    let function = scope.router_function();
    let result = match cloud.route_probe(&function, LIVE, &event).await {
        Err(fault) => unknown(fault),
        Ok(Err(message)) => ProbeResult::NotDelivered(message),
        Ok(Ok(counts)) if counts["Delivered"] != 1 => ProbeResult::NotDelivered(reasons(&counts)),
        Ok(Ok(_)) => watch(cloud, &queue, &probe).await.unwrap_or_else(unknown),
    };
    Probed {
        cluster: Some(cluster),
        queue,
        took: clock.elapsed(),
        sent: 1,
        result,
    }
}

/// Watches a queue that a probe was just delivered to, until it is known whether it is read.
async fn watch(cloud: &impl Probe, queue: &QueueName, probe: &str) -> Result<ProbeResult, Fault> {
    let clock = WallClock::start();
    let mut samples = Vec::new();
    let mut blind = None;
    loop {
        let depth = cloud.depth(queue).await?.unwrap_or_default();
        let mut sample = QueueSample {
            at: clock.elapsed(),
            depth,
            there: None,
        };
        // A receive is not needed while SQS says that messages wait, except at the end, to know whether this one does.
        if blind.is_none() && depth.in_flight == 0 && (depth.waiting == 0 || sample.at >= LONGEST) {
            match cloud.find_probe(queue, probe).await {
                Ok(there) => sample.there = there,
                Err(fault) => blind = Some(fault),
            }
        }
        samples.push(sample);
        match consumer::judge(&samples) {
            Some(result @ ProbeResult::Unknown(_)) => return Ok(blind.map_or(result, unknown)),
            Some(result) => return Ok(result),
            None => clock.sleep(PAUSE).await,
        }
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

/// Why the router delivered nothing, by the names of its own metrics.
fn reasons(counts: &Value) -> String {
    let all = counts.as_object().into_iter().flatten();
    let why: Vec<&str> = all
        .filter(|(name, count)| **count != 0 && name.len() > DROPPED.len() && name.starts_with(DROPPED))
        .map(|(name, _)| name.as_str())
        .collect();
    if why.is_empty() {
        return format!("it answered {counts}");
    }
    format!("it counted {}", why.join(", "))
}

#[cfg(test)]
mod tests {
    use super::fake::LateCloud;
    use super::*;
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
    fn the_router_gives_its_reason_by_its_metrics() {
        for (counts, why) in [
            (
                json!({"Delivered": 0, "Dropped": 1, "DroppedUnregistered": 1, "SendCalls": 1}),
                "it counted DroppedUnregistered",
            ),
            (
                json!({"Delivered": 0, "Dropped": 0}),
                "it answered {\"Delivered\":0,\"Dropped\":0}",
            ),
            (json!(null), "it answered null"),
        ] {
            assert_eq!(reasons(&counts), why);
        }
    }
}
