//! What the demo of the sandbox needs beside kibus itself: clusters and instances in an account on the local AWS emulator,
//! events, and who must receive each and who did.

mod account;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

pub(crate) use account::{DemoAccount, DemoCluster};

use crate::cloud::{Fault, Probe};
use crate::error::Error;
use crate::model::hub::default_queue_prefix;
use crate::model::signal::{Signal, SubjectMember, sample_event};
use crate::ui::Table;
use crate::ui::json::DemoResult;

/// The name of the probe that is put on the event bus, and who receives it.
const PROBE: &str = "demo";
const PROBE_QUEUE: &str = "the probe queue";
/// Who counts what is dropped.
const ROUTER: &str = "the router";
/// How long the router may take to receive all events.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What became of the events: by who received or counted it and by the event or the metric, the instances that its copies name
/// or the count.
type Results = BTreeMap<(String, String), BTreeSet<String>>;

/// An event, and what the router must do with it.
struct Sent<'a> {
    /// Its name in the table, and its id.
    what: String,
    event: Value,
    /// The clusters that must receive it, each with its own instance.
    to: Vec<&'a DemoCluster>,
    /// If some of it is dropped: the metric of the reason, and the reason in words.
    dropped: Option<(&'static str, &'static str)>,
}

/// The events of the demo, who must receive each, and who did.
pub(crate) struct Ledger<'a> {
    clusters: [&'a DemoCluster; 2],
    sent: Vec<Sent<'a>>,
    results: Results,
}

/// One event of every kind that names instances for each cluster, one about instances of both and of none, and some that no
/// cluster receives.
fn events<'a>(account: &DemoAccount, clusters: [&'a DemoCluster; 2], stranger: &str) -> Vec<Sent<'a>> {
    let sent = |what: &str, signal, about: &[&str], to: &[&'a DemoCluster], dropped| {
        let mut event = sample_event(&account.scope, signal, about);
        event["id"] = json!(what);
        Sent {
            what: what.to_owned(),
            event,
            to: to.to_vec(),
            dropped,
        }
    };
    let no_karpenter = Some(("DroppedNoKarpenterMarker", "no Karpenter marker"));
    let not_for_karpenter = Some(("DroppedNotForKarpenter", "not for Karpenter"));
    let of_instances = |signal: &Signal| signal.subject() != SubjectMember::Cluster;
    let mut all = Vec::new();
    for cluster in clusters {
        for signal in Signal::ALL.into_iter().filter(of_instances) {
            let what = format!("{} ({})", signal.slug().replace('-', " "), cluster.name);
            all.push(sent(&what, signal, &[&cluster.instance], &[cluster], None));
        }
    }
    let [one, other] = clusters;
    let of_both = [one.instance.as_str(), &other.instance, stranger];
    let of_stranger = no_karpenter.map(|(metric, _)| (metric, "one entity: no Karpenter marker"));
    all.push(sent(
        "scheduled change of both",
        Signal::ScheduledChange,
        &of_both,
        &clusters,
        of_stranger,
    ));
    // A state that Karpenter does not act on.
    let what = format!("state change to running ({})", one.name);
    let mut running = sent(&what, Signal::StateChange, &[&one.instance], &[], not_for_karpenter);
    running.event["detail"]["state"] = json!("running");
    all.push(running);
    all.push(sent(
        "spot interruption (no cluster)",
        Signal::SpotInterruption,
        &[stranger],
        &[],
        no_karpenter,
    ));
    // Anyone may put a probe that names a cluster on the event bus, and no cluster receives it.
    let what = format!("probe ({})", one.name);
    all.push(sent(&what, Signal::Probe, &[one.name.as_str()], &[], not_for_karpenter));
    all
}

impl<'a> Ledger<'a> {
    /// Sends the events, waits until the router has received all of them, and reads the queues of the clusters. `stranger` is
    /// an instance that no Karpenter launched.
    pub(crate) async fn record(
        account: &DemoAccount,
        clusters: [&'a DemoCluster; 2],
        stranger: &str,
    ) -> Result<Self, Error> {
        let fault = |fault: Fault| Error::failed("the events could not be sent").note(fault.to_string());
        let DemoAccount { cloud, scope, .. } = account;
        let sent = events(account, clusters, stranger);
        for sent in &sent {
            let text = sent.event.to_string();
            cloud.send_message(&scope.hub_queue(), &text).await.map_err(fault)?;
        }
        // AWS lets nobody put its own events on the event bus, so only a probe shows that a rule brings events to the hub.
        let mut probe = sample_event(scope, Signal::Probe, &[]);
        probe["detail"] = json!({ "probe": PROBE });
        cloud.put_event(&probe).await.map_err(fault)?;
        let counted = received(account, sent.len() as u64 + 1).await?;
        let mut results = Results::new();
        let mut note = |who: &str, what: &str, of: String| {
            results.entry((who.to_owned(), what.to_owned())).or_default().insert(of);
        };
        for (metric, count) in counted {
            if metric.starts_with("Dropped") && metric != "Dropped" {
                note(ROUTER, &metric, count.to_string());
            }
        }
        if cloud.take_probe(&scope.probe_queue(), PROBE).await.map_err(fault)? > 0 {
            note(PROBE_QUEUE, PROBE, String::new());
        }
        // An empty queue is waited for.
        let queue = |cluster: &DemoCluster| scope.cluster_queue(&default_queue_prefix(), &cluster.name);
        let all = clusters.map(async |cluster| cloud.receive_messages(&queue(cluster)).await);
        let all = try_join_all(all).await.map_err(fault)?;
        for (cluster, bodies) in clusters.iter().zip(all) {
            for body in bodies {
                let event: Value = serde_json::from_str(&body).unwrap_or_default();
                let id = event["id"].as_str().unwrap_or(&body);
                note(cluster.name.as_str(), id, instances(&event));
            }
        }
        Ok(Self {
            clusters,
            sent,
            results,
        })
    }

    /// One row per event: who received it, or why it was dropped.
    pub(crate) fn table(&self, width: Option<usize>) -> String {
        let mut table = Table::default();
        let received = self.clusters.map(|cluster| format!("received by {}", cluster.name));
        let [first, second] = received;
        table.row(["sent".to_owned(), first, second, "dropped".to_owned()]);
        for Sent { what, dropped, .. } in &self.sent {
            let [first, second] = self.clusters.map(|cluster| {
                let copies = self.results.get(&(cluster.name.to_string(), what.clone()));
                let copies = copies.map(|copies| copies.iter().map(String::as_str).collect::<Vec<_>>());
                copies.map_or("-".to_owned(), |copies| copies.join(" and "))
            });
            let dropped = dropped.map_or(String::new(), |(_, reason)| reason.to_owned());
            table.row([what.clone(), first, second, dropped]);
        }
        table.render(2, width)
    }

    /// The totals of all events. Fails if an event was lost or misrouted, or if the router counted other drops than
    /// expected.
    pub(crate) fn check(&self) -> Result<DemoResult, Error> {
        let expected = self.expected();
        let all: BTreeSet<_> = expected.keys().chain(self.results.keys()).collect();
        let differ = all.into_iter().filter(|key| expected.get(key) != self.results.get(key));
        let notes: Vec<String> = differ
            .map(|key @ (who, what)| {
                let (found, expected) = (self.results.get(key), expected.get(key));
                format!("{what}: {who} has {found:?} instead of {expected:?}")
            })
            .collect();
        if !notes.is_empty() {
            let error = Error::failed("the bus did not handle every event as expected");
            return Err(notes.into_iter().fold(error, Error::note));
        }
        let all = self.sent.len();
        let dropped = self.sent.iter().filter(|sent| sent.to.is_empty()).count();
        Ok(DemoResult {
            sent: all,
            delivered: all - dropped,
            split: self.sent.iter().filter(|sent| sent.to.len() > 1).count(),
            dropped,
        })
    }

    fn expected(&self) -> Results {
        let mut expected = Results::from([(
            (PROBE_QUEUE.to_owned(), PROBE.to_owned()),
            BTreeSet::from([String::new()]),
        )]);
        let mut dropped: BTreeMap<&str, usize> = BTreeMap::new();
        for sent in &self.sent {
            for cluster in &sent.to {
                let of = BTreeSet::from([cluster.instance.clone()]);
                expected.insert((cluster.name.to_string(), sent.what.clone()), of);
            }
            if let Some((metric, _)) = sent.dropped {
                *dropped.entry(metric).or_default() += 1;
            }
        }
        expected.extend(dropped.into_iter().map(|(metric, count)| {
            (
                (ROUTER.to_owned(), metric.to_owned()),
                BTreeSet::from([count.to_string()]),
            )
        }));
        expected
    }
}

/// Waits until the router has received this many events. Gives the sum of each of its metrics.
async fn received(DemoAccount { cloud, scope, .. }: &DemoAccount, wanted: u64) -> Result<BTreeMap<String, u64>, Error> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let lines = cloud.log_lines(&scope.router_log_group()).await;
        let lines =
            lines.map_err(|fault| Error::failed("the log of the router could not be read").note(fault.to_string()))?;
        let counted = count(&lines);
        if counted.get("Received") >= Some(&wanted) {
            return Ok(counted);
        }
        if Instant::now() > deadline {
            let limit = TIMEOUT.as_secs();
            return Err(Error::failed(format!(
                "the delivery of every event did not happen within {limit}s"
            )));
        }
        sleep(Duration::from_millis(200)).await;
    }
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
