//! Records which events were sent, received and dropped, and checks that each was handled as expected.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::account::DemoAccount;
use super::event::Sent;
use crate::cloud::{Fault, Probe};
use crate::error::Error;
use crate::model::hub::default_queue_prefix;
use crate::model::name::ClusterName;
use crate::model::signal::{Signal, sample_event};
use crate::ui::json::DemoResult;
use crate::ui::table::Table;

/// The name of the probe that is put on the event bus.
const PROBE: &str = "demo";
/// How long the router may take to receive all events.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The events that were sent, and what became of them.
pub(crate) struct Ledger {
    sent: Vec<Sent>,
    /// The events that each cluster's queue received.
    received: BTreeMap<ClusterName, Vec<Value>>,
    /// The sum of each metric of the router.
    counted: BTreeMap<String, u64>,
    /// Whether the probe came from the event bus to the probe queue.
    passed_the_bus: bool,
}

impl Ledger {
    /// Sends the events, waits until the router has received all of them, and reads the queues.
    pub(crate) async fn record(account: &DemoAccount, sent: Vec<Sent>) -> Result<Self, Error> {
        let fault = |fault: Fault| Error::failed("the events could not be sent").note(fault.to_string());
        let DemoAccount { cloud, scope, .. } = account;
        let hub = scope.hub_queue();
        for sent in &sent {
            cloud.send_message(&hub, &sent.event.to_string()).await.map_err(fault)?;
        }
        // AWS lets nobody put its own events on the event bus, so only a probe shows that a rule brings events to the hub.
        let mut probe = sample_event(scope, Signal::Probe, &[]);
        probe["detail"] = json!({ "probe": PROBE });
        cloud.put_event(&probe).await.map_err(fault)?;
        let wanted = sent.len() as u64 + 1;
        let deadline = Instant::now() + TIMEOUT;
        let counted = loop {
            let lines = cloud.log_lines(&scope.router_log_group()).await.map_err(fault)?;
            let counted = count(&lines);
            if counted.get("Received") >= Some(&wanted) {
                break counted;
            }
            if Instant::now() > deadline {
                let limit = TIMEOUT.as_secs();
                return Err(Error::failed(format!(
                    "the delivery of every event did not happen within {limit}s"
                )));
            }
            sleep(Duration::from_millis(200)).await;
        };
        let passed_the_bus = cloud.take_probe(&scope.probe_queue(), PROBE).await.map_err(fault)? > 0;
        let clusters: BTreeSet<ClusterName> = sent.iter().flat_map(|sent| sent.to.keys().cloned()).collect();
        // An empty queue is waited for.
        let received = clusters.into_iter().map(async |cluster| {
            let queue = scope.cluster_queue(&default_queue_prefix(), &cluster);
            let bodies = cloud.receive_messages(&queue).await?.into_iter();
            let events = bodies.map(|body| serde_json::from_str(&body).unwrap_or_default());
            Ok((cluster, events.collect()))
        });
        Ok(Self {
            received: try_join_all(received).await.map_err(fault)?.into_iter().collect(),
            counted,
            passed_the_bus,
            sent,
        })
    }

    /// One row per event: who received it, or why it was dropped.
    pub(crate) fn table(&self, width: Option<usize>) -> String {
        let mut header = vec!["sent".to_owned()];
        header.extend(self.received.keys().map(|cluster| format!("received by {cluster}")));
        header.push("dropped".to_owned());
        let mut table = Table::default();
        table.row(header);
        for sent in &self.sent {
            let mut row = vec![sent.what.clone()];
            row.extend(
                self.received
                    .values()
                    .map(|events| match copies(events, sent).as_slice() {
                        [] => "-".to_owned(),
                        copies => copies.join(" and "),
                    }),
            );
            row.push(sent.dropped.map_or_else(String::new, |(_, reason)| reason.to_owned()));
            table.row(row);
        }
        table.render(2, width)
    }

    /// The totals of all events. Fails if an event was lost or misrouted, or if the router counted other drops than
    /// expected.
    pub(crate) fn check(&self) -> Result<DemoResult, Error> {
        let deviations = self.deviations();
        if !deviations.is_empty() {
            return Err(deviations.into_iter().fold(
                Error::failed("the bus did not handle every event as expected"),
                Error::note,
            ));
        }
        let all = self.sent.len();
        let dropped = self.sent.iter().filter(|sent| sent.to.is_empty()).count();
        let split = self.sent.iter().filter(|sent| sent.to.len() > 1).count();
        Ok(DemoResult {
            sent: all,
            delivered: all - dropped,
            split,
            dropped,
        })
    }

    fn deviations(&self) -> Vec<String> {
        let mut deviations = Vec::new();
        if !self.passed_the_bus {
            deviations.push("lost: the probe on the event bus did not reach the probe queue".to_owned());
        }
        for (cluster, events) in &self.received {
            for sent in &self.sent {
                match (sent.to.get(cluster), copies(events, sent).as_slice()) {
                    (Some(_), []) => deviations.push(format!("lost: {} did not reach {cluster}", sent.what)),
                    (None, [_, ..]) => deviations.push(format!("misrouted: {} reached {cluster}", sent.what)),
                    (Some(own), [copy, ..]) if *copy != own.join(", ") => {
                        deviations.push(format!("{} reached {cluster} naming {copy}", sent.what));
                    }
                    _ => {}
                }
            }
            let is_sent = |event: &&Value| self.sent.iter().any(|sent| event["id"] == sent.id());
            let unknown = events.iter().filter(|event| !is_sent(event));
            deviations.extend(unknown.map(|event| format!("{cluster} received an event that was not sent: {event}")));
        }
        let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
        for (metric, _) in self.sent.iter().filter_map(|sent| sent.dropped) {
            *expected.entry(metric).or_default() += 1;
        }
        let reasons = self.counted.keys().map(String::as_str);
        let reasons = reasons.filter(|name| name.starts_with("Dropped") && *name != "Dropped");
        let all: BTreeSet<&str> = reasons.chain(expected.keys().copied()).collect();
        for metric in all {
            let counted = self.counted.get(metric).copied().unwrap_or(0);
            let expected = expected.get(metric).copied().unwrap_or(0);
            if counted != expected {
                deviations.push(format!(
                    "the router counted {counted} for {metric} instead of {expected}"
                ));
            }
        }
        deviations
    }
}

/// The copies of an event among those received, as their instance ids.
fn copies(received: &[Value], sent: &Sent) -> Vec<String> {
    let copies = received.iter().filter(|event| event["id"] == sent.id());
    copies.map(instances).collect()
}

/// The instance ids of an event.
fn instances(event: &Value) -> String {
    let ids: Vec<&str> = match event["detail"]["affectedEntities"].as_array() {
        Some(entities) => entities
            .iter()
            .filter_map(|entity| entity["entityValue"].as_str())
            .collect(),
        None => event["detail"]["instance-id"].as_str().into_iter().collect(),
    };
    ids.join(", ")
}

/// The sum of each metric in a log. Lines per cluster are skipped, since the line of the invocation includes them.
fn count(lines: &[String]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in lines {
        let Ok(Value::Object(members)) = serde_json::from_str(line) else {
            continue;
        };
        if !members.contains_key("_aws") || members.contains_key("cluster") {
            continue;
        }
        for (name, value) in members {
            if let Some(number) = value.as_u64() {
                *sums.entry(name).or_default() += number;
            }
        }
    }
    sums
}
