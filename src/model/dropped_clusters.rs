//! The clusters whose events the router dropped because they are not on its bus.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::name::ClusterName;

/// The reasons of these drops, as the router's log has them.
pub const REASONS: [&str; 2] = ["unregistered", "queue not ours"];

/// What the log of a router says of the last day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DroppedClusters {
    pub clusters: BTreeMap<ClusterName, DroppedEvents>,
    /// Whether all of the log was read.
    pub complete: bool,
}

/// The events of one cluster that were dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DroppedEvents {
    /// How many; an event about several instances counts for each.
    pub count: u64,
    /// The reason of the last.
    pub reason: &'static str,
}

impl DroppedClusters {
    /// Reads lines of the log, the oldest first. Those about something else do not count.
    pub fn read<'a>(lines: impl IntoIterator<Item = &'a str>, complete: bool) -> Self {
        let mut clusters: BTreeMap<ClusterName, DroppedEvents> = BTreeMap::new();
        for line in lines {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            let reason = REASONS.into_iter().find(|reason| line["reason"] == *reason);
            let cluster = line["cluster"].as_str().and_then(|name| name.parse().ok());
            if let (Some(reason), Some(cluster), true) = (reason, cluster, line["message"] == "dropped") {
                let events = clusters.entry(cluster).or_default();
                events.count += line["items"].as_u64().unwrap_or(1);
                events.reason = reason;
            }
        }
        Self { clusters, complete }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_drops_of_clusters_that_are_not_on_the_bus_count() {
        let line = |message: &str, reason: &str, cluster: &str, items: u64| {
            json!({"message": message, "reason": reason, "cluster": cluster, "items": items}).to_string()
        };
        let lines = [
            line("dropped", "unregistered", "lost", 2),
            line("dropped", "queue not ours", "lost", 1),
            line("retried", "unregistered", "retried", 1),
            line("dropped", "too large", "large", 1),
            line("dropped", "unregistered", "", 1),
            line("dropped", "unregistered", "no/cluster\u{1b}", 1),
            "START RequestId: 1".to_owned(),
        ];
        let read = DroppedClusters::read(lines.iter().map(String::as_str), true);
        let lost = DroppedEvents {
            count: 3,
            reason: "queue not ours",
        };
        assert_eq!(read.clusters, [("lost".parse().unwrap(), lost)].into());
    }
}
