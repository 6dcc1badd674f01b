//! The dashboard of a bus.

use super::super::*;
use crate::model::{
    Ownership, Particulars,
    scope::tests::{scope, scope_in},
};

fn shown(options: HubOptions) -> Dashboard {
    dashboard(&scope(), &options)
}

/// All Regions of an account share the names, and another bus or Region must not take a dashboard for its own.
#[test]
fn a_dashboard_is_of_one_bus_in_one_region() {
    let dashboard = shown(HubOptions::default());
    assert_eq!(dashboard.name.as_str(), "kibus-hub-us-west-2");
    assert_eq!(
        scope().dashboard_arn(&dashboard.name),
        "arn:aws:cloudwatch::111122223333:dashboard/kibus-hub-us-west-2"
    );
    let other_bus = Scope { bus: "kib".parse().unwrap(), ..scope() };
    for (of, ours) in [(scope(), true), (scope_in("aws", "us-west-1"), false), (other_bus, false)] {
        assert_eq!(dashboard.ownership(&of), Ownership::Content(ours), "{of:?}");
    }
    let foreign = Dashboard { body: Document::new(json!({"widgets": []})), ..dashboard };
    assert_eq!(foreign.ownership(&scope()), Ownership::Content(false));
}

#[test]
fn a_dashboard_follows_the_metrics_of_the_hub() {
    let default = shown(HubOptions::default()).body.compact();
    assert!(default.contains(r#"NumberOfMessagesSent\" QueueName=karpenter'"#), "{default}");
    assert!(default.contains("switched off"), "{default}");
    let cluster_metrics = Some(ClusterMetrics::Cluster);
    let metrics = shown(HubOptions { cluster_metrics, heartbeat: Some(true), ..HubOptions::default() }).body.compact();
    assert!(metrics.contains("{Kibus,bus,cluster}") && !metrics.contains("QueueName=karpenter"), "{metrics}");
    assert!(metrics.contains("one every 5 minutes"), "{metrics}");
}

/// CloudWatch has a grid of 24 columns.
#[test]
fn no_widget_covers_another() {
    let dashboard = shown(HubOptions::default());
    let mut taken = std::collections::BTreeSet::new();
    for widget in dashboard.body.value()["widgets"].as_array().unwrap() {
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|side| widget[side].as_u64().unwrap());
        assert!(x + width <= 24, "{widget}");
        for cell in (x..x + width).flat_map(|x| (y..y + height).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "{widget}");
        }
    }
    assert_eq!(taken.len() % 24, 0, "a row has a gap");
}
