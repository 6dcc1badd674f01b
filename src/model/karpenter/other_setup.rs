//! What other tools set up for the interruption handling of a cluster's Karpenter: the usual names of its queue, and the
//! managed policies that may name it.

use crate::model::name::{ClusterName, QueueName};

/// The text before the cluster's name in the name of its queue:
///
/// - none: the CloudFormation template of Karpenter's getting-started guide (`QueueName: !Sub "${ClusterName}"`), and
///   eksctl with `withSpotInterruptionQueue` (`pkg/cfn/builder/karpenter.go`)
/// - `Karpenter-`: terraform-aws-modules/terraform-aws-eks (`modules/karpenter/main.tf`)
/// - `karpenter-`: aws-ia/terraform-aws-eks-blueprints-addons (`main.tf`, module `karpenter_sqs`); also the default of kibus
const USUAL_QUEUES: [&str; 3] = ["", "Karpenter-", "karpenter-"];

/// The policies of newer versions of Karpenter's CloudFormation template that name no queue. The permissions for the queue
/// are in `KarpenterControllerInterruptionPolicy-CLUSTER`, in older versions in `KarpenterControllerPolicy-CLUSTER`.
const WITHOUT_QUEUE: [&str; 5] = [
    "KarpenterControllerNodeLifecyclePolicy-",
    "KarpenterControllerIAMIntegrationPolicy-",
    "KarpenterControllerEKSIntegrationPolicy-",
    "KarpenterControllerResourceDiscoveryPolicy-",
    "KarpenterControllerZonalShiftPolicy-",
];

/// The usual names of the interruption queue of a cluster.
#[must_use]
pub fn usual_queues(cluster: &ClusterName) -> Vec<QueueName> {
    USUAL_QUEUES
        .iter()
        // A name that is too long for a queue cannot exist.
        .filter_map(|before| format!("{before}{cluster}").parse().ok())
        .collect()
}

/// Whether a managed policy, by its ARN, may name a cluster's queue. Policies of AWS name no queue of an account.
#[must_use]
pub fn may_name_a_queue(policy: &str) -> bool {
    let of_aws = policy.split(':').nth(4) == Some("aws");
    let name = policy_name(policy);
    !of_aws && !WITHOUT_QUEUE.iter().any(|start| name.starts_with(start))
}

/// The name in the ARN of a managed policy, without the path.
#[must_use]
pub fn policy_name(policy: &str) -> &str {
    policy.rsplit('/').next().unwrap_or(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_policies_of_the_account_that_may_name_a_queue_are_read() {
        for (arn, read) in [
            ("arn:aws:iam::111122223333:policy/KarpenterControllerPolicy-base", true),
            (
                "arn:aws:iam::111122223333:policy/team/eksctl-KarpenterControllerPolicy-base",
                true,
            ),
            (
                "arn:aws:iam::111122223333:policy/KarpenterControllerInterruptionPolicy-base",
                true,
            ),
            (
                "arn:aws:iam::111122223333:policy/KarpenterControllerZonalShiftPolicy-base",
                false,
            ),
            ("arn:aws:iam::aws:policy/AmazonSQSFullAccess", false),
            (
                "arn:aws-cn:iam::aws:policy/service-role/AWSLambdaSQSQueueExecutionRole",
                false,
            ),
        ] {
            assert_eq!(may_name_a_queue(arn), read, "{arn}");
        }
    }

    #[test]
    fn a_long_cluster_name_has_fewer_usual_queues() {
        let names = |cluster: String| usual_queues(&cluster.parse().unwrap()).len();
        assert_eq!(
            [names("base".to_owned()), names("c".repeat(80)), names("c".repeat(81))],
            [3, 1, 0]
        );
    }
}
