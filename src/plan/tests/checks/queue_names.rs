//! The names that queues may have, and the prefix that they begin with.

use std::collections::BTreeSet;

use crate::model::name::ClusterName;
use crate::model::options::HubOptions;
use crate::model::scope::tests::scope_in;
use crate::plan::tests::Bench;
use crate::plan::{check_empty_prefix, check_prefix, check_queue_name};

#[test]
fn a_cluster_cannot_take_a_name_of_the_hub() {
    let bench = Bench::new();
    for (prefix, cluster, taken) in [
        ("", "kibus-hub", false),
        ("", "kibus-hub-dlq", false),
        ("kibus-", "probe", false),
        ("karpenter-", "kibus-hub", true),
        ("", "kibus", true),
    ] {
        let cluster: ClusterName = cluster.parse().unwrap();
        let queue = bench.scope.cluster_queue(&prefix.parse().unwrap(), &cluster);
        let checked = check_queue_name(&bench.scope, &cluster, &queue).map_err(|refusal| refusal.to_string());
        let refusal = format!("the queue of cluster `{cluster}` would be `{queue}`, which is a queue of the hub");
        assert_eq!(checked, if taken { Ok(()) } else { Err(refusal) });
    }
}

#[test]
fn the_prefix_stays_while_clusters_are_registered() {
    let prefix = |prefix: Option<&str>| HubOptions {
        queue_prefix: prefix.map(|prefix| prefix.parse().unwrap()),
        ..HubOptions::default()
    };
    for (name, before, after, clusters, taken) in [
        ("no cluster", None, Some("x-"), vec![], true),
        ("a cluster", None, Some("x-"), vec!["base", "a"], false),
        ("the default by name", None, Some("karpenter-"), vec!["base"], true),
        ("to none", Some("x-"), Some(""), vec!["base"], false),
        ("back to the default", Some("x-"), None, vec!["base"], false),
        ("the same", Some("x-"), Some("x-"), vec!["base"], true),
    ] {
        let registered: BTreeSet<ClusterName> = clusters.iter().map(|name| name.parse().unwrap()).collect();
        let checked = check_prefix(&prefix(before), &prefix(after), registered);
        assert_eq!(checked.is_ok(), taken, "{name}");
        if let Err(refusal) = checked {
            assert!(refusal.to_string().contains("`base`"), "{name}: {refusal}");
        }
    }
}

#[test]
fn the_prefix_is_empty_only_where_tags_tell_queues_apart() {
    for (region, prefix, taken) in [
        ("us-west-2", "", true),
        ("eu-south-1", "", true),
        ("eu-south-2", "", false),
        ("ap-south-2", "", false),
        ("eu-south-2", "karpenter-", true),
    ] {
        let checked = check_empty_prefix(&scope_in("aws", region), &prefix.parse().unwrap());
        assert_eq!(checked.is_ok(), taken, "{region} `{prefix}`");
    }
}
