//! The lines of metrics, in CloudWatch's embedded metric format.

use std::collections::BTreeMap;
use std::iter;

use serde_json::{Map, Value, json};

use crate::model::name::{BusName, ClusterName};
use crate::router::batch::RoutedBatch;

/// The namespace of the metrics.
const NAMESPACE: &str = "Kibus";
/// How many values a metric may have (CloudWatch embedded metric format specification).
const VALUES: usize = 100;

/// The line of the invocation, then one for each cluster with a delivery, because a line can have only one value per
/// dimension. `now` is in milliseconds of the Unix epoch.
pub(super) fn lines(
    bus: &BusName,
    request: &str,
    counts: &BTreeMap<&'static str, u32>,
    routed: &RoutedBatch,
    now: i64,
) -> Vec<Value> {
    iter::once(of_invocation(bus, request, counts, routed, now))
        .chain(of_clusters(bus, request, routed, now))
        .collect()
}

fn of_invocation(
    bus: &BusName,
    request: &str,
    counts: &BTreeMap<&'static str, u32>,
    routed: &RoutedBatch,
    now: i64,
) -> Value {
    let mut names: Vec<Value> = counts
        .keys()
        .map(|name| json!({"Name": name, "Unit": "Count"}))
        .collect();
    let mut line = Map::new();
    line.extend(counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count))));
    let delays = delays(routed);
    if !delays.is_empty() {
        names.push(json!({"Name": "Delay", "Unit": "Milliseconds"}));
        line.insert("Delay".to_owned(), json!(delays));
    }
    line.insert("bus".to_owned(), json!(bus.as_str()));
    line.insert("request".to_owned(), json!(request));
    line.insert("_aws".to_owned(), directive(&["bus"], &names, now));
    Value::Object(line)
}

/// The delays, longest first. If there are more than a metric may have, this picks some at equal steps, so the maximum
/// stays and the median hardly changes.
fn delays(routed: &RoutedBatch) -> Vec<i64> {
    let mut delays: Vec<i64> = routed.delivered.iter().filter_map(|copy| copy.delay).collect();
    delays.sort_unstable_by(|a, b| b.cmp(a));
    let all = delays.len();
    let kept = all.min(VALUES);
    (0..kept).map(|n| delays[n * all / kept]).collect()
}

/// The deliveries of each cluster.
fn of_clusters(bus: &BusName, request: &str, routed: &RoutedBatch, now: i64) -> impl Iterator<Item = Value> {
    let mut delivered: BTreeMap<&ClusterName, u32> = BTreeMap::new();
    for cluster in routed.delivered.iter().filter_map(|copy| copy.cluster.as_ref()) {
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

/// The member that makes CloudWatch read metrics from the line.
fn directive(dimensions: &[&str], metrics: &[Value], now: i64) -> Value {
    json!({
        "Timestamp": now,
        "CloudWatchMetrics": [{"Namespace": NAMESPACE, "Dimensions": [dimensions], "Metrics": metrics}],
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{item, report};
    use super::*;
    use crate::router::decision::{Decision, DropReason, RetryReason};

    #[test]
    fn every_declared_metric_has_a_value() {
        for (delays, expected) in [(vec![], None), (vec![7], Some(json!([7])))] {
            let items = vec![
                item(0, "a", Decision::Delivered),
                item(1, "b", Decision::Dropped(DropReason::Unregistered)),
                item(2, "b", Decision::Retried(RetryReason::NoTagsYet)),
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
            assert_eq!(line.get("Delay"), expected.as_ref());
            for (name, count) in [
                ("Received", 3),
                ("Delivered", 1),
                ("Dropped", 1),
                ("DroppedUnregistered", 1),
            ] {
                assert_eq!(line[name], json!(count), "{name}");
            }
            assert_eq!((&line["Retried"], &line["RetriedNoTagsYet"]), (&json!(1), &json!(1)));
        }
    }

    #[test]
    fn a_hundred_delays_stand_for_many() {
        for all in [99, 100, 101, 250, 1000] {
            let delays: Vec<i64> = (1..=all).collect();
            let items = (0..all).map(|_| item(0, "a", Decision::Delivered)).collect();
            let line = &report(items, &delays).metrics[0];
            let kept: Vec<i64> = serde_json::from_value(line["Delay"].clone()).unwrap();
            assert_eq!((kept.len(), kept[0]), (delays.len().min(VALUES), all), "of {all}");
            let (middle, true_middle) = (kept[kept.len() / 2], all / 2);
            assert!((middle - true_middle).abs() <= 1 + all / 100, "of {all}: {middle}");
        }
    }

    #[test]
    fn each_cluster_with_a_delivery_has_its_own_line() {
        let metrics = report(
            vec![
                item(0, "a", Decision::Delivered),
                item(0, "b", Decision::Delivered),
                item(1, "a", Decision::Delivered),
                item(1, "", Decision::Delivered),
                item(2, "c", Decision::Dropped(DropReason::Unregistered)),
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
}
