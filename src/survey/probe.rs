//! Sends a probe event, and watches whether it is delivered and received.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::cloud::{Fault, Probe};
use crate::model::name::{ClusterName, QueueName};
use crate::model::queue_consumer::{self, ConsumerVerdict, LONGEST, QueueSample};
use crate::model::scope::{LIVE, Scope};
use crate::model::signal::{PROBE_DETAIL_TYPE, PROBE_SOURCE};

/// How long a probe of the bus may take: a function's cold start, the polling of its mapping, and retries.
pub const BUS_LIMIT: Duration = Duration::from_secs(45);
/// The pause between two samples of a queue.
const PAUSE: Duration = Duration::from_secs(1);
/// The prefix of the router's metrics for dropped events.
const DROPPED: &str = "Dropped";

/// A probe and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The cluster that was probed; `None` for the bus itself.
    pub cluster: Option<ClusterName>,
    /// The queue that the probe was sent to.
    pub queue: QueueName,
    /// How long it took.
    pub took: Duration,
    /// Its result.
    pub result: ProbeResult,
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// It arrived in the probe queue.
    Delivered,
    /// It did not arrive in time.
    Lost,
    /// The router did not deliver it; its reason.
    NotDelivered(String),
    /// A consumer received it.
    Read,
    /// No consumer received it.
    NotRead,
    /// The result is unknown; why.
    Unknown(String),
}

/// Probes the bus: puts an event on the event bus, and waits for it in the probe queue.
pub async fn bus(cloud: &impl Probe, scope: &Scope) -> Probed {
    let queue = scope.probe_queue();
    let began = Instant::now();
    let result = put_and_take(cloud, &queue, began).await;
    Probed {
        cluster: None,
        took: began.elapsed(),
        result: result.unwrap_or_else(|fault| ProbeResult::Unknown(fault.to_string())),
        queue,
    }
}

async fn put_and_take(cloud: &impl Probe, queue: &QueueName, began: Instant) -> Result<ProbeResult, Fault> {
    let probe = name();
    cloud.put_event(&event(json!({ "probe": probe }))).await?;
    while began.elapsed() < BUS_LIMIT {
        if cloud.take_probe(queue, &probe).await? {
            return Ok(ProbeResult::Delivered);
        }
    }
    Ok(ProbeResult::Lost)
}

/// Probes a cluster: invokes the router with an event for the cluster's queue, and watches whether it is received.
pub async fn cluster(cloud: &impl Probe, scope: &Scope, cluster: ClusterName, queue: QueueName) -> Probed {
    let probe = name();
    let began = Instant::now();
    // Invoked directly, the router answers when the probe is in the queue; by way of the bus that is unknown.
    let event = event(json!({ "cluster": cluster.as_str(), "probe": probe }));
    let function = scope.router_function();
    let result = match cloud.route_probe(&function, LIVE, &event).await {
        Err(fault) => ProbeResult::Unknown(fault.to_string()),
        Ok(Err(message)) => ProbeResult::NotDelivered(message),
        Ok(Ok(counts)) if counts["Delivered"] != 1 => ProbeResult::NotDelivered(reasons(&counts)),
        Ok(Ok(_)) => watch(cloud, &queue, &probe).await,
    };
    Probed {
        cluster: Some(cluster),
        queue,
        took: began.elapsed(),
        result,
    }
}

/// Watches a queue that a probe was just delivered to, until it is known whether it is read.
async fn watch(cloud: &impl Probe, queue: &QueueName, probe: &str) -> ProbeResult {
    let began = Instant::now();
    let mut samples = Vec::new();
    let mut blind = None;
    loop {
        let depth = match cloud.depth(queue).await {
            Ok(depth) => depth.unwrap_or_default(),
            Err(fault) => return ProbeResult::Unknown(fault.to_string()),
        };
        let mut sample = QueueSample {
            at: began.elapsed(),
            waiting: depth.waiting,
            in_flight: depth.in_flight,
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
        match queue_consumer::judge(&samples) {
            Some(ConsumerVerdict::Read) => return ProbeResult::Read,
            Some(ConsumerVerdict::NotRead) => return ProbeResult::NotRead,
            Some(ConsumerVerdict::Unknown) => {
                let why = "the queue's message counts are inconclusive";
                return ProbeResult::Unknown(blind.map_or_else(|| why.to_owned(), |fault| fault.to_string()));
            }
            None => sleep(PAUSE).await,
        }
    }
}

/// A name that no other probe has.
fn name() -> String {
    let time = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
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
    use super::*;

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
