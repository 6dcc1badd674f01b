//! Which part of the bus each change belongs to.

use serde_json::json;

use super::Bench;
use crate::model::{Desired, Document, Fact, Observed, Resource, RolePolicy};
use crate::plan::ClusterOwners;
use crate::plan::plan;

#[test]
fn a_change_knows_its_owner() {
    let bench = Bench::new();
    let ids = bench.observed.iter().map(|(id, _)| id.clone());
    let absent: Observed = ids.map(|id| (id, Fact::Absent)).collect();
    let create = plan(&bench.scope, &bench.wanted(), &absent);
    for plan in [create, bench.teardown()] {
        let changes = plan.changes.iter();
        let mut of_clusters: Vec<String> =
            changes.filter_map(|change| Some(format!("cluster {} {}", change.cluster.as_ref()?, change.id))).collect();
        of_clusters.sort();
        assert_eq!(
            of_clusters,
            [
                "cluster base queue `karpenter-base`",
                "cluster base record `/kibus/kibus/clusters/base`",
                "cluster base role policy `controller/kibus.us-west-2.base`"
            ]
        );
    }
}

#[test]
fn a_policy_belongs_to_its_cluster_with_and_without_the_queue() {
    let bench = Bench::new();
    let owners = ClusterOwners::new(&bench.scope, &Desired::default(), &bench.observed);
    for (role, name, owner) in [
        ("controller", "kibus.us-west-2.base", Some("base")),
        ("controller", "kibus.us-west-2.gone", Some("gone")),
        ("kibus-router-us-west-2", "kibus-router-us-west-2", None),
        ("controller", "other", None),
    ] {
        let policy =
            RolePolicy { role: role.parse().unwrap(), name: name.parse().unwrap(), document: Document::new(json!({})) };
        let found = owners.cluster_of(&Resource::RolePolicy(policy));
        assert_eq!(found.as_ref().map(|cluster| cluster.as_str()), owner, "{name}");
    }
}
