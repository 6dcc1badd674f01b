//! Whole texts of real plans.

use serde_json::json;

use super::*;
use crate::model::{Desired, HubOptions, Resource, ResourceId, Unit, scope::tests::scope};
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

#[test]
fn a_first_hub() {
    let plan = between(&Desired::default(), &hub_resources(HubOptions::default()));
    assert_snapshot("first-hub.txt", &shown(&plan, Style::default()));
    assert_snapshot("first-hub-narrow.txt", &shown(&plan, style(0, Some(80))));
    assert_snapshot("first-hub-very-narrow.txt", &shown(&plan, style(0, Some(60))));
    assert_snapshot("first-hub-verbose.txt", &shown(&plan, style(1, None)));
}

#[test]
fn every_option_of_a_hub() {
    let options = HubOptions {
        kms_key: Some("arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab".parse().unwrap()),
        permissions_boundary: Some("arn:aws:iam::111122223333:policy/team/boundary".parse().unwrap()),
        role_path: Some("/team/".parse().unwrap()),
        reserved_concurrency: Some("20".parse().unwrap()),
        rebalance: Some(true),
        memory: Some("512".parse().unwrap()),
        ..HubOptions::default()
    };
    let before = HubOptions { role_path: options.role_path.clone(), ..HubOptions::default() };
    let (before, after) = (hub_resources(before), hub_resources(options));
    assert_snapshot("options-new.txt", &shown(&between(&Desired::default(), &after), Style::default()));
    assert_snapshot("options-changed.txt", &shown(&between(&before, &after), Style::default()));
}

#[test]
fn clusters_are_listed_apart_from_the_hub_and_each_other() {
    let mut after = hub_resources(HubOptions::default());
    let before = drifted(&after, |resource| {
        if let Resource::Queue(queue) = resource
            && queue.name == scope().hub_queue()
        {
            queue.retention = 345_600;
        }
    });
    after.extend(clusters_resources(2));
    assert_snapshot("clusters.txt", &shown(&between(&before, &after), Style::default()));
}

#[test]
fn many_clusters_are_one_line_each_and_v_shows_each_change() {
    let plan = between(&Desired::default(), &clusters_resources(60));
    assert_snapshot("many-clusters.txt", &shown(&plan, style(0, Some(100))));
    let full = shown(&plan, style(1, None));
    for number in 1..=60 {
        assert!(full.contains(&format!("karpenter-tenant-{number} ")), "tenant-{number} is not shown by -v");
    }
    let few = shown(&between(&Desired::default(), &clusters_resources(20)), Style::default());
    assert!(few.contains("+ queue"), "20 clusters are shown in detail:\n{few}");
}

#[test]
fn of_many_clusters_one_with_an_update_is_shown_in_detail() {
    let after = clusters_resources(60);
    let before: Desired = drifted(&after, |resource| {
        if let Resource::Queue(queue) = resource {
            queue.retention = 60;
        }
    })
    .resources()
    .filter(|resource| matches!(resource, Resource::Queue(queue) if queue.name.as_str() == "karpenter-tenant-42"))
    .cloned()
    .collect();
    let text = shown(&between(&before, &after), Style::default());
    assert!(text.contains("~ queue        karpenter-tenant-42"), "{text}");
}

#[test]
fn every_row_of_a_plan_fits_the_terminal() {
    let long = "a-cluster-name-of-the-longest-kind-that-eks-accepts-".repeat(2);
    let long = &long[..100];
    let mut few = hub_resources(HubOptions::default());
    few.extend(cluster_of(long, &"r".repeat(64)));
    let mut many = clusters_resources(30);
    many.extend(cluster_of(long, &"r".repeat(64)));
    let mut plans = Vec::new();
    for resources in [few, many] {
        plans.push(between(&Desired::default(), &resources));
        plans.push(between(&resources, &Desired::default()));
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
fn drift_shows_each_old_and_new_value() {
    let mut wanted = hub_resources(HubOptions::default());
    wanted.extend(clusters_resources(1));
    let found = drifted_resources(&wanted);
    assert_snapshot("drift.txt", &shown(&between(&found, &wanted), Style::default()));
    assert_snapshot("drift-verbose.txt", &shown(&between(&found, &wanted), style(1, None)));
}

#[test]
fn a_teardown() {
    let mut before = hub_resources(HubOptions::default());
    before.extend(clusters_resources(1));
    assert_snapshot("teardown.txt", &shown(&between(&before, &Desired::default()), Style::default()));
}

#[test]
fn unreadable_resources_are_listed() {
    let plan = Plan { unknown: vec![ResourceId::Queue(scope().hub_queue())], ..Plan::default() };
    assert_eq!(
        shown(&plan, Style::default()),
        "kibus · account 111122223333 · us-west-2 · hub kibus\n\n  ? queue  kibus-hub  could not be read; no change is planned"
    );
}

#[test]
fn a_plan_without_changes_has_no_text() {
    let desired = hub_resources(HubOptions::default());
    assert_eq!(shown(&between(&desired, &desired), Style::default()), "");
}

#[test]
fn color_changes_no_text() {
    let mut after = hub_resources(HubOptions::default());
    after.extend(clusters_resources(25));
    let before = drifted(&hub_resources(HubOptions::default()), |resource| {
        if let Resource::Queue(queue) = resource {
            queue.policy = queue.policy.as_ref().map(|_| Document::new(serde_json::json!({"Statement": []})));
        }
    });
    let plan = between(&before, &after);
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
    assert_eq!(
        lines(from, to, false),
        "  {\n    \"Action\": [\n      \"a\",\n-     \"b\"\n+     \"c\"\n    ],\n    \"Effect\": \"Allow\"\n  }"
    );
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
