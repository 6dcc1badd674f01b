//! What an invocation tells: a JSON line for each decision that loses something or puts it off, and one line of
//! metrics in CloudWatch's embedded metric format. Nothing of a message's own text is in them, and each has a bound.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use super::route::{Message, Outcome, counted};
use super::verdict::Verdict;
use super::{Calls, Item};
use crate::model::name::BusName;

/// The namespace of the metrics.
const NAMESPACE: &str = "Kibus";
/// How many values a metric may have (CloudWatch embedded metric format specification).
const VALUES: usize = 100;
/// How many instances a line names.
const NAMED: usize = 10;
/// How many lines one invocation writes about its decisions.
const LINES: usize = 200;

/// What is told of one invocation.
#[derive(Clone, Debug)]
pub struct Report {
    /// The lines about decisions.
    pub decisions: Vec<Value>,
    /// The line of metrics.
    pub metrics: Value,
    /// What was counted, by the metrics' names.
    pub counts: BTreeMap<&'static str, u32>,
}

impl Report {
    /// The report of an invocation that ended at `now`, in milliseconds of the Unix epoch.
    pub(super) fn new(
        bus: &BusName,
        request: &str,
        messages: &[Message],
        outcome: &Outcome,
        calls: &Calls,
        now: i64,
    ) -> Self {
        let counts = counts(messages, outcome, calls);
        Self {
            decisions: decisions(request, messages, &outcome.items),
            metrics: metrics(bus, request, &counts, outcome, now),
            counts,
        }
    }
}

fn counts(messages: &[Message], outcome: &Outcome, calls: &Calls) -> BTreeMap<&'static str, u32> {
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let dropped = |item: &&Item| matches!(item.verdict, Verdict::Dropped(_));
    let mut counts = BTreeMap::from([
        ("Received", size(messages.len())),
        ("Delivered", size(outcome.copies)),
        ("Dropped", size(outcome.items.iter().filter(dropped).count())),
        ("GivenBack", size(outcome.given_back().len())),
        ("Repaired", size(outcome.repairs.len())),
        ("DescribeTagsCalls", calls.describe_tags.load(Ordering::Relaxed)),
        ("SendCalls", calls.send.load(Ordering::Relaxed)),
        ("ListQueueTagsCalls", calls.list_queue_tags.load(Ordering::Relaxed)),
    ]);
    let reasons = outcome.items.iter().filter_map(|item| match item.verdict {
        Verdict::Delivered => None,
        Verdict::Dropped(drop) => Some(drop.metric()),
        Verdict::GivenBack(why) => Some(why.metric()),
    });
    counts.extend(counted(reasons));
    counts
}

fn metrics(bus: &BusName, request: &str, counts: &BTreeMap<&'static str, u32>, outcome: &Outcome, now: i64) -> Value {
    let mut names: Vec<Value> = counts
        .keys()
        .map(|name| json!({"Name": name, "Unit": "Count"}))
        .collect();
    let mut line = Map::new();
    line.extend(counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count))));
    let mut delays = outcome.delays.clone();
    if !delays.is_empty() {
        // The longest are kept, since the longest is what matters.
        delays.sort_unstable_by(|a, b| b.cmp(a));
        delays.truncate(VALUES);
        names.push(json!({"Name": "Delay", "Unit": "Milliseconds"}));
        line.insert("Delay".to_owned(), json!(delays));
    }
    line.insert("bus".to_owned(), json!(bus.as_str()));
    line.insert("request".to_owned(), json!(request));
    line.insert(
        "_aws".to_owned(),
        json!({
            "Timestamp": now,
            "CloudWatchMetrics": [{"Namespace": NAMESPACE, "Dimensions": [["bus"]], "Metrics": names}],
        }),
    );
    Value::Object(line)
}

/// One line for all that one message's entities of one cluster have in common.
fn decisions(request: &str, messages: &[Message], items: &[Item]) -> Vec<Value> {
    let mut groups: BTreeMap<(usize, &str, &str, &str), Vec<&Item>> = BTreeMap::new();
    for item in items {
        let (what, why) = match item.verdict {
            Verdict::Dropped(drop) if drop.loses() => ("dropped", drop.as_str()),
            Verdict::GivenBack(why) => ("given back", why.as_str()),
            Verdict::Delivered | Verdict::Dropped(_) => continue,
        };
        let cluster = item.cluster.as_ref().map_or("", |cluster| cluster.as_str());
        groups.entry((item.message, what, why, cluster)).or_default().push(item);
    }
    let lines = groups.into_iter().take(LINES);
    lines
        .map(|((message, what, why, cluster), items)| {
            let instances: Vec<&str> = items
                .iter()
                .filter_map(|item| item.instance.as_ref())
                .map(super::InstanceId::as_str)
                .take(NAMED)
                .collect();
            json!({
                "level": "warn",
                "message": what,
                "reason": why,
                "signal": items.first().and_then(|item| item.signal).map(crate::model::signal::Signal::slug),
                "cluster": cluster,
                "instances": instances,
                "items": items.len(),
                "receives": messages[message].receives,
                "message_id": messages[message].id,
                "request": request,
            })
        })
        .collect()
}
