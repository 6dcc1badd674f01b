//! The steps as a person reads them.

use std::collections::BTreeSet;

use super::*;

fn controllers(clusters: &[(&str, Option<&str>)]) -> Vec<ClusterSummary> {
    clusters
        .iter()
        .map(|(cluster, version)| ClusterSummary {
            name: cluster.parse().unwrap(),
            queue: format!("karpenter-{cluster}").parse().unwrap(),
            queue_arn: String::new(),
            controller_role: None,
            found_by: BTreeSet::new(),
            version: version.map(|version| version.parse().unwrap()),
        })
        .collect()
}

fn configured(clusters: &[(&str, Option<&str>)]) -> Vec<String> {
    by_version(&controllers(clusters))
        .into_iter()
        .map(|(version, group)| configure_version(version, &group, WIDTH, Some("kibus older")))
        .collect()
}

#[test]
fn a_current_karpenter_is_configured_by_a_helm_value() {
    let text = "\
Set the queue of Karpenter 1.6.3 in base in its Helm values:
    settings:
      interruptionQueue: karpenter-base
To apply it now, if its release is karpenter in kube-system:
    helm upgrade karpenter oci://public.ecr.aws/karpenter/karpenter --version 1.6.3 -n kube-system \\
      --reuse-values --set settings.interruptionQueue=karpenter-base
The older key settings.aws.interruptionQueueName is ignored silently by this version.";
    assert_eq!(configured(&[("base", Some("1.6.3"))]), [text]);
}

#[test]
fn an_old_karpenter_is_configured_by_its_config_map() {
    let text = "\
Set the queue of Karpenter 0.31.4 in base in its Helm values:
    settings:
      aws:
        interruptionQueueName: karpenter-base
To apply it now, without a Helm upgrade:
    kubectl patch configmap karpenter-global-settings -n karpenter --type merge \\
      -p '{\"data\":{\"aws.interruptionQueueName\":\"karpenter-base\"}}'
    kubectl rollout restart deployment karpenter -n karpenter
From v0.33 on this key is ignored silently; the key is settings.interruptionQueue.";
    assert_eq!(configured(&[("base", Some("0.31.4"))]), [text]);
}

#[test]
fn clusters_of_one_version_share_a_text() {
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
Karpenter before v0.33 is configured differently. To see how:
    kibus older";
    assert_eq!(configured(&[("base", None), ("tenant-1", None)]), [text]);
    let three = configured(&[("a", Some("0.32.1")), ("b", None), ("c", Some("0.32.1"))]);
    assert_eq!(three.len(), 2, "{three:#?}");
    assert!(three[1].contains("keep the second"), "{three:#?}");
}

#[test]
fn the_first_step_depends_on_the_version() {
    for (version, why, command) in [
        (Some("0.31.0"), "it logs an error", "aws.interruptionQueueName\":\"\""),
        (Some("0.32.1"), "it logs an error", "settings.interruptionQueue="),
        (Some("0.33.0"), "it panics", "--version v0.33.0"),
        (Some("1.3.2"), "it panics", "--version 1.3.2"),
        (Some("1.4.0"), "it logs an error", "--version 1.4.0"),
        (None, "v0.33 to v1.3 panics", "--version VERSION"),
    ] {
        let steps = release_queues(&controllers(&[("base", version), ("b", version)]), None);
        assert_eq!(steps.len(), 1);
        for part in [why, command, "in b, base:"] {
            let step = format!("{} {}", steps[0].text, steps[0].command.as_ref().unwrap());
            assert!(step.contains(part), "{version:?}: no `{part}` in {step}");
        }
    }
}
