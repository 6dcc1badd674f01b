//! How the owner of rules removes them. Rules that several queues share are removed once, after all of their clusters moved.

use std::collections::BTreeSet;

use super::origin::Origin;
use crate::error::{Hint, listed, quoted};
use crate::model::name::{QueueName, RuleName};
use crate::model::scope::Scope;

/// The rules that one tool created for the same queues, and how to remove them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    pub queues: BTreeSet<QueueName>,
    /// How many rules.
    pub rules: usize,
    pub way: Hint,
}

/// Rules that one tool created for the same queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnedRules<'a> {
    pub origin: Origin,
    /// Their CloudFormation stacks, as far as they are known.
    pub stacks: BTreeSet<String>,
    /// Each with the ids of its targets.
    pub rules: Vec<(&'a RuleName, Vec<&'a str>)>,
}

/// The way of the tool to remove these rules: an option, a template, or commands. Whatever the tool, the queue is released first,
/// because most tools delete it with the rules.
pub(super) fn way(owned: &OwnedRules<'_>, scope: &Scope, queue: &QueueName) -> Hint {
    let by_variable = |variable: &str, of: &str| {
        Hint::text(format!(
            "set `{variable}` of {of}. It also deletes queue `{queue}`: to keep the queue, first release it and its queue policy with \
             `terraform state rm`"
        ))
    };
    match owned.origin {
        Origin::CloudFormation | Origin::Eksctl => Hint::text(format!(
            "in the template of {}, first set `DeletionPolicy: Retain` on the queue and its queue policy, then delete the rules",
            match owned.stacks.is_empty() {
                true => "their stack".to_owned(),
                false => format!("stack {}", listed(&owned.stacks)),
            }
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
        Origin::EksBlueprintsAddons => by_variable(
            "karpenter_enable_spot_termination = false",
            "the module `eks-blueprints-addons`",
        ),
        Origin::CloudPosse => by_variable("interruption_handler_enabled = false", "the component `eks/karpenter`"),
        Origin::ByHand => Hint::command("delete them:", commands(owned, scope)),
        Origin::Unknown | Origin::NodeTerminationHandler | Origin::OtherHub => Hint::command(
            "delete them where they were created. If no tool manages them:",
            commands(owned, scope),
        ),
    }
}

/// A rule can be deleted when it has no target.
fn commands(owned: &OwnedRules<'_>, scope: &Scope) -> String {
    let region = &scope.region;
    let calls = owned.rules.iter().flat_map(|(rule, targets)| {
        let ids = targets.iter().map(|target| quoted(&target.escape_debug().to_string()));
        let ids = ids.collect::<Vec<_>>().join(" ");
        [
            format!("events remove-targets --region {region} --rule {rule} --ids {ids}"),
            format!("events delete-rule --region {region} --name {rule}"),
        ]
    });
    let calls: Vec<String> = calls.map(|call| scope.aws(call)).collect();
    calls.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope;

    #[test]
    fn each_tool_has_its_own_way() {
        let rule: RuleName = "spot".parse().unwrap();
        for (origin, stacks, way, has_command) in [
            (
                Origin::CloudFormation,
                &["Karpenter-base"][..],
                "template of stack `Karpenter-base`",
                false,
            ),
            (Origin::CloudFormation, &[], "template of their stack", false),
            (
                Origin::Eksctl,
                &["eksctl-base-karpenter"],
                "template of stack `eksctl-base-karpenter`",
                false,
            ),
            (Origin::CdkEksKarpenter, &[], "tryRemoveChild", false),
            (Origin::CdkEksBlueprints, &[], "interruptionHandling: false", false),
            (Origin::TerraformAwsEks, &[], "enable_spot_termination = false", false),
            (
                Origin::EksBlueprintsAddons,
                &[],
                "karpenter_enable_spot_termination = false",
                false,
            ),
            (Origin::CloudPosse, &[], "interruption_handler_enabled = false", false),
            (Origin::ByHand, &[], "delete them:", true),
            (Origin::Unknown, &[], "where they were created", true),
        ] {
            let owned = OwnedRules {
                origin,
                stacks: stacks.iter().map(ToString::to_string).collect(),
                rules: vec![(&rule, vec!["a target", "b"])],
            };
            let hint = super::way(&owned, &scope(), &"q".parse().unwrap());
            assert!(hint.text.contains(way), "{}", hint.text);
            assert_eq!(hint.command.is_some(), has_command, "{origin:?}");
            if let Some(command) = hint.command {
                let line = command;
                assert!(
                    line.contains("--rule spot --ids 'a target' b\naws events delete-rule"),
                    "{line}"
                );
            }
        }
    }
}
