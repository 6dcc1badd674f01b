//! Whose an instance is, as its tags say. The keys of each Karpenter version are in the reference.

use super::verdict::Drop;
use crate::model::name::ClusterName;
use crate::model::tags::Tags;

const CLUSTER_V1: &str = "eks:eks-cluster-name";
const MANAGED_BY: &str = "karpenter.sh/managed-by";
const KUBERNETES_CLUSTER: &str = "kubernetes.io/cluster/";
const JOINED: &str = "aws:eks:cluster-name";
const KARPENTER: [&str; 2] = ["karpenter.sh/nodepool", "karpenter.sh/provisioner-name"];
const AUTO_MODE: &str = "eks:kubernetes-node-pool-name";

/// Whose an instance is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The Karpenter of this cluster launched it.
    Cluster(ClusterName),
    /// It is seen, and nobody's that can be delivered to.
    Foreign(Drop),
    /// No tags are seen, which is no proof of anything.
    NoTags,
}

/// Whose the instance with these tags is.
#[must_use]
pub fn owner(tags: &Tags) -> Owner {
    if tags.0.is_empty() {
        return Owner::NoTags;
    }
    if !KARPENTER.iter().any(|key| tags.get(key).is_some()) {
        return Owner::Foreign(match tags.get(AUTO_MODE) {
            Some(_) => Drop::AutoMode,
            None => Drop::NoKarpenterMarker,
        });
    }
    let named = |key: &str| tags.get(key)?.parse::<ClusterName>().ok();
    let mut owning = tags
        .0
        .iter()
        .filter(|(_, value)| *value == "owned")
        .filter_map(|(key, _)| key.strip_prefix(KUBERNETES_CLUSTER)?.parse::<ClusterName>().ok());
    let (first, second) = (owning.next(), owning.next());
    let ambiguous = second.is_some();
    let only = first.filter(|_| !ambiguous);
    named(CLUSTER_V1)
        .or_else(|| named(MANAGED_BY))
        .or(only)
        .or_else(|| named(JOINED))
        .map_or_else(
            || {
                Owner::Foreign(if ambiguous {
                    Drop::AmbiguousCluster
                } else {
                    Drop::NoClusterNamed
                })
            },
            Owner::Cluster,
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tags: &[(&str, &str)]) -> Owner {
        owner(&tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn tags_of_every_era_name_the_cluster() {
        let pool = ("karpenter.sh/nodepool", "default");
        let provisioner = ("karpenter.sh/provisioner-name", "default");
        let class = ("karpenter.k8s.aws/ec2nodeclass", "default");
        let owned = ("kubernetes.io/cluster/a", "owned");
        let other = ("kubernetes.io/cluster/b", "owned");
        let shared = ("kubernetes.io/cluster/b", "shared");
        let v1 = ("eks:eks-cluster-name", "v1");
        let managed = ("karpenter.sh/managed-by", "m");
        let joined = ("aws:eks:cluster-name", "j");
        let auto = ("eks:kubernetes-node-pool-name", "general-purpose");
        let cluster = |name: &str| Owner::Cluster(name.parse().unwrap());
        for (what, tags, owner) in [
            ("v0.27", vec![owned, provisioner], cluster("a")),
            ("v0.28", vec![owned, provisioner, managed], cluster("m")),
            ("v0.32", vec![owned, pool, managed, class], cluster("m")),
            ("v1.0", vec![owned, pool, v1, class], cluster("v1")),
            (
                "v1 over all",
                vec![owned, other, pool, v1, managed, joined],
                cluster("v1"),
            ),
            (
                "managed-by over owned",
                vec![owned, pool, managed, joined],
                cluster("m"),
            ),
            ("owned over joined", vec![owned, pool, joined], cluster("a")),
            ("joined alone", vec![pool, joined], cluster("j")),
            ("shared is not owned", vec![owned, shared, pool], cluster("a")),
            (
                "two owners",
                vec![owned, other, pool],
                Owner::Foreign(Drop::AmbiguousCluster),
            ),
            ("two owners, joined", vec![owned, other, pool, joined], cluster("j")),
            ("only shared", vec![shared, pool], Owner::Foreign(Drop::NoClusterNamed)),
            ("no cluster", vec![pool], Owner::Foreign(Drop::NoClusterNamed)),
            (
                "a name that EKS refuses",
                vec![("eks:eks-cluster-name", "a b"), owned, pool],
                cluster("a"),
            ),
            (
                "an empty name",
                vec![("karpenter.sh/managed-by", ""), owned, pool],
                cluster("a"),
            ),
            (
                "a managed node group",
                vec![("eks:cluster-name", "a"), ("eks:nodegroup-name", "n"), owned, joined],
                Owner::Foreign(Drop::NoKarpenterMarker),
            ),
            (
                "nothing of a cluster",
                vec![("Name", "x")],
                Owner::Foreign(Drop::NoKarpenterMarker),
            ),
            ("Auto Mode", vec![v1, auto, joined], Owner::Foreign(Drop::AutoMode)),
            ("Auto Mode's tag on Karpenter's", vec![v1, auto, pool], cluster("v1")),
            ("no tags", vec![], Owner::NoTags),
        ] {
            assert_eq!(of(&tags), owner, "{what}");
        }
    }
}
