//! What is sent: events of every kind, and what must become of each.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// What must become of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It reaches these clusters.
    Delivered(BTreeSet<usize>),
    /// It reaches a cluster while that has a queue, and is dropped as unregistered afterwards.
    Doomed(usize),
    /// It is dropped for this reason, and the router writes that down.
    Lost(&'static str),
    /// It is dropped for a reason that is only counted, by this metric.
    Ignored(&'static str),
    /// The queue of its cluster takes nothing: it becomes a dead letter.
    Refused,
}

/// An instance, and the tags that it has.
pub(super) struct Instance {
    pub id: String,
    pub tags: Vec<(String, String)>,
}

/// The events and instances of a storm. An event's number is all there is to know about it.
pub(super) struct Plan {
    pub clusters: usize,
    pub events: usize,
}

/// How many instances each cluster has.
const INSTANCES: usize = 3;
const ACCOUNT: &str = "000000000000";

impl Plan {
    pub(super) fn new(clusters: usize, events: usize) -> Self {
        assert!(
            clusters >= 4,
            "two of the clusters come to harm, and health events are about two others"
        );
        Self { clusters, events }
    }

    pub(super) fn cluster(&self, cluster: usize) -> String {
        format!("c{cluster}")
    }

    pub(super) fn queue(&self, cluster: usize) -> String {
        format!("karpenter-{}", self.cluster(cluster))
    }

    /// The last but one: its queue is deleted in the middle.
    pub(super) fn doomed_queue(&self) -> String {
        self.queue(self.clusters - 2)
    }

    /// The last: its queue takes nothing.
    pub(super) fn locked_queue(&self) -> String {
        self.queue(self.clusters - 1)
    }

    /// The queue of a name that a cluster would have, and that is not of this bus.
    pub(super) fn foreign_queue(&self) -> String {
        format!("karpenter-{}", Self::FOREIGN)
    }

    const FOREIGN: &str = "somebody-elses";
    const STRANGER: &str = "i-0000000000000f001";
    const AUTO_MODE: &str = "i-0000000000000f002";
    const AMBIGUOUS: &str = "i-0000000000000f003";
    const UNREGISTERED: &str = "i-0000000000000f004";
    const OF_FOREIGN: &str = "i-0000000000000f005";
    const UNKNOWN: &str = "i-0000000000000f006";

    fn instance(cluster: usize, number: usize) -> String {
        format!("i-{:017x}", 0x10_0000 + cluster * INSTANCES + number % INSTANCES)
    }

    /// Everything that is tagged.
    pub(super) fn instances(&self) -> Vec<Instance> {
        let pool = ("karpenter.sh/nodepool", "default");
        let one = |id: &str, tags: &[(&str, &str)]| Instance {
            id: id.to_owned(),
            tags: tags
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let of = |id: &str, cluster: &str| {
            let owned = format!("kubernetes.io/cluster/{cluster}");
            one(id, &[pool, (&owned, "owned"), ("eks:eks-cluster-name", cluster)])
        };
        let mut all: Vec<Instance> = (0..self.clusters)
            .flat_map(|cluster| (0..INSTANCES).map(move |number| (cluster, number)))
            .map(|(cluster, number)| of(&Self::instance(cluster, number), &self.cluster(cluster)))
            .collect();
        all.extend([
            one(Self::STRANGER, &[("Name", "web")]),
            one(
                Self::AUTO_MODE,
                &[
                    ("eks:kubernetes-node-pool-name", "general"),
                    ("eks:eks-cluster-name", "c0"),
                ],
            ),
            one(
                Self::AMBIGUOUS,
                &[
                    pool,
                    ("kubernetes.io/cluster/c0", "owned"),
                    ("kubernetes.io/cluster/c1", "owned"),
                ],
            ),
            of(Self::UNREGISTERED, "nobody-registered"),
            of(Self::OF_FOREIGN, Self::FOREIGN),
        ]);
        all
    }

    /// What must become of an event. Of a hundred events, 70 are about one cluster, 10 about two, 6 about one of the
    /// two that come to harm, two are probes that go through the event bus, and the rest is nobody's.
    pub(super) fn fate(&self, event: usize) -> Fate {
        let healthy = self.clusters - 2;
        // Neither the kind nor the place in a batch should decide about the cluster.
        let cluster = (event / 100 * 31 + event % 100 * 7) % healthy;
        match event % 100 {
            0..70 => Fate::Delivered(BTreeSet::from([cluster])),
            70..80 => Fate::Delivered(BTreeSet::from([cluster, (cluster + 1) % healthy])),
            80..84 => Fate::Doomed(self.clusters - 2),
            84..86 => Fate::Refused,
            86..88 => Fate::Delivered(BTreeSet::from([cluster])),
            88 | 89 => Fate::Ignored("DroppedNotForKarpenter"),
            90 | 91 => Fate::Ignored("DroppedNoKarpenterMarker"),
            92 => Fate::Ignored("DroppedAutoMode"),
            93 => Fate::Ignored("DroppedOtherAccount"),
            94 => Fate::Ignored("DroppedOtherRegion"),
            95 => Fate::Lost("ambiguous cluster"),
            96 => Fate::Lost("unregistered"),
            97 => Fate::Lost("queue not ours"),
            98 => Fate::Lost("no tags seen"),
            _ => Fate::Lost("not an event"),
        }
    }

    /// Whether an event is put on the event bus; EC2's own cannot be.
    pub(super) fn is_probe(event: usize) -> bool {
        matches!(event % 100, 86 | 87)
    }

    /// An event's number, if this is one of the storm.
    pub(super) fn number(body: &Value) -> Option<usize> {
        let id = body["detail"]["storm"]
            .as_u64()
            .or_else(|| body["id"].as_str()?.parse().ok())?;
        usize::try_from(id).ok()
    }

    /// The instances that an event names.
    pub(super) fn named(&self, event: usize) -> Vec<String> {
        let ids = |clusters: Vec<usize>| {
            clusters
                .into_iter()
                .map(|cluster| Self::instance(cluster, event))
                .collect()
        };
        match (self.fate(event), event % 100) {
            (Fate::Delivered(clusters), _) => ids(clusters.into_iter().collect()),
            (Fate::Doomed(cluster), _) => ids(vec![cluster]),
            (Fate::Refused, _) => ids(vec![self.clusters - 1]),
            (Fate::Ignored(_), 90 | 91) => vec![Self::STRANGER.to_owned()],
            (Fate::Ignored(_), 92) => vec![Self::AUTO_MODE.to_owned()],
            (Fate::Lost(_), 95) => vec![Self::AMBIGUOUS.to_owned()],
            (Fate::Lost(_), 96) => vec![Self::UNREGISTERED.to_owned()],
            (Fate::Lost(_), 97) => vec![Self::OF_FOREIGN.to_owned()],
            (Fate::Lost(_), 98) => vec![Self::UNKNOWN.to_owned()],
            _ => ids(vec![0]),
        }
    }

    /// Whether this is what a queue should get of an event, if it should get one: a copy that names the instances of
    /// its own cluster only.
    pub(super) fn is_copy(&self, event: usize, queue: &str, copy: &Value) -> bool {
        if Self::is_probe(event) {
            return true;
        }
        let entities = copy["detail"]["affectedEntities"].as_array();
        let named: Vec<&str> = match entities {
            Some(entities) => entities
                .iter()
                .filter_map(|entity| entity["entityValue"].as_str())
                .collect(),
            None => copy["detail"]["instance-id"].as_str().into_iter().collect(),
        };
        let cluster = (0..self.clusters).find(|cluster| self.queue(*cluster) == queue);
        cluster.is_some_and(|cluster| named == [Self::instance(cluster, event)])
    }

    /// The body of an event, as EC2 or AWS Health would have it.
    pub(super) fn body(&self, event: usize) -> String {
        let kind = event % 100;
        if kind == 99 {
            // It has no way to say its number but its text.
            return format!("this is no event: {event}");
        }
        let ids = self.named(event);
        let (source, detail_type, detail) = match kind {
            70..80 => ("aws.health", "AWS Health Event", Self::health(&ids)),
            86 | 87 => {
                let Fate::Delivered(clusters) = self.fate(event) else {
                    unreachable!("a probe is delivered")
                };
                let cluster = clusters.first().map(|cluster| self.cluster(*cluster));
                (
                    "kibus.probe",
                    "Kibus Probe",
                    json!({"cluster": cluster, "storm": event}),
                )
            }
            88 | 89 => (
                "aws.ec2",
                "EC2 Instance State-change Notification",
                json!({"instance-id": ids[0], "state": "running"}),
            ),
            _ if kind % 3 == 1 => (
                "aws.ec2",
                "EC2 Spot Instance Interruption Warning",
                json!({"instance-id": ids[0], "instance-action": "terminate"}),
            ),
            _ => (
                "aws.ec2",
                "EC2 Instance State-change Notification",
                json!({"instance-id": ids[0], "state": "stopping"}),
            ),
        };
        json!({
            "version": "0",
            "id": event.to_string(),
            "detail-type": detail_type,
            "source": source,
            "account": if kind == 93 { "999999999999" } else { ACCOUNT },
            "time": "2026-11-20T14:02:31Z",
            "region": if kind == 94 { "eu-central-1" } else { "us-west-2" },
            "resources": ids.iter().map(|id| format!("arn:aws:ec2:us-west-2:{ACCOUNT}:instance/{id}")).collect::<Vec<_>>(),
            "detail": detail,
        })
        .to_string()
    }

    fn health(ids: &[String]) -> Value {
        let entities: Vec<Value> = ids
            .iter()
            .map(|id| json!({"entityValue": id, "status": "PENDING"}))
            .collect();
        json!({
            "service": "EC2",
            "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
            "eventTypeCategory": "scheduledChange",
            "eventRegion": "us-west-2",
            "affectedAccount": ACCOUNT,
            "affectedEntities": entities,
            "page": "1",
            "totalPages": "1",
        })
    }
}
