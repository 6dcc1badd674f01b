//! The steps as a person reads them.

use std::collections::BTreeSet;

use super::*;

fn controllers(clusters: &[&str]) -> Vec<ClusterSummary> {
    clusters
        .iter()
        .map(|cluster| ClusterSummary {
            name: cluster.parse().unwrap(),
            queue: format!("karpenter-{cluster}").parse().unwrap(),
            queue_arn: String::new(),
            controller_role: None,
            external: false,
            damage: None,
            found_by: BTreeSet::new(),
        })
        .collect()
}

#[test]
fn one_cluster_is_configured_by_its_helm_value() {
    let text = "\
Set the queue of Karpenter in base in its Helm values:
    settings:
      interruptionQueue: karpenter-base
To apply it now, if its release is karpenter in kube-system, with the installed VERSION:
    helm upgrade karpenter oci://public.ecr.aws/karpenter/karpenter --version VERSION -n kube-system \\
      --reuse-values --set settings.interruptionQueue=karpenter-base
Before Karpenter v0.33, the key is settings.aws.interruptionQueueName.
Then check it:
    kibus check";
    assert_eq!(configure(&controllers(&["base"]), "kibus check", WIDTH), text);
}

#[test]
fn several_clusters_share_a_text() {
    let text = "\
Set the queue of Karpenter in its Helm values:
    settings:
      interruptionQueue: QUEUE
To apply it now, if its release is karpenter in kube-system, with the installed VERSION:
    helm upgrade karpenter oci://public.ecr.aws/karpenter/karpenter --version VERSION -n kube-system \\
      --reuse-values --set settings.interruptionQueue=QUEUE
with the QUEUE of each cluster:
    base       karpenter-base
    tenant-1   karpenter-tenant-1
Before Karpenter v0.33, the key is settings.aws.interruptionQueueName.
Then check it:
    kibus check";
    assert_eq!(configure(&controllers(&["tenant-1", "base"]), "kibus check", WIDTH), text);
}

#[test]
fn the_first_step_is_one_for_all_clusters() {
    let step = release_queues(&controllers(&["base", "b"]), None).unwrap();
    assert!(step.text.contains("in b, base:"), "{}", step.text);
    let command = step.command.unwrap();
    assert!(command.ends_with("--set settings.interruptionQueue="), "{command}");
    assert!(release_queues(&[], None).is_none());
}
