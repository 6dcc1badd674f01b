//! The queue that other tools set up for the interruption handling of a cluster's Karpenter.

use crate::model::name::{ClusterName, QueueName};

/// The text before the cluster's name in the name of its queue:
///
/// - none: the CloudFormation template of Karpenter's getting-started guide (`QueueName: !Sub "${ClusterName}"`), and
///   eksctl with `withSpotInterruptionQueue` (`pkg/cfn/builder/karpenter.go`)
/// - `Karpenter-`: terraform-aws-modules/terraform-aws-eks (`modules/karpenter/main.tf`)
/// - `karpenter-`: aws-ia/terraform-aws-eks-blueprints-addons (`main.tf`, module `karpenter_sqs`); also the default of kibus
const USUAL_QUEUES: [&str; 3] = ["", "Karpenter-", "karpenter-"];

/// The usual names of the interruption queue of a cluster.
pub fn usual_queues(cluster: &ClusterName) -> Vec<QueueName> {
    USUAL_QUEUES
        .iter()
        // A name that is too long for a queue cannot exist.
        .filter_map(|before| format!("{before}{cluster}").parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_cluster_name_has_fewer_usual_queues() {
        let names = |cluster: String| usual_queues(&cluster.parse().unwrap()).len();
        assert_eq!(
            [names("base".to_owned()), names("c".repeat(80)), names("c".repeat(81))],
            [3, 1, 0]
        );
    }
}
