//! Which calls AWS counts together.

/// The calls that share a rate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    service: &'static str,
    /// The action, for a service that counts each apart, or what they have in common.
    actions: String,
}

/// What a group of actions is called that a service counts together.
const TOGETHER: &str = "*";

impl Group {
    /// The group of an action, as IAM names it. IAM counts all of its actions together; Lambda those of its control plane,
    /// without `GetFunction` (Lambda developer guide, "Lambda quotas"); SQS those about tags (SQS developer guide, "Amazon
    /// SQS cost allocation tags"). The other services count each action apart.
    pub(super) fn of(action: &str) -> Self {
        let (service, name) = action.split_once(':').unwrap_or((action, ""));
        let (service, actions) = match service {
            "iam" => ("IAM", TOGETHER),
            "lambda" if matches!(name, "GetFunction" | "InvokeFunction") => ("Lambda", name),
            "lambda" => ("Lambda", TOGETHER),
            "sqs" if matches!(name, "ListQueueTags" | "TagQueue" | "UntagQueue") => ("SQS", TOGETHER),
            "sqs" => ("SQS", name),
            "events" => ("EventBridge", name),
            "logs" => ("CloudWatch Logs", name),
            "tag" => ("the tagging API", name),
            "kms" => ("KMS", name),
            "eks" => ("EKS", name),
            "cloudwatch" => ("CloudWatch", name),
            "ssm" => ("Parameter Store", name),
            "sts" => ("STS", name),
            _ => ("AWS", action),
        };
        Self {
            service,
            actions: actions.to_owned(),
        }
    }

    /// The service, as text names it.
    pub(super) fn service(&self) -> &'static str {
        self.service
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_that_aws_counts_together_share_a_group() {
        for (one, other, together) in [
            ("iam:GetRole", "iam:PutRolePolicy", true),
            ("lambda:GetAlias", "lambda:UpdateAlias", true),
            ("lambda:GetAlias", "lambda:GetFunction", false),
            ("sqs:TagQueue", "sqs:ListQueueTags", true),
            ("sqs:CreateQueue", "sqs:ListQueueTags", false),
            ("sqs:CreateQueue", "sqs:DeleteQueue", false),
            ("events:PutRule", "logs:PutRule", false),
        ] {
            assert_eq!(Group::of(one) == Group::of(other), together, "{one} {other}");
        }
    }
}
