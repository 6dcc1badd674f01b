//! Which tool created a rule that sends to a queue: by the id of its target, its name, the name of its queue, and tags. And how
//! to remove the rules of each tool.
//!
//! Sources of the shapes:
//!
//! - Karpenter: `getting-started-with-karpenter/cloudformation.yaml`. CloudFormation names a rule `STACK-LOGICAL_ID-RANDOM`
//! - eksctl: the same resources in stack `eksctl-CLUSTER-karpenter` (`pkg/cfn/builder/karpenter.go`)
//! - cdk-eks-karpenter: `src/index.ts`; cdk-eks-blueprints: `lib/addons/karpenter/karpenter-v1.ts`. CDK adds a hash to the id of
//!   a construct, and numbers targets
//! - terraform-aws-eks: `modules/karpenter/main.tf`, versions 18 to 21
//! - eks-blueprints-addons: `main.tf`, `aws_cloudwatch_event_rule.karpenter`
//! - CloudPosse: `modules/eks/karpenter/interruption_handler.tf`
//! - by hand: a guide to Spot interruptions whose rules have the same names in every cluster
//! - node termination handler: its README, and kops, `pkg/model/awsmodel/nodeterminationhandler.go`

use std::collections::BTreeSet;

use serde::Serialize;

use crate::error::{Hint, listed, quoted};
use crate::export::Format;
use crate::iam::grants::matches;
use crate::model::{ClusterName, QueueName, RuleName, Scope, Tags};

/// The tool that created the rules of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ToolWord"))]
pub enum Origin {
    /// The CloudFormation template of Karpenter's getting-started guide.
    CloudFormation,
    Eksctl,
    CdkEksKarpenter,
    CdkEksBlueprints,
    TerraformAwsEks,
    EksBlueprintsAddons,
    CloudPosse,
    /// The commands of a guide, without a tool.
    ByHand,
    /// The node termination handler of AWS, which is not Karpenter.
    NodeTerminationHandler,
    /// Another hub that routes events.
    OtherHub,
    Unknown,
}

impl Origin {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CloudFormation => "CloudFormation",
            Self::Eksctl => "eksctl",
            Self::CdkEksKarpenter => "cdk-eks-karpenter",
            Self::CdkEksBlueprints => "cdk-eks-blueprints",
            Self::TerraformAwsEks => "terraform-aws-eks",
            Self::EksBlueprintsAddons => "eks-blueprints-addons",
            Self::CloudPosse => "CloudPosse",
            Self::ByHand => "by hand",
            Self::NodeTerminationHandler => "node termination handler",
            Self::OtherHub => "another hub",
            Self::Unknown => "unknown",
        }
    }

    /// The format of an export for it, if it is infrastructure as code.
    pub fn format(self) -> Option<Format> {
        match self {
            Self::CloudFormation | Self::Eksctl | Self::CdkEksKarpenter | Self::CdkEksBlueprints => {
                Some(Format::CloudFormation)
            }
            Self::TerraformAwsEks | Self::EksBlueprintsAddons | Self::CloudPosse => Some(Format::Terraform),
            Self::ByHand | Self::NodeTerminationHandler | Self::OtherHub | Self::Unknown => None,
        }
    }

    /// Whether the tool sets up a queue for a cluster's Karpenter.
    pub fn is_for_karpenter(self) -> bool {
        !matches!(self, Self::NodeTerminationHandler | Self::OtherHub | Self::Unknown)
    }
}

/// The target of Karpenter's template, which most others have copied.
const TEMPLATE_TARGET: &str = "KarpenterInterruptionQueueTarget";
/// The logical ids of its rules.
const TEMPLATE_RULES: &[&str] = &[
    "ScheduledChangeRule",
    "SpotInterruptionRule",
    "RebalanceRule",
    "InstanceStateChangeRule",
    "CapacityReservationInterruptionRule",
];
/// The names of the events in Terraform modules.
const TERRAFORM_RULES: &[&str] =
    &["HealthEvent", "SpotInterrupt", "SpotInterupt", "InstanceRebalance", "InstanceStateChange", "CRInterruption"];

/// What a tool creates. In a shape, `{name}` is what the name of the queue has in this place, or in that of `{cluster}`, if this is
/// also the name of the cluster; `{event}` is one of the events, and `{any}` is some text.
struct Row {
    origin: Origin,
    target: &'static str,
    rule: &'static str,
    events: &'static [&'static str],
    queue: &'static str,
}

/// The first row that fits counts.
const ROWS: [Row; 11] = [
    Row {
        origin: Origin::Eksctl,
        target: TEMPLATE_TARGET,
        rule: "eksctl-{name}-karpenter-{event}-{any}",
        events: TEMPLATE_RULES,
        queue: "{cluster}",
    },
    // Its stack may have any name.
    Row {
        origin: Origin::CloudFormation,
        target: TEMPLATE_TARGET,
        rule: "{any}-{event}-{any}",
        events: TEMPLATE_RULES,
        queue: "{cluster}",
    },
    Row {
        origin: Origin::CdkEksBlueprints,
        target: "Target0",
        rule: "{name}-{event}{any}",
        events: &["schedulechangerule", "spotinterruptionrule", "rebalancerule", "inststatechangerule"],
        queue: "{name}",
    },
    Row {
        origin: Origin::CdkEksKarpenter,
        target: "Target0",
        rule: "{any}{event}{any}",
        events: TEMPLATE_RULES,
        queue: "{cluster}",
    },
    Row {
        origin: Origin::TerraformAwsEks,
        target: TEMPLATE_TARGET,
        rule: "Karpenter{event}-{any}",
        events: TERRAFORM_RULES,
        queue: "Karpenter-{cluster}",
    },
    // Its variables set another queue, or another prefix of the rules.
    Row {
        origin: Origin::TerraformAwsEks,
        target: TEMPLATE_TARGET,
        rule: "{any}{event}-{any}",
        events: TERRAFORM_RULES,
        queue: "{name}",
    },
    Row {
        origin: Origin::EksBlueprintsAddons,
        target: "KarpenterQueueTarget",
        rule: "Karpenter-{event}-{any}",
        events: TERRAFORM_RULES,
        queue: "karpenter-{cluster}",
    },
    Row {
        origin: Origin::CloudPosse,
        target: TEMPLATE_TARGET,
        rule: "{name}-{event}",
        events: TERRAFORM_RULES,
        queue: "{name}",
    },
    Row {
        origin: Origin::ByHand,
        target: "karpenter-sqs",
        rule: "karpenter-{event}",
        events: &["spot-interruption", "rebalance-recommendation", "instance-state-change", "scheduled-change"],
        queue: "karpenter-{cluster}",
    },
    // kops.
    Row {
        origin: Origin::NodeTerminationHandler,
        target: "1",
        rule: "{any}-{event}",
        events: &[
            "ASGLifecycle",
            "SpotInterruption",
            "RebalanceRecommendation",
            "InstanceStateChange",
            "ScheduledChange",
        ],
        queue: "{name}-nth",
    },
    Row {
        origin: Origin::NodeTerminationHandler,
        target: "1",
        rule: "MyK8s{event}Rule",
        events: &["ASGTerm", "SpotTerm", "Rebalance", "InstanceStateChange", "ScheduledChange"],
        queue: "{name}",
    },
];

const CLUSTER: &str = "{cluster}";
/// The tag by which Terraform modules name the cluster.
const CLUSTER_NAME: &str = "ClusterName";
/// The tag by which CloudFormation names the stack of a resource.
const STACK_NAME: &str = "aws:cloudformation:stack-name";

/// The tool that created a rule, and its cluster and stack if they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribution {
    pub origin: Origin,
    pub cluster: Option<ClusterName>,
    pub stack: Option<String>,
}

/// Attributes a rule to a tool, by the id of the target that is the queue, and the tags of the rule and the queue, as far as they
/// are known.
pub(super) fn attribution(rule: &RuleName, target: &str, queue: &QueueName, tags: &[&Tags]) -> Attribution {
    let tag = |key: &str| tags.iter().find_map(|tags| tags.get(key));
    let found = ROWS.iter().find_map(|row| Some((row, row.fits(rule, target, queue)?)));
    let by_tag = tag(CLUSTER_NAME).and_then(|name| name.parse().ok());
    let (origin, by_name) = match found {
        Some((row, name)) => (row.origin, Some(name).filter(|_| row.queue.contains(CLUSTER))),
        None => (Origin::Unknown, usual_name(queue)),
    };
    // A long name of a rule is cut, so the tag of the stack decides.
    let is_of_eksctl = |stack: &str| stack.starts_with("eksctl-") && stack.ends_with("-karpenter");
    let origin = match tag(STACK_NAME) {
        Some(stack) if origin == Origin::CloudFormation && is_of_eksctl(stack) => Origin::Eksctl,
        _ => origin,
    };
    Attribution {
        origin,
        cluster: by_tag.or_else(|| by_name?.parse().ok()),
        stack: tag(STACK_NAME).map(str::to_owned).or_else(|| stack(origin, rule)),
    }
}

fn stack(origin: Origin, rule: &RuleName) -> Option<String> {
    let is_of_stack = matches!(origin, Origin::CloudFormation | Origin::Eksctl);
    let mut ids = TEMPLATE_RULES.iter().filter(|_| is_of_stack);
    let found = ids.find_map(|id| rule.as_str().split_once(&format!("-{id}-")));
    found.map(|(stack, _)| stack.to_owned())
}

/// The part of a queue's name that may be its cluster's, if the queue has a name that only Karpenter's tools give.
fn usual_name(queue: &QueueName) -> Option<&str> {
    ["Karpenter-", "karpenter-"].iter().find_map(|start| queue.as_str().strip_prefix(start))
}

impl Row {
    /// If a rule fits, what the name of its queue has in the place of `{name}` or `{cluster}`.
    fn fits<'a>(&self, rule: &RuleName, target: &str, queue: &'a QueueName) -> Option<&'a str> {
        let (before, after) = self.queue.split_once("{name}").or_else(|| self.queue.split_once(CLUSTER))?;
        let name = queue.as_str().strip_prefix(before)?.strip_suffix(after)?;
        if name.is_empty() {
            return None;
        }
        let shape = self.rule.replace("{name}", name).replace("{any}", "?*");
        let mut events = self.events.iter();
        let fits =
            target == self.target && events.any(|event| matches(&shape.replace("{event}", event), rule.as_str()));
        fits.then_some(name)
    }
}

/// A rule, and the ids of its targets.
pub(super) type OwnedRule<'a> = (&'a RuleName, Vec<&'a str>);

/// The way of the tool to remove these rules: an option, a template, or commands. Whatever the tool, the queue is released first,
/// because most tools delete it with the rules.
pub(super) fn way(
    origin: Origin,
    stacks: &BTreeSet<String>,
    rules: &[OwnedRule<'_>],
    scope: &Scope,
    queue: &QueueName,
) -> Hint {
    let by_variable = |variable: &str, of: &str| {
        Hint::text(format!(
            "set `{variable}` of {of}. It also deletes queue `{queue}`: to keep the queue, first release it and its queue policy with \
             `terraform state rm`"
        ))
    };
    match origin {
        Origin::CloudFormation | Origin::Eksctl => Hint::text(format!(
            "in the template of {}, first set `DeletionPolicy: Retain` on the queue and its queue policy, then delete the rules",
            if stacks.is_empty() { "their stack".to_owned() } else { format!("stack {}", listed(stacks)) }
        )),
        Origin::CdkEksBlueprints => Hint::text(
            "in the CDK app, set `interruptionHandling: false` of the Karpenter add-on. It also deletes the queue: to keep it, first \
             set its removal policy to `RETAIN`",
        ),
        Origin::CdkEksKarpenter => Hint::text(
            "the construct has no option for it: in the CDK app, remove its rules with `node.tryRemoveChild`. To keep the queue, \
             first set its removal policy to `RETAIN`",
        ),
        Origin::TerraformAwsEks => by_variable("enable_spot_termination = false", "the module `karpenter`"),
        Origin::EksBlueprintsAddons => {
            by_variable("karpenter_enable_spot_termination = false", "the module `eks-blueprints-addons`")
        }
        Origin::CloudPosse => by_variable("interruption_handler_enabled = false", "the component `eks/karpenter`"),
        Origin::ByHand => Hint::command("delete them:", commands(rules, scope)),
        Origin::Unknown | Origin::NodeTerminationHandler | Origin::OtherHub => {
            Hint::command("delete them where they were created. If no tool manages them:", commands(rules, scope))
        }
    }
}

/// A rule can be deleted when it has no target.
fn commands(rules: &[OwnedRule<'_>], scope: &Scope) -> String {
    let region = &scope.region;
    let calls = rules.iter().flat_map(|(rule, targets)| {
        let ids = targets.iter().map(|target| quoted(&target.escape_debug().to_string())).collect::<Vec<_>>().join(" ");
        [
            format!("events remove-targets --region {region} --rule {rule} --ids {ids}"),
            format!("events delete-rule --region {region} --name {rule}"),
        ]
    });
    calls.map(|call| scope.aws(call)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
