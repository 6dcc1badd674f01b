//! A rule of each tool, as it names it, and the way to remove it.

use super::*;
use crate::model::scope::tests::scope;

/// A rule of each tool, as it names it: rule, target, queue, tags, and what is found.
#[test]
fn each_tool_is_recognized() {
    use Origin::{
        ByHand, CdkEksBlueprints, CdkEksKarpenter, CloudFormation, CloudPosse, EksBlueprintsAddons, Eksctl,
        NodeTerminationHandler, TerraformAwsEks, Unknown,
    };
    const T: &str = TEMPLATE_TARGET;
    let cluster_tag = &[(CLUSTER_NAME, "base")][..];
    for (rule, target, queue, tags, origin, cluster, stack) in [
        (
            "Karpenter-base-SpotInterruptionRule-1A2B3C4D5E6F",
            T,
            "base",
            &[][..],
            CloudFormation,
            "base",
            "Karpenter-base",
        ),
        ("Karpenter-base-ScheduledChangeRule-1A2B", T, "base", &[], CloudFormation, "base", "Karpenter-base"),
        (
            "Karpenter-base-CapacityReservationInterruptionRule-1A2B",
            T,
            "base",
            &[],
            CloudFormation,
            "base",
            "Karpenter-base",
        ),
        ("my-stack-RebalanceRule-1A2B", T, "base", &[], CloudFormation, "base", "my-stack"),
        ("cut-RebalanceRule-1A2B", T, "base", &[(STACK_NAME, "long")], CloudFormation, "base", "long"),
        ("eksctl-base-karpenter-InstanceStateChangeRule-1A2B", T, "base", &[], Eksctl, "base", "eksctl-base-karpenter"),
        (
            "eksctl-bas-RebalanceRule-1A2B",
            T,
            "base",
            &[(STACK_NAME, "eksctl-base-karpenter")],
            Eksctl,
            "base",
            "eksctl-base-karpenter",
        ),
        ("KarpenterHealthEvent-base", T, "Karpenter-base", &[], TerraformAwsEks, "base", ""),
        ("KarpenterSpotInterrupt-base-2023", T, "Karpenter-base", &[], TerraformAwsEks, "base", ""),
        ("KarpenterInstanceRebalance-2024", T, "Karpenter-base", cluster_tag, TerraformAwsEks, "base", ""),
        ("KarpenterCRInterruption-2024", T, "Karpenter-base", cluster_tag, TerraformAwsEks, "base", ""),
        ("KarpenterInstanceStateChange-2024", T, "spot-events", cluster_tag, TerraformAwsEks, "base", ""),
        ("teamHealthEvent-2024", T, "Karpenter-x", &[], TerraformAwsEks, "", ""),
        ("eks-KarpenterSpotInterruptionRuleAB12CD34-1A2B", "Target0", "base", &[], CdkEksKarpenter, "base", ""),
        ("blueprint-spotinterruptionruleAB12CD34-1A2B", "Target0", "blueprint", &[], CdkEksBlueprints, "", ""),
        ("blueprint-inststatechangeruleAB12CD34-1A2B", "Target0", "blueprint", &[], CdkEksBlueprints, "", ""),
        (
            "Karpenter-SpotInterrupt-2023",
            "KarpenterQueueTarget",
            "karpenter-base",
            cluster_tag,
            EksBlueprintsAddons,
            "base",
            "",
        ),
        ("Karpenter-HealthEvent-2023", "KarpenterQueueTarget", "karpenter-base", &[], EksBlueprintsAddons, "base", ""),
        ("acme-use1-prod-karpenter-HealthEvent", T, "acme-use1-prod-karpenter", &[], CloudPosse, "", ""),
        ("karpenter-spot-interruption", "karpenter-sqs", "karpenter-base", &[], ByHand, "base", ""),
        ("karpenter-scheduled-change", "karpenter-sqs", "karpenter-base", &[], ByHand, "base", ""),
        ("k8s.example.com-SpotInterruption", "1", "k8s-example-com-nth", &[], NodeTerminationHandler, "", ""),
        ("MyK8sSpotTermRule", "1", "MyK8sTermQueue", &[], NodeTerminationHandler, "", ""),
        ("spot", "1", "karpenter-base", &[], Unknown, "base", ""),
        ("spot", "1", "Karpenter-base", &[], Unknown, "base", ""),
        ("spot", "1", "spot-events", &[], Unknown, "", ""),
        ("spot", "1", "karpenter-", &[], Unknown, "", ""),
    ] {
        let tags: Tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let found = attribution(&rule.parse().unwrap(), target, &queue.parse().unwrap(), &[&Tags::default(), &tags]);
        assert_eq!(found.origin, origin, "{rule}");
        assert_eq!(found.cluster, cluster.parse().ok(), "{rule}");
        assert_eq!(found.stack.unwrap_or_default(), stack, "{rule}");
    }
}

#[test]
fn each_tool_has_its_own_way() {
    let rule: RuleName = "spot".parse().unwrap();
    for (origin, stacks, way, has_command) in [
        (Origin::CloudFormation, &["Karpenter-base"][..], "template of stack `Karpenter-base`", false),
        (Origin::CloudFormation, &[], "template of their stack", false),
        (Origin::Eksctl, &["eksctl-base-karpenter"], "template of stack `eksctl-base-karpenter`", false),
        (Origin::CdkEksKarpenter, &[], "tryRemoveChild", false),
        (Origin::CdkEksBlueprints, &[], "interruptionHandling: false", false),
        (Origin::TerraformAwsEks, &[], "enable_spot_termination = false", false),
        (Origin::EksBlueprintsAddons, &[], "karpenter_enable_spot_termination = false", false),
        (Origin::CloudPosse, &[], "interruption_handler_enabled = false", false),
        (Origin::ByHand, &[], "delete them:", true),
        (Origin::Unknown, &[], "where they were created", true),
    ] {
        let stacks = stacks.iter().map(ToString::to_string).collect();
        let rules = [(&rule, vec!["a target", "b"])];
        let hint = super::way(origin, &stacks, &rules, &scope(), &"q".parse().unwrap());
        assert!(hint.text.contains(way), "{}", hint.text);
        assert_eq!(hint.command.is_some(), has_command, "{origin:?}");
        if let Some(line) = hint.command {
            assert!(line.contains("--rule spot --ids 'a target' b\naws events delete-rule"), "{line}");
        }
    }
}
