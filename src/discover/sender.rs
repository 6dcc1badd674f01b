//! The rules of others that send to queues.

use std::collections::BTreeMap;

use crate::model::event_rule::{EventRule, ListedTarget, RulePattern};
use crate::model::name::QueueName;
use crate::model::scope::Scope;
use crate::survey::Survey;

/// The rules of others that match events of Karpenter, or of the node termination handler.
pub(super) fn concerning(survey: &Survey) -> impl Iterator<Item = (&EventRule, RulePattern)> {
    let all = survey.event_rules().present().into_iter().flatten();
    all.filter_map(|rule| {
        let pattern = RulePattern::of(rule.pattern.as_ref()?);
        pattern.may_concern_karpenter().then_some((rule, pattern))
    })
}

/// A rule that sends to a queue.
pub(super) struct Sender<'a> {
    pub(super) rule: &'a EventRule,
    pub(super) pattern: RulePattern,
    /// The id of the target that is the queue.
    pub(super) target: &'a str,
    /// Its other targets.
    pub(super) others: Vec<&'a ListedTarget>,
}

/// The rules of others by the queue of this account and Region that they send to, in the order of their names.
pub(super) fn by_queue(survey: &Survey) -> BTreeMap<QueueName, Vec<Sender<'_>>> {
    let mut queues: BTreeMap<QueueName, Vec<Sender<'_>>> = BTreeMap::new();
    for (rule, pattern) in concerning(survey) {
        let targets = targets(survey, rule);
        if is_of_kibus(survey, rule) {
            continue;
        }
        for target in targets {
            if let Some(queue) = queue(&survey.scope, &target.arn) {
                let others = targets.iter().filter(|other| other.id != target.id);
                queues.entry(queue).or_default().push(Sender {
                    rule,
                    pattern: pattern.clone(),
                    target: &target.id,
                    others: others.collect(),
                });
            }
        }
    }
    for rules in queues.values_mut() {
        rules.sort_by(|a, b| a.rule.name.cmp(&b.rule.name));
    }
    // A queue that only receives events of EC2 Auto Scaling is none of Karpenter's.
    queues.retain(|_, rules| rules.iter().any(|sender| !sender.pattern.signals.is_empty()));
    queues
}

pub(super) fn targets<'a>(survey: &'a Survey, rule: &EventRule) -> &'a [ListedTarget] {
    let read = survey.rule_targets(&rule.name).present();
    read.map(Vec::as_slice).unwrap_or_default()
}

/// Whether a rule is of a bus of kibus. Anyone may give a target the id of kibus's.
pub(super) fn is_of_kibus(survey: &Survey, rule: &EventRule) -> bool {
    let targets = targets(survey, rule).iter().map(|target| target.arn.as_str());
    survey.scope.is_rule_of_kibus(&rule.name, targets)
}

/// The queue of an ARN, if it is in this account and Region and not FIFO.
pub(super) fn queue(scope: &Scope, arn: &str) -> Option<QueueName> {
    let queue: QueueName = arn.rsplit(':').next()?.parse().ok()?;
    (scope.queue_arn(&queue) == arn).then_some(queue)
}
