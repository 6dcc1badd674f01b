//! What is known of the rules of the default event bus.

use std::collections::BTreeMap;

use super::Query;
use crate::model::event_rule::{EventRule, RuleTarget};
use crate::model::fact::Fact;
use crate::model::name::{QueueName, RuleName};
use crate::model::queue_activity::QueueActivity;
use crate::model::tags::Tags;

/// The rules of the default event bus, whoever created them, as far as they were read.
#[derive(Clone, Debug, Default)]
pub struct EventRules {
    pub all: Fact<Vec<EventRule>>,
    /// The targets of rules; absent if the rule does not exist.
    pub targets: BTreeMap<RuleName, Fact<Vec<RuleTarget>>>,
    /// The tags of rules; absent if the rule does not exist.
    pub tags: BTreeMap<RuleName, Fact<Tags>>,
    /// What happened on queues in the last day; absent if nothing is known.
    pub activity: BTreeMap<QueueName, Fact<QueueActivity>>,
}

impl EventRules {
    /// Takes from a query what was read already.
    pub(super) fn take_from(&self, query: &mut Query) {
        query.event_rules &= !self.all.is_asked();
        query.rule_targets.retain(|rule| !self.targets.contains_key(rule));
        query.rule_tags.retain(|rule| !self.tags.contains_key(rule));
        query.queue_activity.retain(|queue| !self.activity.contains_key(queue));
    }
}
