//! What an invocation tells: a JSON line for each decision that loses something or puts it off, one line of metrics in
//! CloudWatch's embedded metric format, and one more for each cluster that got something, since a line has room for
//! one value of a dimension. Nothing of a message's own text is in them, and each has a bound.

use std::collections::BTreeMap;
use std::iter;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use super::route::{Message, Outcome};
use super::verdict::Verdict;
use super::{Calls, Item};
use crate::model::name::{BusName, ClusterName};

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
    /// The lines of metrics: the invocation's, then one for each cluster that got something.
    pub metrics: Vec<Value>,
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
            metrics: iter::once(metrics(bus, request, &counts, outcome, now))
                .chain(metrics_of_clusters(bus, request, outcome, now))
                .collect(),
            counts,
        }
    }
}

fn counts(messages: &[Message], outcome: &Outcome, calls: &Calls) -> BTreeMap<&'static str, u32> {
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let dropped = |item: &&Item| matches!(item.verdict, Verdict::Dropped(_));
    let mut counts = BTreeMap::from([
        ("Received", size(messages.len())),
        ("Delivered", size(outcome.delivered.len())),
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
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    counts
}

fn metrics(bus: &BusName, request: &str, counts: &BTreeMap<&'static str, u32>, outcome: &Outcome, now: i64) -> Value {
    let mut names: Vec<Value> = counts
        .keys()
        .map(|name| json!({"Name": name, "Unit": "Count"}))
        .collect();
    let mut line = Map::new();
    line.extend(counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count))));
    let delays = delays(outcome);
    if !delays.is_empty() {
        names.push(json!({"Name": "Delay", "Unit": "Milliseconds"}));
        line.insert("Delay".to_owned(), json!(delays));
    }
    line.insert("bus".to_owned(), json!(bus.as_str()));
    line.insert("request".to_owned(), json!(request));
    line.insert("_aws".to_owned(), directive(&["bus"], &names, now));
    Value::Object(line)
}

/// The delays, longest first. Of more than a metric may have, some are left out in equal steps: the longest stays,
/// and the middle stays where it was.
fn delays(outcome: &Outcome) -> Vec<i64> {
    let mut delays: Vec<i64> = outcome.delivered.iter().filter_map(|copy| copy.delay).collect();
    delays.sort_unstable_by(|a, b| b.cmp(a));
    let all = delays.len();
    let told = all.min(VALUES);
    (0..told).map(|n| delays[n * all / told]).collect()
}

/// How much each cluster got.
fn metrics_of_clusters(bus: &BusName, request: &str, outcome: &Outcome, now: i64) -> impl Iterator<Item = Value> {
    let mut delivered: BTreeMap<&ClusterName, u32> = BTreeMap::new();
    for cluster in outcome.delivered.iter().filter_map(|copy| copy.cluster.as_ref()) {
        *delivered.entry(cluster).or_default() += 1;
    }
    let names = [json!({"Name": "Delivered", "Unit": "Count"})];
    delivered.into_iter().map(move |(cluster, copies)| {
        json!({
            "_aws": directive(&["bus", "cluster"], &names, now),
            "bus": bus.as_str(),
            "cluster": cluster.as_str(),
            "Delivered": copies,
            "request": request,
        })
    })
}

/// What makes metrics of a line.
fn directive(dimensions: &[&str], metrics: &[Value], now: i64) -> Value {
    json!({
        "Timestamp": now,
        "CloudWatchMetrics": [{"Namespace": NAMESPACE, "Dimensions": [dimensions], "Metrics": metrics}],
    })
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

#[cfg(test)]
mod tests {
    use super::super::{Delivery, Drop, GiveBack, InstanceId};
    use super::*;
    use crate::model::signal::Signal;

    fn item(message: usize, cluster: &str, verdict: Verdict) -> Item {
        Item {
            message,
            signal: Some(Signal::ScheduledChange),
            instance: InstanceId::parse(&format!("i-{message}")),
            cluster: cluster.parse().ok(),
            verdict,
        }
    }

    /// The delays are those of what was delivered, in order; without one it names no time.
    fn report(items: Vec<Item>, delays: &[i64]) -> Report {
        let message = |n: usize| Message {
            id: format!("m{n}"),
            receipt: "secret".to_owned(),
            body: "secret".to_owned(),
            receives: Some(2),
            arrived: 0,
        };
        let delivered = items.iter().filter(|item| item.verdict == Verdict::Delivered);
        let outcome = Outcome {
            delivered: delivered
                .enumerate()
                .map(|(number, item)| Delivery {
                    cluster: item.cluster.clone(),
                    delay: delays.get(number).copied(),
                })
                .collect(),
            items,
            repairs: Vec::new(),
        };
        let messages: Vec<Message> = (0..3).map(message).collect();
        let bus = "kibus".parse().unwrap();
        Report::new(&bus, "request", &messages, &outcome, &Calls::default(), 5)
    }

    #[test]
    fn a_line_says_what_was_lost_and_by_whom() {
        let unregistered = Verdict::Dropped(Drop::Unregistered);
        let lines = report(
            vec![
                item(0, "a", Verdict::Delivered),
                item(0, "b", unregistered),
                item(0, "b", unregistered),
                item(1, "", Verdict::Dropped(Drop::NoKarpenterMarker)),
                item(2, "a", Verdict::GivenBack(GiveBack::SendThrottled)),
            ],
            &[],
        )
        .decisions;
        let line = |what, reason, cluster, message, items: usize| {
            json!({
                "level": "warn", "message": what, "reason": reason, "signal": "scheduled-change", "cluster": cluster,
                "instances": vec![format!("i-{message}"); items], "items": items, "receives": 2,
                "message_id": format!("m{message}"), "request": "request",
            })
        };
        assert_eq!(
            lines,
            [
                line("dropped", "unregistered", "b", 0, 2),
                line("given back", "send throttled", "a", 2, 1),
            ]
        );
    }

    #[test]
    fn every_metric_that_is_declared_has_a_value() {
        for (delays, told) in [(vec![], None), (vec![7], Some(json!([7])))] {
            let items = vec![
                item(0, "a", Verdict::Delivered),
                item(1, "b", Verdict::Dropped(Drop::Unregistered)),
                item(2, "b", Verdict::GivenBack(GiveBack::NoTagsYet)),
            ];
            let line = report(items, &delays).metrics.swap_remove(0);
            let directive = &line["_aws"]["CloudWatchMetrics"][0];
            assert_eq!(
                (&directive["Namespace"], &directive["Dimensions"]),
                (&json!("Kibus"), &json!([["bus"]]))
            );
            assert_eq!((&line["bus"], &line["_aws"]["Timestamp"]), (&json!("kibus"), &json!(5)));
            let names = directive["Metrics"].as_array().unwrap();
            assert!(names.len() < VALUES);
            for name in names {
                let value = &line[name["Name"].as_str().unwrap()];
                assert!(value.is_number() || value.is_array(), "{name}: {value}");
            }
            assert_eq!(line.get("Delay"), told.as_ref());
            for (name, count) in [
                ("Received", 3),
                ("Delivered", 1),
                ("Dropped", 1),
                ("DroppedUnregistered", 1),
            ] {
                assert_eq!(line[name], json!(count), "{name}");
            }
            assert_eq!(
                (&line["GivenBack"], &line["GivenBackNoTagsYet"]),
                (&json!(1), &json!(1))
            );
        }
    }

    #[test]
    fn many_delays_are_told_by_a_hundred_that_are_like_them() {
        for all in [99, 100, 101, 250, 1000] {
            let delays: Vec<i64> = (1..=all).collect();
            let items = (0..all).map(|_| item(0, "a", Verdict::Delivered)).collect();
            let line = &report(items, &delays).metrics[0];
            let told: Vec<i64> = serde_json::from_value(line["Delay"].clone()).unwrap();
            assert_eq!((told.len(), told[0]), (delays.len().min(VALUES), all), "of {all}");
            let (middle, true_middle) = (told[told.len() / 2], all / 2);
            assert!((middle - true_middle).abs() <= 1 + all / 100, "of {all}: {middle}");
        }
    }

    #[test]
    fn each_cluster_that_got_something_has_its_own_line() {
        let metrics = report(
            vec![
                item(0, "a", Verdict::Delivered),
                item(0, "b", Verdict::Delivered),
                item(1, "a", Verdict::Delivered),
                item(1, "", Verdict::Delivered),
                item(2, "c", Verdict::Dropped(Drop::Unregistered)),
            ],
            &[],
        )
        .metrics;
        let line = |cluster, delivered| {
            json!({
                "_aws": {"Timestamp": 5, "CloudWatchMetrics": [{
                    "Namespace": "Kibus", "Dimensions": [["bus", "cluster"]],
                    "Metrics": [{"Name": "Delivered", "Unit": "Count"}],
                }]},
                "bus": "kibus", "cluster": cluster, "Delivered": delivered, "request": "request",
            })
        };
        assert_eq!(metrics[0]["Delivered"], json!(4));
        assert_eq!(metrics[1..], [line("a", 2), line("b", 1)]);
    }

    #[test]
    fn reasons_and_their_metrics_are_told_apart() {
        let drops = Drop::ALL.iter().map(|reason| (reason.as_str(), reason.metric()));
        let back = GiveBack::ALL.iter().map(|reason| (reason.as_str(), reason.metric()));
        let all: Vec<_> = drops.chain(back).collect();
        let names: std::collections::HashSet<_> = all.iter().map(|(name, _)| name).collect();
        let metrics: std::collections::HashSet<_> = all.iter().map(|(_, metric)| metric).collect();
        assert_eq!((names.len(), metrics.len()), (all.len(), all.len()));
    }
}
