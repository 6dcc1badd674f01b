//! Rules of others that send the same events to the queues of registered clusters, past the router.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::event_rule::EventRule;
use crate::model::name::{ClusterName, QueueName, RuleName};
use crate::model::rule_pattern::RulePattern;
use crate::model::signal::Signal;
use crate::survey::Survey;

/// The rules whose targets tell whether they are such rules: enabled, with events of Karpenter, and without the name of a rule
/// of this bus. The targets of those are read with the hub, and each that is not of kibus is refused there.
pub(super) fn to_read(survey: &Survey) -> BTreeSet<RuleName> {
    let all = survey.event_rules.all.present().into_iter().flatten();
    let own = Signal::ALL.map(|signal| survey.scope.rule(signal));
    let is_candidate = |rule: &&EventRule| {
        let pattern = rule.pattern.as_ref().map(RulePattern::of).unwrap_or_default();
        rule.enabled && !pattern.signals.is_empty() && !own.contains(&rule.name)
    };
    all.filter(is_candidate).map(|rule| rule.name.clone()).collect()
}

/// These rules by their queue, among the queues of these clusters. What could not be read is left out: a check
/// needs no permission for the rules of others.
pub(super) fn by_queue(
    survey: &Survey,
    clusters: &BTreeMap<QueueName, ClusterName>,
) -> BTreeMap<QueueName, BTreeSet<RuleName>> {
    let mut found: BTreeMap<QueueName, BTreeSet<RuleName>> = BTreeMap::new();
    for (rule, targets) in &survey.event_rules.targets {
        for target in targets.present().into_iter().flatten() {
            let queue = clusters
                .keys()
                .find(|queue| survey.scope.queue_arn(queue) == target.arn);
            if let Some(queue) = queue {
                found.entry(queue.clone()).or_default().insert(rule.clone());
            }
        }
    }
    found
}
