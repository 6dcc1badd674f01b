use std::sync::Arc;

use super::super::batch::EventFacts;
use super::super::decision::{DropReason, RetryReason};
use super::*;

fn metrics_of(lines: Vec<Value>) -> Vec<Value> {
    lines.into_iter().filter(|line| line.get("_aws").is_some()).collect()
}

fn item(message: usize, cluster: &str, decision: Decision) -> Item {
    let place = |name| Arc::new(Placement { node_pool: "spot".to_owned(), ..Placement::of(name) });
    Item {
        message,
        signal: Some(Signal::ScheduledChange),
        instance: format!("i-{message}").parse().ok(),
        placement: cluster.parse().ok().map(place),
        decision,
        copy: None,
        delay: None,
    }
}

fn message(id: String, origin: Origin) -> Message {
    Message { id, origin, body: "secret".to_owned(), receives: Some(2), arrived: 0 }
}

fn of_hub() -> Origin {
    Origin::HubQueue { receipt: "secret".to_owned() }
}

/// The lines about these items. The deliveries have these delays, in order; further deliveries have no time.
fn report(items: Vec<Item>, delays: &[i64]) -> Vec<Value> {
    report_of("kibus/{cluster}", items, delays)
}

fn report_of(handler: &str, mut items: Vec<Item>, delays: &[i64]) -> Vec<Value> {
    let delivered = items.iter_mut().filter(|item| item.decision == Decision::Delivered);
    for (number, item) in delivered.enumerate() {
        item.copy = Some(number);
        item.delay = delays.get(number).copied();
    }
    let facts = EventFacts { time: Some(1_795_183_351_000), state: None, is_heartbeat: false };
    let count = items.iter().map(|item| item.message + 1).max().unwrap_or(0).max(3);
    let routed = RoutedBatch { events: vec![facts; count], items, repairs: 0, contradictions: BTreeSet::new() };
    let messages: Vec<Message> = (0..count).map(|n| message(format!("m{n}"), of_hub())).collect();
    let (handler, calls) = (handler.parse().unwrap(), CallCounts::default());
    let lines = lines(&handler, "request", &messages, &routed, &calls, &Notified::default(), 5);
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn no_two_reasons_have_one_name_or_metric() {
    let drops = DropReason::ALL.iter().map(|reason| (reason.as_str(), reason.metric()));
    let retries = RetryReason::ALL.iter().map(|reason| (reason.as_str(), reason.metric()));
    let all: Vec<_> = drops.chain(retries).collect();
    let names: std::collections::HashSet<_> = all.iter().map(|(name, _)| name).collect();
    let metrics: std::collections::HashSet<_> = all.iter().map(|(_, metric)| metric).collect();
    assert_eq!((names.len(), metrics.len()), (all.len(), all.len()));
}

#[test]
fn a_line_says_what_became_of_items_losses_first() {
    let unregistered = Decision::Dropped(DropReason::Unregistered);
    let mut lines = report(
        vec![
            item(0, "a", Decision::Delivered),
            item(0, "b", unregistered),
            item(0, "b", unregistered),
            item(1, "", Decision::Dropped(DropReason::NoKarpenterMarker)),
            item(2, "a", Decision::Retried(RetryReason::SendThrottled)),
        ],
        &[1500],
    );
    let line = |what, reason: Option<&str>, cluster, message, items: usize| {
        let is_delivered = what == "delivered";
        json!({
            "level": if is_delivered { "info" } else { "warn" }, "message": what, "reason": reason,
            "signal": "scheduled-change", "urgency": "urgent", "state": null, "cluster": cluster, "nodepool": "spot",
            "type": null, "instances": vec![format!("i-{message}"); items], "items": items,
            "time": "2026-11-20T14:02:31Z", "delay": is_delivered.then_some(1500), "receives": 2,
            "message_id": format!("m{message}"), "request": "request",
        })
    };
    lines.retain(|line| line.get("_aws").is_none());
    let lost = [line("dropped", Some("unregistered"), "b", 0, 2), line("retried", Some("send throttled"), "a", 2, 1)];
    assert_eq!(lines[..2], lost);
    assert_eq!(lines[2..], [line("delivered", None, "a", 0, 1)]);
}

/// The documentation and the cost estimate use the size of a line with names of typical lengths.
#[test]
fn the_page_has_the_cost_of_a_million_lines() {
    let page = include_str!("../../../docs/router.md");
    let text = page.lines().find(|line| line.contains(r#""message":"delivered""#)).unwrap();
    let (line, signal) = (RouterLine::read(text).unwrap(), Signal::StateChange);
    assert_eq!(serde_json::to_string(&line).unwrap(), text);
    assert_eq!([line.signal.as_deref(), line.urgency.as_deref()], [Some(signal.slug()), Some(signal.urgency())]);
    // For us-east-1, in US dollars per GB: https://aws.amazon.com/cloudwatch/pricing/
    let bytes = text.len() + 1;
    let cost = format!("${:.2}", 1.0e6 * f64::from(u32::try_from(bytes).unwrap()) / 1.0e9 * 0.50);
    let sentence = format!("{bytes} bytes, and a million of them cost {cost}");
    assert!(page.contains(&sentence), "docs/router.md should have: {sentence}");
}

#[test]
fn only_a_redrive_is_answered_with_decisions() {
    let unregistered = Decision::Dropped(DropReason::Unregistered);
    let items = [("a", Decision::Delivered), ("b", unregistered), ("b", unregistered)];
    let items = items.map(|(cluster, decision)| item(0, cluster, decision));
    let decisions = json!({"m": [
        {"decision": "delivered", "reason": null, "cluster": "a"},
        {"decision": "dropped", "reason": "unregistered", "cluster": "b"},
    ]});
    for (origin, expected) in [(Origin::Invocation, decisions), (of_hub(), json!({}))] {
        assert_eq!(json!(answered(&[message("m".to_owned(), origin)], &items)), expected);
    }
}

#[test]
fn contradicting_tags_are_one_short_line() {
    assert_eq!(contradictions("r", &BTreeSet::new()), None);
    let instances: BTreeSet<_> = (0..20).filter_map(|n| format!("i-{n:02}").parse().ok()).collect();
    let line = contradictions("r", &instances).unwrap();
    assert_eq!((&line["items"], line["instances"].as_array().unwrap().len()), (&json!(20), NAMED));
}

#[test]
fn every_declared_metric_has_a_value() {
    for (delays, expected) in [(vec![], None), (vec![7], Some(json!([7])))] {
        let items = vec![
            item(0, "a", Decision::Delivered),
            item(1, "b", Decision::Dropped(DropReason::Unregistered)),
            item(2, "b", Decision::Retried(RetryReason::NoTagsYet)),
        ];
        let line = metrics_of(report(items, &delays)).swap_remove(0);
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!((&directive["Namespace"], &directive["Dimensions"]), (&json!("Kibus"), &json!([["bus"]])));
        assert_eq!((&line["bus"], &line["_aws"]["Timestamp"]), (&json!("kibus"), &json!(5)));
        let names = directive["Metrics"].as_array().unwrap();
        assert!(names.len() < VALUES);
        for name in names {
            let value = &line[name["Name"].as_str().unwrap()];
            assert!(value.is_number() || value.is_array(), "{name}: {value}");
        }
        assert_eq!(line.get("Delay"), expected.as_ref());
        for (name, count) in [("Received", 3), ("Delivered", 1), ("Dropped", 1), ("DroppedUnregistered", 1)] {
            assert_eq!(line[name], json!(count), "{name}");
        }
        assert_eq!((&line["Retried"], &line["RetriedNoTagsYet"]), (&json!(1), &json!(1)));
    }
}

#[test]
fn a_hundred_delays_stand_for_many() {
    for all in [99, 100, 101, 250, 1000] {
        let delays: Vec<i64> = (1..=all).collect();
        let items = (0..all).map(|n| item(usize::try_from(n).unwrap(), "a", Decision::Delivered));
        let lines = report(items.collect(), &delays);
        assert_eq!(lines.iter().filter(|line| line["message"] == "delivered").count(), delays.len().min(LINES));
        let line = &metrics_of(lines)[0];
        let kept: Vec<i64> = serde_json::from_value(line["Delay"].clone()).unwrap();
        assert_eq!((kept.len(), kept[0]), (delays.len().min(VALUES), all), "of {all}");
        let (middle, true_middle) = (kept[kept.len() / 2], all / 2);
        assert!((middle - true_middle).abs() <= 1 + all / 100, "of {all}: {middle}");
    }
}

#[test]
fn each_cluster_or_node_pool_with_a_delivery_has_its_own_line_if_it_is_wanted() {
    let line = |(cluster, delivered), dimensions: &Value, pool: Option<&str>| {
        let mut line = json!({
            "_aws": {"Timestamp": 5, "CloudWatchMetrics": [{
                "Namespace": "Kibus", "Dimensions": dimensions,
                "Metrics": [{"Name": "Delivered", "Unit": "Count"}],
            }]},
            "bus": "kibus", "cluster": cluster, "Delivered": delivered, "request": "request",
        });
        if let Some(pool) = pool {
            line["nodepool"] = json!(pool);
        }
        line
    };
    for (handler, dimensions, pool) in [
        ("kibus/{cluster}/metrics=cluster", json!([["bus", "cluster"]]), None),
        ("kibus/{cluster}/metrics=nodepool", json!([["bus", "cluster"], ["bus", "cluster", "nodepool"]]), Some("spot")),
        ("kibus/{cluster}", json!(null), None),
    ] {
        let delivered = [(0, "a"), (0, "b"), (1, "a"), (1, "")].map(|(n, name)| item(n, name, Decision::Delivered));
        let dropped = item(2, "c", Decision::Dropped(DropReason::Unregistered));
        let metrics = metrics_of(report_of(handler, delivered.into_iter().chain([dropped]).collect(), &[]));
        assert_eq!(metrics[0]["Delivered"], json!(4));
        let wanted = [("a", 2), ("b", 1)].map(|of| line(of, &dimensions, pool));
        assert_eq!(metrics[1..], wanted[..if dimensions.is_null() { 0 } else { 2 }], "{handler}");
    }
}
