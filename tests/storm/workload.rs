//! The events of a storm: their instances, their bodies and their expected results.

use std::collections::BTreeSet;

use kibus::model::{Scope, Signal, sample_event};
use serde_json::{Value, json};

use crate::permissions;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExpectedResult {
    Delivered(BTreeSet<usize>),
    Probed,
    /// It is delivered while the cluster has its queue, and later dropped as unregistered.
    Doomed(usize),
    /// It is dropped for this reason, and the router logs it.
    Lost(&'static str),
    /// It is dropped for a reason that only this metric counts.
    Ignored(&'static str),
    /// The queue of its cluster denies every message, so it becomes a dead letter.
    Refused,
}

pub(super) struct TaggedInstance {
    pub id: String,
    pub tags: Vec<(String, String)>,
}

/// The events and instances of a storm. The number of an event determines everything about it.
pub(super) struct Workload {
    pub clusters: usize,
    pub events: usize,
}

const INSTANCES: usize = 3;
const ACCOUNT: &str = "000000000000";

impl Workload {
    pub(super) fn new(clusters: usize, events: usize) -> Self {
        assert!(clusters >= 4, "two clusters have faulty queues, and health events name two others");
        Self { clusters, events }
    }

    pub(super) fn cluster(&self, cluster: usize) -> String {
        format!("c{cluster}")
    }

    pub(super) fn queue(&self, cluster: usize) -> String {
        format!("karpenter-{}", self.cluster(cluster))
    }

    /// The queue that is deleted in the middle of the storm.
    pub(super) fn doomed_queue(&self) -> String {
        self.queue(self.clusters - 2)
    }

    /// The queue that denies every message.
    pub(super) fn locked_queue(&self) -> String {
        self.queue(self.clusters - 1)
    }

    /// A queue that is named like a cluster queue but is not on this bus.
    pub(super) fn foreign_queue(&self) -> String {
        format!("karpenter-{}", Self::FOREIGN)
    }

    /// The queue for probes that name no cluster.
    pub(super) const PROBE_QUEUE: &str = "kibus-probe";
    const FOREIGN: &str = "not-on-this-bus";
    const STRANGER: &str = "i-0000000000000f001";
    const AUTO_MODE: &str = "i-0000000000000f002";
    const AMBIGUOUS: &str = "i-0000000000000f003";
    const UNREGISTERED: &str = "i-0000000000000f004";
    const OF_FOREIGN: &str = "i-0000000000000f005";
    const UNKNOWN: &str = "i-0000000000000f006";

    fn instance(cluster: usize, number: usize) -> String {
        format!("i-{:017x}", 0x10_0000 + cluster * INSTANCES + number % INSTANCES)
    }

    pub(super) fn instances(&self) -> Vec<TaggedInstance> {
        let pool = ("karpenter.sh/nodepool", "default");
        let one = |id: &str, tags: &[(&str, &str)]| TaggedInstance {
            id: id.to_owned(),
            tags: tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        };
        let of = |id: &str, cluster: &str| {
            let owned = format!("kubernetes.io/cluster/{cluster}");
            one(id, &[pool, (&owned, "owned"), ("eks:eks-cluster-name", cluster)])
        };
        let mut all: Vec<TaggedInstance> = (0..self.clusters)
            .flat_map(|cluster| (0..INSTANCES).map(move |number| (cluster, number)))
            .map(|(cluster, number)| of(&Self::instance(cluster, number), &self.cluster(cluster)))
            .collect();
        all.extend([
            one(Self::STRANGER, &[("Name", "web")]),
            one(Self::AUTO_MODE, &[("eks:kubernetes-node-pool-name", "general"), ("eks:eks-cluster-name", "c0")]),
            one(Self::AMBIGUOUS, &[pool, ("kubernetes.io/cluster/c0", "owned"), ("kubernetes.io/cluster/c1", "owned")]),
            of(Self::UNREGISTERED, "nobody-registered"),
            of(Self::OF_FOREIGN, Self::FOREIGN),
        ]);
        all
    }

    /// The expected result of an event. Of a hundred events, 70 are for one cluster, 10 for two, 6 for one of the two
    /// with faulty queues, two are probes through the event bus, and the rest is dropped.
    pub(super) fn expected(&self, event: usize) -> ExpectedResult {
        let healthy = self.clusters - 2;
        // The cluster should not depend on the kind of event or its place in a batch.
        let cluster = (event / 100 * 31 + event % 100 * 7) % healthy;
        match event % 100 {
            0..70 => ExpectedResult::Delivered(BTreeSet::from([cluster])),
            70..80 => ExpectedResult::Delivered(BTreeSet::from([cluster, (cluster + 1) % healthy])),
            80..84 => ExpectedResult::Doomed(self.clusters - 2),
            84..86 => ExpectedResult::Refused,
            86..88 => ExpectedResult::Probed,
            88 | 89 => ExpectedResult::Ignored("DroppedNotForKarpenter"),
            90 | 91 => ExpectedResult::Ignored("DroppedNoKarpenterMarker"),
            92 => ExpectedResult::Ignored("DroppedAutoMode"),
            93 => ExpectedResult::Ignored("DroppedOtherAccount"),
            94 => ExpectedResult::Ignored("DroppedOtherRegion"),
            95 => ExpectedResult::Lost("ambiguous cluster"),
            96 => ExpectedResult::Lost("unregistered"),
            97 => ExpectedResult::Lost("queue not ours"),
            98 => ExpectedResult::Lost("no tags seen"),
            _ => ExpectedResult::Lost("not an event"),
        }
    }

    /// Whether an event is put on the event bus. AWS does not allow that for its own events.
    pub(super) fn is_probe(event: usize) -> bool {
        matches!(event % 100, 86 | 87)
    }

    /// The number of an event, if it belongs to the storm.
    pub(super) fn number(body: &Value) -> Option<usize> {
        let id = body["detail"]["storm"].as_u64().or_else(|| body["id"].as_str()?.parse().ok())?;
        usize::try_from(id).ok()
    }

    pub(super) fn named(&self, event: usize) -> Vec<String> {
        let ids = |clusters: Vec<usize>| clusters.into_iter().map(|cluster| Self::instance(cluster, event)).collect();
        match (self.expected(event), event % 100) {
            (ExpectedResult::Delivered(clusters), _) => ids(clusters.into_iter().collect()),
            (ExpectedResult::Doomed(cluster), _) => ids(vec![cluster]),
            (ExpectedResult::Refused, _) => ids(vec![self.clusters - 1]),
            (ExpectedResult::Ignored(_), 90 | 91) => vec![Self::STRANGER.to_owned()],
            (ExpectedResult::Ignored(_), 92) => vec![Self::AUTO_MODE.to_owned()],
            (ExpectedResult::Lost(_), 95) => vec![Self::AMBIGUOUS.to_owned()],
            (ExpectedResult::Lost(_), 96) => vec![Self::UNREGISTERED.to_owned()],
            (ExpectedResult::Lost(_), 97) => vec![Self::OF_FOREIGN.to_owned()],
            (ExpectedResult::Lost(_), 98) => vec![Self::UNKNOWN.to_owned()],
            _ => ids(vec![0]),
        }
    }

    /// Whether this is the correct copy of an event for a queue: it names the instances of that cluster only.
    pub(super) fn is_copy(&self, event: usize, queue: &str, copy: &Value) -> bool {
        if Self::is_probe(event) {
            return true;
        }
        let entities = copy["detail"]["affectedEntities"].as_array();
        let named: Vec<&str> = match entities {
            Some(entities) => entities.iter().filter_map(|entity| entity["entityValue"].as_str()).collect(),
            None => copy["detail"]["instance-id"].as_str().into_iter().collect(),
        };
        let cluster = (0..self.clusters).find(|cluster| self.queue(*cluster) == queue);
        cluster.is_some_and(|cluster| named == [Self::instance(cluster, event)])
    }

    pub(super) fn body(&self, event: usize) -> String {
        let kind = event % 100;
        if kind == 99 {
            // Only its text can carry its number.
            return format!("this is no event: {event}");
        }
        let ids = self.named(event);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let mut body = match kind {
            70..80 => sample_event(&scope(), Signal::ScheduledChange, &ids),
            86 | 87 => {
                let mut body = sample_event(&scope(), Signal::Probe, &[]);
                body["detail"]["storm"] = json!(event);
                body
            }
            _ if kind % 3 == 1 && !matches!(kind, 88 | 89) => sample_event(&scope(), Signal::SpotInterruption, &ids),
            _ => sample_event(&scope(), Signal::StateChange, &ids),
        };
        body["id"] = json!(event.to_string());
        match kind {
            88 | 89 => body["detail"]["state"] = json!("running"),
            93 => body["account"] = json!("999999999999"),
            94 => body["region"] = json!("eu-central-1"),
            _ => {}
        }
        body.to_string()
    }
}

fn scope() -> Scope {
    Scope { account: ACCOUNT.parse().unwrap(), ..permissions::scope() }
}
