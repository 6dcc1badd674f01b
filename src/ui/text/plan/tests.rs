//! Complete texts of real plans.

use serde_json::json;

use super::*;
use crate::model::{Desired, HubOptions, Queue, Resource, ResourceId, Unit, scope::tests::scope};
use crate::ui::text::tests::{
    assert_snapshot, between, cluster_of, cluster_resources, drifted, drifted_resources, hub_resources, style,
};

fn clusters_resources(count: usize) -> Desired {
    let mut desired = Desired::default();
    for number in 1..=count {
        desired.extend(cluster_resources(&format!("tenant-{number}")));
    }
    desired
}

fn shown(plan: &Plan, style: Style) -> String {
    super::plan(&scope(), plan, &[], true, style)
}

fn with_queues(desired: &Desired, change: impl Fn(&mut Queue)) -> Desired {
    drifted(desired, |resource| {
        if let Resource::Queue(queue) = resource {
            change(queue);
        }
    })
}

fn both(mut hub: Desired, clusters: usize) -> Desired {
    hub.extend(clusters_resources(clusters));
    hub
}

#[test]
fn plans_read_like_this() {
    let hub_with = |options| hub_resources(serde_json::from_value(options).unwrap());
    let (none, hub) = (Desired::default(), hub_with(json!({})));
    let options = hub_with(json!({
        "kms-key": "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab",
        "permissions-boundary": "arn:aws:iam::111122223333:policy/team/boundary",
        "role-path": "/team/", "reserved-concurrency": "20", "rebalance": true, "memory": "512",
    }));
    let short = with_queues(&hub, |queue| {
        if queue.name == scope().hub_queue() {
            queue.retention = 345_600;
        }
    });
    let (one, drift) = (both(hub.clone(), 1), drifted_resources(&both(hub.clone(), 1)));
    for (name, before, after, style) in [
        ("first-hub.txt", &none, &hub, style(0, None)),
        ("first-hub-narrow.txt", &none, &hub, style(0, Some(80))),
        ("first-hub-very-narrow.txt", &none, &hub, style(0, Some(60))),
        ("first-hub-verbose.txt", &none, &hub, style(1, None)),
        ("options-new.txt", &none, &options, style(0, None)),
        ("options-changed.txt", &hub_with(json!({"role-path": "/team/"})), &options, style(0, None)),
        ("clusters.txt", &short, &both(hub.clone(), 2), style(0, None)),
        ("many-clusters.txt", &none, &clusters_resources(60), style(0, Some(100))),
        ("drift.txt", &drift, &one, style(0, None)),
        ("drift-verbose.txt", &drift, &one, style(1, None)),
        ("teardown.txt", &one, &none, style(0, None)),
    ] {
        assert_snapshot(name, &shown(&between(before, after), style));
    }
}

#[test]
fn each_of_few_clusters_one_with_an_update_and_each_with_v_is_shown_in_detail() {
    let (none, sixty) = (Desired::default(), clusters_resources(60));
    let full = shown(&between(&none, &sixty), style(1, None));
    for number in 1..=60 {
        assert!(full.contains(&format!("karpenter-tenant-{number} ")), "tenant-{number} is not shown by -v");
    }
    let is_of_42 = |id: &&ResourceId| matches!(id, ResourceId::Queue(name) if name.as_str() == "karpenter-tenant-42");
    let short = with_queues(&sixty, |queue| queue.retention = 60);
    let of_42 = short.ids().find(is_of_42).and_then(|id| short.get(id)).cloned();
    for (before, after, row) in [
        (&none, &clusters_resources(20), "+ queue"),
        (&of_42.into_iter().collect(), &sixty, "~ queue        karpenter-tenant-42"),
    ] {
        let text = shown(&between(before, after), Style::default());
        assert!(text.contains(row), "{text}");
    }
}

#[test]
fn every_row_of_a_plan_fits_the_terminal() {
    let long = cluster_of(&"a-cluster-name-of-the-longest-kind-that-eks-accepts-".repeat(2)[..100], &"r".repeat(64));
    let none = Desired::default();
    let mut plans = Vec::new();
    for mut resources in [hub_resources(HubOptions::default()), clusters_resources(30)] {
        resources.extend(long.clone());
        plans.extend([between(&none, &resources), between(&resources, &none)]);
    }
    plans.push(Plan { unknown: plans[0].changes.iter().map(|change| change.id.clone()).collect(), ..Plan::default() });
    for plan in &plans {
        let whole = shown(plan, Style::default());
        assert!(!whole.contains('…'), "nothing is shortened without a terminal:\n{whole}");
        for width in [40, 60, 80, 100, 120, 200] {
            for line in shown(plan, style(0, Some(width))).lines().skip(1) {
                let words = console::measure_text_width(line);
                assert!(words <= width, "{words} columns at {width}: {line}");
            }
        }
    }
}

#[test]
fn unreadable_resources_are_listed() {
    let plan = Plan { unknown: vec![ResourceId::Queue(scope().hub_queue())], ..Plan::default() };
    let expected = "kibus · account 111122223333 · us-west-2 · hub kibus\n\n  ? queue  kibus-hub  could not be read; no change is planned";
    assert_eq!(shown(&plan, Style::default()), expected);
}

#[test]
fn color_changes_no_text() {
    let hub = hub_resources(HubOptions::default());
    let open = with_queues(&hub, |queue| queue.policy = queue.policy.as_ref().map(|_| Document::new(json!({}))));
    let plan = between(&open, &both(hub, 25));
    let colored = shown(&plan, Style { paint: Paint::new(true), ..Style::default() });
    assert!(colored.contains('\u{1b}'));
    assert_eq!(console::strip_ansi_codes(&colored), shown(&plan, Style::default()));
}

fn lines(from: serde_json::Value, to: serde_json::Value, full: bool) -> String {
    diff(&Document::new(from), &Document::new(to), full, Paint::default()).join("\n")
}

#[test]
fn order_of_keys_and_items_is_no_difference() {
    let from = json!({"Action": ["b", "a"], "Effect": "Allow"});
    let to = json!({"Effect": "Allow", "Action": ["a", "c"]});
    let expected =
        "  {\n    \"Action\": [\n      \"a\",\n-     \"b\"\n+     \"c\"\n    ],\n    \"Effect\": \"Allow\"\n  }";
    assert_eq!(lines(from, to, false), expected);
}

#[test]
fn distant_changes_are_separated_and_full_shows_all_lines() {
    let document =
        |first: u32, last: u32| json!({"a": first, "b": 0, "c": 0, "d": 0, "e": 0, "f": 0, "g": 0, "h": 0, "i": last});
    let short = lines(document(1, 1), document(2, 2), false);
    assert!(short.contains("\n...\n") && !short.contains("\"e\""), "{short}");
    let full = lines(document(1, 1), document(2, 2), true);
    assert!(!full.contains("...") && full.contains("\"e\""), "{full}");
}

#[test]
fn other_values_are_words() {
    let list = |items: &[&str]| FieldValue::List(items.iter().map(|item| (*item).to_owned()).collect());
    for (path, given, shown) in [
        ("permissions_boundary", FieldValue::Unset, "not set"),
        ("retention_days", FieldValue::Unset, "unlimited"),
        ("retention", FieldValue::Number(90, Unit::Seconds), "90s"),
        ("max_message_size", FieldValue::Number(262_144, Unit::Bytes), "256 KiB"),
        ("enabled", FieldValue::Flag(false), "no"),
        ("duplicates", list(&[]), "none"),
        ("duplicates", list(&["a", "b"]), "a, b"),
        ("tags.team", "".into(), "empty"),
        ("tags.team", "a\u{1b}[2J".into(), "a\\u{1b}[2J"),
        ("code", Code::of_archive("0.1.0", "0123456789abcdef").into(), "0.1.0 (sha256 0123456789ab)"),
        ("code", Code::of_archive("0.1.0", "").into(), "0.1.0"),
        ("code", Code::of_unknown_version("aa").into(), "sha256 aa"),
        ("code", Code::of_unknown_version("").into(), "unknown"),
    ] {
        assert_eq!(value(path, &given), shown, "{path}");
    }
}
