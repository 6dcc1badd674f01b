//! Which cluster owns an instance, according to its tags, or why no cluster here can receive its events.

use std::sync::Arc;

use super::decision::DropReason;
use crate::model::{ClusterName, NamedCluster, Tags, instance, instance::is_of_karpenter};

/// An id that no instance has, which a heartbeat looks up. For this id, EC2 returns no tags and no error.
pub(super) const NO_INSTANCE: &str = "i-00000000000000000";
const AUTO_MODE: &str = "eks:kubernetes-node-pool-name";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InstanceOwner {
    /// The Karpenter of a cluster launched it. Instances of one node pool share this in the cache.
    Cluster(Arc<Placement>),
    /// It has tags, but no cluster here can receive its events.
    Foreign(DropReason),
    /// EC2 returned no tags. The instance may still belong to a cluster.
    NoTags,
}

/// What the tags of an instance say about its node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Placement {
    pub(super) cluster: ClusterName,
    /// Empty if it is unknown.
    pub(super) node_pool: String,
    pub(super) instance_type: Option<String>,
}

impl Placement {
    /// A cluster, for an event without an instance.
    pub(super) fn of(cluster: ClusterName) -> Self {
        Self { cluster, node_pool: String::new(), instance_type: None }
    }
}

pub(super) fn owner(tags: &Tags) -> InstanceOwner {
    if tags.0.is_empty() {
        return InstanceOwner::NoTags;
    }
    let why = match instance::cluster(tags) {
        _ if !is_of_karpenter(tags) && tags.get(AUTO_MODE).is_some() => DropReason::AutoMode,
        _ if !is_of_karpenter(tags) => DropReason::NoKarpenterMarker,
        NamedCluster::One(cluster) => {
            return InstanceOwner::Cluster(Arc::new(Placement {
                cluster,
                node_pool: instance::node_pool(tags),
                instance_type: instance::instance_type(tags),
            }));
        }
        NamedCluster::None => DropReason::NoClusterNamed,
        NamedCluster::Several => DropReason::AmbiguousCluster,
    };
    InstanceOwner::Foreign(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::instance::contradicts;

    fn of(tags: &[(&str, &str)]) -> InstanceOwner {
        owner(&tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn tags_tell_the_node_pool_and_perhaps_the_type() {
        let (v1, long) = (("eks:eks-cluster-name", "c"), "x".repeat(64));
        let kind = "node.kubernetes.io/instance-type";
        for (tags, pool, instance_type) in [
            (vec![("karpenter.sh/nodepool", "a"), ("karpenter.sh/provisioner-name", "b")], "a", None),
            (vec![("karpenter.sh/provisioner-name", "b"), (kind, "m7g.large")], "b", Some("m7g.large")),
            (vec![("karpenter.sh/nodepool", long.as_str()), (kind, "a b")], "", None),
            (vec![("karpenter.sh/nodepool", "")], "", None),
        ] {
            let InstanceOwner::Cluster(placement) = of(&[&tags[..], &[v1]].concat()) else { panic!("{tags:?}") };
            assert_eq!((placement.node_pool.as_str(), placement.instance_type.as_deref()), (pool, instance_type));
        }
    }

    #[test]
    fn tags_of_every_karpenter_version_name_the_cluster() {
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
        let [eks, group] = [("eks:cluster-name", "a"), ("eks:nodegroup-name", "n")];
        let cluster = |name: &str| Ok(name.parse().unwrap());
        for (what, tags, owner) in [
            ("v0.27", vec![owned, provisioner], cluster("a")),
            ("v0.28", vec![owned, provisioner, managed], cluster("m")),
            ("v0.32", vec![owned, pool, managed, class], cluster("m")),
            ("v1.0", vec![owned, pool, v1, class], cluster("v1")),
            ("AWS's own tag over all", vec![owned, other, pool, v1, managed, joined], cluster("j")),
            ("v1 over what others may write", vec![owned, other, pool, v1, managed], cluster("v1")),
            ("managed-by over owned", vec![owned, pool, managed], cluster("m")),
            ("joined over owned", vec![owned, pool, joined], cluster("j")),
            ("joined alone", vec![pool, joined], cluster("j")),
            ("shared is not owned", vec![owned, shared, pool], cluster("a")),
            ("two owners", vec![owned, other, pool], Err(DropReason::AmbiguousCluster)),
            ("two owners, joined", vec![owned, other, pool, joined], cluster("j")),
            ("only shared", vec![shared, pool], Err(DropReason::NoClusterNamed)),
            ("no cluster", vec![pool], Err(DropReason::NoClusterNamed)),
            ("a name that EKS refuses", vec![("eks:eks-cluster-name", "a b"), owned, pool], cluster("a")),
            ("an empty name", vec![("karpenter.sh/managed-by", ""), owned, pool], cluster("a")),
            ("a managed node group", vec![eks, group, owned, joined], Err(DropReason::NoKarpenterMarker)),
            ("nothing of a cluster", vec![("Name", "x")], Err(DropReason::NoKarpenterMarker)),
            ("Auto Mode", vec![v1, auto, joined], Err(DropReason::AutoMode)),
            ("Auto Mode's tag on Karpenter's", vec![v1, auto, pool], cluster("v1")),
            ("no tags", vec![], Err(DropReason::NoTagsSeen)),
        ] {
            let found = match of(&tags) {
                InstanceOwner::Cluster(placement) => Ok(placement.cluster.clone()),
                InstanceOwner::Foreign(why) => Err(why),
                InstanceOwner::NoTags => Err(DropReason::NoTagsSeen),
            };
            assert_eq!(found, owner, "{what}");
        }
    }

    #[test]
    fn only_a_cluster_other_than_the_one_of_aws_is_a_contradiction() {
        let joined = ("aws:eks:cluster-name", "a");
        for (tags, expected) in [
            (vec![joined], false),
            (vec![joined, ("eks:eks-cluster-name", "a"), ("karpenter.sh/managed-by", "a")], false),
            (vec![joined, ("kubernetes.io/cluster/a", "owned")], false),
            (vec![joined, ("kubernetes.io/cluster/b", "shared")], false),
            (vec![joined, ("kubernetes.io/cluster/b", "owned")], true),
            (vec![joined, ("eks:eks-cluster-name", "b")], true),
            (vec![joined, ("karpenter.sh/managed-by", "b")], true),
            (vec![("eks:eks-cluster-name", "a"), ("karpenter.sh/managed-by", "b")], false),
            (vec![], false),
        ] {
            let named = tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            assert_eq!(contradicts(&named), expected, "{tags:?}");
        }
    }
}
