//! Tags. They mark who owns a resource, and decide nothing else.

use std::collections::BTreeMap;
use std::time::Duration;

use super::name::{BusName, ClusterName};

/// Every tag key of kibus begins with this; a user's own tag must not.
pub const NAMESPACE: &str = "kibus:";
/// The bus that a resource belongs to. Its presence is ownership.
pub const BUS: &str = "kibus:bus";
/// The cluster that a queue serves.
pub const CLUSTER: &str = "kibus:cluster";
/// On a queue that is being deleted: when its delete was requested, in Unix seconds of AWS's clock. SQS may answer for
/// a deleted queue for up to a minute (SQS API reference, `DeleteQueue`).
pub const DELETING: &str = "kibus:deleting";
/// How long that mark counts. A queue that still exists after that was not deleted, whoever set the mark:
/// `sqs:TagQueue` is enough to set it. Terraform's provider gives up after the same time.
pub const MARK_COUNTS: Duration = Duration::from_secs(180);
/// The version of the router on the function.
pub const ROUTER_VERSION: &str = "kibus:router-version";
/// The SHA-256 of the archive that kibus uploaded to the function, in hex.
pub const ROUTER_SHA256: &str = "kibus:router-sha256";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(pub BTreeMap<String, String>);

impl Tags {
    pub fn of_bus(bus: &BusName) -> Self {
        Self(BTreeMap::from([(BUS.to_owned(), bus.to_string())]))
    }

    /// The two tags without which the router sends to no queue of a cluster.
    pub fn of_cluster(bus: &BusName, cluster: &ClusterName) -> Self {
        Self::of_bus(bus).with(CLUSTER, cluster.as_str())
    }

    /// These tags with one more.
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    pub fn with_all(mut self, more: &Self) -> Self {
        self.0.extend(more.0.iter().map(|(k, v)| (k.clone(), v.clone())));
        self
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    pub fn belong_to(&self, bus: &BusName) -> bool {
        self.get(BUS) == Some(bus.as_str())
    }

    /// The cluster that a queue with these tags serves, if the cluster is on that bus.
    pub fn cluster_of(&self, bus: &BusName) -> Option<ClusterName> {
        if !self.belong_to(bus) {
            return None;
        }
        self.get(CLUSTER)?.parse().ok()
    }

    /// Whether SQS may be deleting the queue with these tags, at the time `now` in Unix seconds: it counts as absent. A
    /// mark from the future or an unreadable mark counts as expired: kibus did not write it. Two runs may read AWS's
    /// clock some seconds apart.
    pub fn being_deleted(&self, now: u64) -> bool {
        const APART: u64 = 5;
        let since: Option<u64> = self.get(DELETING).and_then(|mark| mark.parse().ok());
        since.is_some_and(|since| since <= now + APART && now.saturating_sub(since) < MARK_COUNTS.as_secs())
    }
}

impl FromIterator<(String, String)> for Tags {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not one from the future, and none that is unreadable.
    #[test]
    fn s9_only_a_young_mark_counts() {
        let others = "1799999820 1 1800000006 18446744073709551615 -1 yes 99999999999999999999 ";
        for (marks, counts) in [("1800000000 1799999999 1799999821 1800000005", true), (others, false)] {
            for mark in marks.split(' ') {
                assert_eq!(Tags::default().with(DELETING, mark).being_deleted(1_800_000_000), counts, "{mark:?}");
            }
        }
        assert!(!Tags::default().being_deleted(1_800_000_000));
    }

    #[test]
    fn a_cluster_queue_is_known_by_both_tags() {
        let [kibus, other]: [BusName; 2] = ["kibus", "other"].map(|bus| bus.parse().unwrap());
        let tags = Tags::of_bus(&kibus).with(CLUSTER, "base");
        assert_eq!(tags.cluster_of(&kibus), Some("base".parse().unwrap()));
        assert_eq!(tags.cluster_of(&other), None);
        for tags in [Tags::of_bus(&kibus), Tags::default().with(CLUSTER, "base")] {
            assert_eq!(tags.cluster_of(&kibus), None);
        }
    }
}
