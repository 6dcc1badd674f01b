//! Whether the hub replaces a rule.

use std::fmt::{self, Display, Formatter};

use super::origin::Origin;
use crate::error::listed;
use crate::model::event_rule::{EventRule, RulePattern};

/// What to do with a rule once its cluster is on the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The hub receives the same events.
    Replace,
    /// It has another use, or may have one.
    Keep(KeepReason),
}

/// Why a rule stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepReason {
    /// This AWS service manages it.
    ManagedBy(String),
    /// Another hub routes events.
    OtherHub,
    /// It also sends to these ARNs.
    OtherTargets(Vec<String>),
    /// Its queue is no queue of this account and Region that kibus could use.
    OtherQueue(String),
    /// Its queue is that of the node termination handler.
    NodeTerminationHandler,
    /// Its pattern has these further members.
    Filters(Vec<String>),
    /// Its pattern matches other events, too.
    Broad,
    /// Nothing says that a Karpenter reads its queue.
    NotKarpenter,
}

impl Display for KeepReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::ManagedBy(service) => write!(f, "`{service}` manages it"),
            Self::OtherHub => f.write_str("it belongs to another hub, which routes the same events"),
            Self::OtherTargets(arns) => write!(f, "it has other targets: {}", listed(arns)),
            Self::OtherQueue(arn) => write!(f, "its target `{arn}` is FIFO, or in another account or Region"),
            Self::NodeTerminationHandler => f.write_str("the node termination handler reads its queue"),
            Self::Filters(members) => write!(f, "its pattern has further filters: {}", listed(members)),
            Self::Broad => f.write_str("its pattern also matches events that Karpenter does not know"),
            Self::NotKarpenter => f.write_str("nothing shows that a Karpenter reads its queue"),
        }
    }
}

/// The verdict about a rule that sends to a queue of this account. `others` are the ARNs of its other targets.
pub(super) fn verdict(
    rule: &EventRule,
    pattern: &RulePattern,
    others: Vec<String>,
    reader: Origin,
    karpenter: bool,
) -> Verdict {
    let reason = if let Some(service) = &rule.managed_by {
        KeepReason::ManagedBy(service.clone())
    } else if reader == Origin::NodeTerminationHandler {
        KeepReason::NodeTerminationHandler
    } else if !others.is_empty() {
        KeepReason::OtherTargets(others)
    } else if !pattern.filters.is_empty() {
        KeepReason::Filters(pattern.filters.iter().cloned().collect())
    } else if pattern.is_broad {
        KeepReason::Broad
    } else if !karpenter {
        KeepReason::NotKarpenter
    } else {
        return Verdict::Replace;
    };
    Verdict::Keep(reason)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::document::Document;

    #[test]
    fn a_rule_with_another_use_stays() {
        let plain = json!({"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]});
        let with = |member: &str, value: Value| {
            let mut pattern = plain.clone();
            pattern[member] = value;
            pattern
        };
        let queue = || vec!["arn:aws:sns:us-west-2:111122223333:audit".to_owned()];
        let tool = Origin::TerraformAwsEks;
        for (case, pattern, managed_by, others, reader, karpenter, expected) in [
            (
                "a rule of a tool",
                plain.clone(),
                None,
                vec![],
                tool,
                true,
                Verdict::Replace,
            ),
            (
                "a managed rule",
                plain.clone(),
                Some("autoscaling.amazonaws.com"),
                vec![],
                tool,
                true,
                Verdict::Keep(KeepReason::ManagedBy("autoscaling.amazonaws.com".to_owned())),
            ),
            (
                "another target",
                plain.clone(),
                None,
                queue(),
                tool,
                true,
                Verdict::Keep(KeepReason::OtherTargets(queue())),
            ),
            (
                "another reader",
                plain.clone(),
                None,
                vec![],
                Origin::NodeTerminationHandler,
                true,
                Verdict::Keep(KeepReason::NodeTerminationHandler),
            ),
            (
                "a filter",
                with("detail", json!({"instance-id": ["i-1"]})),
                None,
                vec![],
                tool,
                true,
                Verdict::Keep(KeepReason::Filters(vec!["detail".to_owned()])),
            ),
            (
                "more events",
                with("detail-type", json!([{"prefix": "EC2 "}])),
                None,
                vec![],
                tool,
                true,
                Verdict::Keep(KeepReason::Broad),
            ),
            (
                "an unknown queue",
                plain.clone(),
                None,
                vec![],
                Origin::Unknown,
                false,
                Verdict::Keep(KeepReason::NotKarpenter),
            ),
            (
                "an unknown tool",
                plain.clone(),
                None,
                vec![],
                Origin::Unknown,
                true,
                Verdict::Replace,
            ),
        ] {
            let rule = EventRule {
                name: "r".parse().unwrap(),
                pattern: Some(Document::new(pattern.clone())),
                enabled: true,
                managed_by: managed_by.map(str::to_owned),
            };
            let pattern = RulePattern::of(&Document::new(pattern));
            assert_eq!(verdict(&rule, &pattern, others, reader, karpenter), expected, "{case}");
        }
    }
}
