//! EventBridge rules and their one target.

use std::collections::BTreeSet;

use super::particulars::{Edge, Particulars, Tie, Unit, fields};
use super::{ResourceId, last};
use crate::model::{Document, FindingCode, RuleName, Scope, Signal, Tags, scope::fixed};

fields! {
    RuleField of Rule {
        name: _, // names the resource
        description, pattern, schedule, enabled, target,
        foreign_targets: _, // not compared; a check refuses to delete a rule that has any
        tags: _,            // compared key by key
    } {
        Description = "description": description.clone(),
        Pattern = "pattern": pattern.clone(),
        Schedule = "schedule": schedule.clone(),
        Enabled = "enabled": *enabled,
        TargetArn = "target.arn": target.as_ref().map(|t| t.arn.clone()),
        TargetRetryAge = "target.retry_age": target.as_ref().map(|t| (t.retry_age, Unit::Seconds)),
        TargetRetries = "target.retries": target.as_ref().map(|t| t.retries),
        TargetDeadLetters = "target.dead_letters": target.as_ref().and_then(|t| t.dead_letters.clone()),
        TargetRewrite = "target.rewrite": target.as_ref().and_then(|t| t.rewrite.clone()),
        TargetRole = "target.role": target.as_ref().and_then(|t| t.role.clone()),
        TargetMessageGroup = "target.message_group": target.as_ref().and_then(|t| t.message_group.clone()),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleTarget {
    pub arn: String,
    /// How long EventBridge tries to deliver, in seconds.
    pub retry_age: u32,
    pub retries: u32,
    /// The ARN of the dead-letter queue for events that could not be delivered.
    pub dead_letters: Option<String>,
    /// An `Input`, an `InputPath`, or the two members of an `InputTransformer`. Only the heartbeat has one: Karpenter needs the
    /// original event.
    pub rewrite: Option<Document>,
    /// The ARN of the role that EventBridge delivers as. Kibus sets none: the queue's policy allows EventBridge.
    pub role: Option<String>,
    /// The message group of every message. Kibus sets none.
    pub message_group: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub name: RuleName,
    pub description: String,
    pub pattern: Document,
    /// The schedule on which EventBridge itself sends an event, in its notation: `rate(5 minutes)`.
    pub schedule: Option<String>,
    pub enabled: bool,
    /// The target that kibus manages.
    pub target: Option<RuleTarget>,
    /// The ids of targets that kibus does not manage.
    pub foreign_targets: BTreeSet<String>,
    pub tags: Tags,
}

impl Rule {
    /// The id of the target that kibus manages.
    pub const TARGET_ID: &str = "kibus-hub";
}

impl Scope {
    pub fn rule(&self, signal: Signal) -> RuleName {
        fixed(format!("{}-{}", self.bus, signal.slug()))
    }

    /// The hub queues of the buses that a rule may belong to, by its name. If it sends to one of them, it belongs to kibus.
    pub fn hubs_of_rule(&self, rule: &RuleName) -> BTreeSet<String> {
        let bus = |signal: &Signal| {
            let name = rule.as_str().strip_suffix(signal.slug())?;
            name.strip_suffix('-')?.parse().ok()
        };
        let buses = Signal::ALL.iter().filter_map(bus);
        let scopes = buses.map(|bus| Self { bus, ..self.clone() });
        scopes.map(|scope| scope.queue_arn(&scope.hub_queue())).collect()
    }

    pub fn rule_arn(&self, rule: &RuleName) -> String {
        self.arn("events", &format!("rule/{rule}"))
    }
}

impl Particulars for Rule {
    fn edges(&self, scope: &Scope) -> Vec<Edge> {
        vec![
            Tie::Needs.to(ResourceId::Queue(scope.hub_queue()), "a rule without its target loses every event"),
            Tie::Needs.to(
                ResourceId::Queue(scope.dead_letter_queue()),
                "a target without its dead-letter queue loses what it cannot deliver",
            ),
        ]
    }

    fn trouble(&self) -> Option<(FindingCode, String)> {
        match (self.enabled, &self.target) {
            (false, _) => Some((FindingCode::RuleDisabled, "disabled".to_owned())),
            (true, None) => Some((FindingCode::RuleChanged, "target missing".to_owned())),
            (true, Some(_)) => None,
        }
    }

    fn summary(&self) -> String {
        let target = match &self.target {
            Some(target) => format!("→ {}", last(&target.arn, ':')),
            None => "no target".to_owned(),
        };
        let about = self.description.strip_prefix("Kibus: ").unwrap_or(&self.description);
        let disabled = if self.enabled { "" } else { ", disabled" };
        format!("{target}, {about}{disabled}")
    }
}

#[cfg(test)]
mod tests {
    use crate::model::scope::tests::scope;

    /// Anyone can give a rule such a name, or its target the id that kibus uses.
    #[test]
    fn a_rule_is_of_kibus_by_its_name_and_its_target() {
        let arn = |queue: &str| format!("arn:aws:sqs:us-west-2:111122223333:{queue}");
        for (rule, target, ours) in [
            ("kibus-spot-interruption", "kibus-hub", true),
            ("two-spot-interruption", "two-hub", true),
            ("kibus-spot-interruption", "two-hub", false),
            ("kibus-spot-interruption", "karpenter-base", false),
            ("mine", "kibus-hub", false),
            ("-spot-interruption", "-hub", false),
        ] {
            let targets = [arn("other"), arn(target)];
            let hubs = scope().hubs_of_rule(&rule.parse().unwrap());
            assert_eq!(targets.iter().any(|target| hubs.contains(target)), ours, "{rule} to {target}");
        }
    }
}
