use super::super::batch::Delivery;
use super::super::decision::{DropReason, RetryReason};
use super::*;

/// The lines of metrics among those of a report.
fn metrics_of(lines: Vec<Value>) -> Vec<Value> {
    lines.into_iter().filter(|line| line.get("_aws").is_some()).collect()
}

fn item(message: usize, cluster: &str, decision: Decision) -> Item {
    Item {
        message,
        signal: Some(Signal::ScheduledChange),
        instance: format!("i-{message}").parse().ok(),
        cluster: cluster.parse().ok(),
        decision,
    }
}

/// The lines about these items. The deliveries have these delays, in order, and no time after the last.
fn report(items: Vec<Item>, delays: &[i64]) -> Vec<Value> {
    let message = |n: usize| Message {
        id: format!("m{n}"),
        origin: Origin::HubQueue {
            receipt: "secret".to_owned(),
        },
        body: "secret".to_owned(),
        receives: Some(2),
        arrived: 0,
    };
    let delivered = items.iter().filter(|item| item.decision == Decision::Delivered);
    let routed = RoutedBatch {
        delivered: delivered
            .enumerate()
            .map(|(number, item)| Delivery {
                cluster: item.cluster.clone(),
                delay: delays.get(number).copied(),
            })
            .collect(),
        items,
        repairs: Vec::new(),
        contradictions: BTreeSet::new(),
    };
    let messages: Vec<Message> = (0..3).map(message).collect();
    let bus = "kibus".parse().unwrap();
    lines(&bus, "request", &messages, &routed, &CallCounts::default(), 5)
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
fn a_line_names_the_loss_and_the_cluster() {
    let unregistered = Decision::Dropped(DropReason::Unregistered);
    let mut lines = report(
        vec![
            item(0, "a", Decision::Delivered),
            item(0, "b", unregistered),
            item(0, "b", unregistered),
            item(1, "", Decision::Dropped(DropReason::NoKarpenterMarker)),
            item(2, "a", Decision::Retried(RetryReason::SendThrottled)),
        ],
        &[],
    );
    let line = |what, reason, cluster, message, items: usize| {
        json!({
            "level": "warn", "message": what, "reason": reason, "signal": "scheduled-change", "cluster": cluster,
            "instances": vec![format!("i-{message}"); items], "items": items, "receives": 2,
            "message_id": format!("m{message}"), "request": "request",
        })
    };
    lines.retain(|line| line.get("_aws").is_none());
    assert_eq!(
        lines,
        [
            line("dropped", "unregistered", "b", 0, 2),
            line("retried", "send throttled", "a", 2, 1),
        ]
    );
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
    let receipt = String::new();
    for (origin, expected) in [
        (Origin::Invocation, decisions),
        (Origin::HubQueue { receipt }, json!({})),
    ] {
        let message = Message {
            id: "m".to_owned(),
            origin,
            body: String::new(),
            receives: Some(2),
            arrived: 0,
        };
        assert_eq!(json!(answered(&[message], &items)), expected);
    }
}

#[test]
fn contradicting_tags_are_one_short_line() {
    assert_eq!(contradictions("r", &BTreeSet::new()), None);
    let instances: BTreeSet<_> = (0..20).filter_map(|n| format!("i-{n:02}").parse().ok()).collect();
    let line = contradictions("r", &instances).unwrap();
    assert_eq!(
        (&line["items"], line["instances"].as_array().unwrap().len()),
        (&json!(20), NAMED)
    );
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
        let line = &metrics_of(report(items, &delays))[0];
        let kept: Vec<i64> = serde_json::from_value(line["Delay"].clone()).unwrap();
        assert_eq!((kept.len(), kept[0]), (delays.len().min(VALUES), all), "of {all}");
        let (middle, true_middle) = (kept[kept.len() / 2], all / 2);
        assert!((middle - true_middle).abs() <= 1 + all / 100, "of {all}: {middle}");
    }
}

#[test]
fn each_cluster_with_a_delivery_has_its_own_line() {
    let metrics = metrics_of(report(
        vec![
            item(0, "a", Decision::Delivered),
            item(0, "b", Decision::Delivered),
            item(1, "a", Decision::Delivered),
            item(1, "", Decision::Delivered),
            item(2, "c", Decision::Dropped(DropReason::Unregistered)),
        ],
        &[],
    ));
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
