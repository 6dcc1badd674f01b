//! EC2 instances, and what Karpenter's tags say about them. docs/concepts.md has the keys of each Karpenter version.

use super::name::{ClusterName, InstanceId};
use super::tags::Tags;

const CLUSTER_V1: &str = "eks:eks-cluster-name";
const MANAGED_BY: &str = "karpenter.sh/managed-by";
/// The tag of Kubernetes, up to the name of the cluster. Every Karpenter sets it.
const KUBERNETES_CLUSTER: &str = "kubernetes.io/cluster/";
/// EKS sets it when an instance joins a cluster, and no one else can.
pub const JOINED: &str = "aws:eks:cluster-name";
const KARPENTER: [&str; 2] = ["karpenter.sh/nodepool", "karpenter.sh/provisioner-name"];
const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// The longest value of a label in Kubernetes. Karpenter sets the same names as labels of the node.
const LABEL: usize = 63;

/// An instance, as EC2 describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    pub id: InstanceId,
    /// Its private DNS name; empty if it has none.
    pub host: String,
    pub instance_type: String,
    pub zone: String,
    /// The state as EC2 names it, like `running`.
    pub state: String,
    pub is_spot: bool,
    /// When it was launched, in RFC 3339.
    pub launched: String,
    pub tags: Tags,
}

/// What tags say about the cluster of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedCluster {
    One(ClusterName),
    None,
    /// Only the Kubernetes tag names clusters, and it names several.
    Several,
}

/// Whether a Karpenter launched the instance with these tags.
pub fn is_of_karpenter(tags: &Tags) -> bool {
    KARPENTER.iter().any(|key| tags.get(key).is_some())
}

/// The cluster that owns the instance with these tags.
pub fn cluster(tags: &Tags) -> NamedCluster {
    let mut owned = owned(tags);
    // Only AWS can write the first. Anyone who can tag instances can write the others.
    let named = [JOINED, CLUSTER_V1, MANAGED_BY].iter().find_map(|key| named(tags, key));
    match (named, owned.len()) {
        (Some(cluster), _) => NamedCluster::One(cluster),
        (None, 1) => NamedCluster::One(owned.remove(0)),
        (None, 0) => NamedCluster::None,
        (None, _) => NamedCluster::Several,
    }
}

/// The cluster that the instance with these tags has joined, as only AWS can say.
pub fn joined(tags: &Tags) -> Option<ClusterName> {
    named(tags, JOINED)
}

/// The node pool, or the provisioner of a Karpenter before v0.32; empty if no tag has a name that Kubernetes accepts.
pub fn node_pool(tags: &Tags) -> String {
    KARPENTER.iter().find_map(|key| label(tags, key)).unwrap_or_default()
}

/// Karpenter itself sets no such tag, but a node class can.
pub fn instance_type(tags: &Tags) -> Option<String> {
    label(tags, INSTANCE_TYPE)
}

/// The value of a tag, if it is a valid Kubernetes label value: anyone who can tag instances decides what is logged and kept.
fn label(tags: &Tags, key: &str) -> Option<String> {
    let value = tags.get(key)?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_label = (1..=LABEL).contains(&value.len()) && value.bytes().all(fits);
    is_label.then(|| value.to_owned())
}

/// Whether a tag names a different cluster than the tag that only AWS can write.
pub fn contradicts(tags: &Tags) -> bool {
    let Some(joined) = joined(tags) else {
        return false;
    };
    let others = [named(tags, CLUSTER_V1), named(tags, MANAGED_BY)].into_iter().flatten().chain(owned(tags));
    others.into_iter().any(|other| other != joined)
}

/// The cluster that a tag names, if EKS accepts the name.
fn named(tags: &Tags, key: &str) -> Option<ClusterName> {
    tags.get(key)?.parse().ok()
}

/// The clusters that own the instance according to the Kubernetes tag.
fn owned(tags: &Tags) -> Vec<ClusterName> {
    let owned = tags.0.iter().filter(|(_, value)| *value == "owned");
    owned.filter_map(|(key, _)| key.strip_prefix(KUBERNETES_CLUSTER)?.parse().ok()).collect()
}
