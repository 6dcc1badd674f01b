//! EventBridge rules and their one target.

use std::collections::BTreeSet;

use crate::model::document::Document;
use crate::model::field::{Field, field, field_names};
use crate::model::name::RuleName;
use crate::model::tags::Tags;

field_names! {
    /// The fields of a rule and its target.
    RuleField {
        Description = "description",
        Pattern = "pattern",
        Enabled = "enabled",
        TargetArn = "target.arn",
        TargetRetryAge = "target.retry_age",
        TargetRetries = "target.retries",
        TargetDeadLetters = "target.dead_letters",
        TargetRewrite = "target.rewrite",
        TargetRole = "target.role",
        TargetMessageGroup = "target.message_group",
    }
}

/// The target of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The ARN that receives the event.
    pub arn: String,
    /// How long EventBridge tries to deliver, in seconds.
    pub retry_age: u32,
    /// How many times EventBridge retries.
    pub retries: u32,
    /// The ARN of the dead-letter queue for events that could not be delivered.
    pub dead_letters: Option<String>,
    /// An `Input`, `InputPath` or `InputTransformer`, which rewrites the event. Karpenter needs the original event, so
    /// kibus sets none.
    pub rewrite: Option<String>,
    /// The ARN of the role that EventBridge delivers as. Kibus sets none, because the queue's policy allows
    /// EventBridge.
    pub role: Option<String>,
    /// The message group of every message. Kibus sets none.
    pub message_group: Option<String>,
}

/// A rule on the default event bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub name: RuleName,
    pub description: String,
    /// Its event pattern.
    pub pattern: Document,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The target that kibus manages.
    pub target: Option<Target>,
    /// The ids of targets that kibus does not manage.
    pub foreign_targets: BTreeSet<String>,
    pub tags: Tags,
}

impl Rule {
    /// The id of the target that kibus manages.
    pub const TARGET_ID: &str = "kibus-hub";
    /// The path of the field that says whether it is enabled.
    pub const ENABLED: &str = RuleField::Enabled.path();

    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            name: _, // names the resource
            description,
            pattern,
            enabled,
            target,
            foreign_targets: _, // not compared; a check refuses to delete a rule that has some
            tags: _,            // compared key by key
        } = self;
        let target = target.as_ref();
        vec![
            field(RuleField::Description, description.clone()),
            field(RuleField::Pattern, pattern.clone()),
            field(RuleField::Enabled, *enabled),
            field(RuleField::TargetArn, target.map(|t| t.arn.clone())),
            field(RuleField::TargetRetryAge, target.map(|t| t.retry_age)),
            field(RuleField::TargetRetries, target.map(|t| t.retries)),
            field(
                RuleField::TargetDeadLetters,
                target.and_then(|t| t.dead_letters.clone()),
            ),
            field(RuleField::TargetRewrite, target.and_then(|t| t.rewrite.clone())),
            field(RuleField::TargetRole, target.and_then(|t| t.role.clone())),
            field(
                RuleField::TargetMessageGroup,
                target.and_then(|t| t.message_group.clone()),
            ),
        ]
    }
}
