//! What other tools set up on the default event bus for Karpenter: rules that send its events to queues, who created them, whether
//! anything reads the queues, and how to move the clusters to the bus. Pure: it reads nothing and changes nothing.

mod found;
mod moves;
mod origin;

use serde::Serialize;

use crate::error::Hint;
use crate::model::answer::{Fact, Fault};
use crate::model::event_rule::{ListedTarget, rule_limit};
use crate::model::name::QueueName;
use crate::model::notation::first_of;
use crate::survey::{Query, Survey};
use found::{concerning, found, is_of_kibus, queue, receivers, targets};

pub use found::{FoundQueue, FoundRule, Reader, Removal, Verdict};
pub use origin::Origin;

/// What other tools set up on the default event bus for Karpenter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DiscoveryObject"))]
pub struct Discovery {
    /// The number of rules of the default event bus, whoever created them.
    pub rules: usize,
    /// The number of rules that a bus may have by default.
    pub rule_limit: usize,
    /// The number of rules of kibus for Karpenter's events among them.
    pub rules_of_kibus: usize,
    /// The queues that receive Karpenter's events from other rules.
    pub queues: Vec<FoundQueue>,
    /// Rules that match Karpenter's events and send them to no queue of this account and Region.
    pub rules_elsewhere: Vec<FoundRule>,
    /// The commands that move the clusters to the bus, in this order.
    pub moves: Vec<Hint>,
    // What could not be read, and why: the document has an error then.
    #[serde(skip)]
    pub unread: Vec<(String, Fault)>,
    // Why the activity of queues could not be read: a warning.
    #[serde(skip)]
    pub unmeasured: Option<Fault>,
}

/// What [`discovery`] will certainly ask for.
pub fn guess(survey: &Survey) -> Query {
    Query {
        cluster_queues: [survey.queue_prefix()].into(),
        listed_roles: true,
        event_rules: true,
        ..Query::default()
    }
}

/// Whether a rule of a known tool sends to a queue, or one for nothing but Karpenter's events, and it is not the queue of the
/// node termination handler.
pub fn sends_to_karpenter(survey: &Survey, queue: &QueueName) -> bool {
    let receiver = receivers(survey)
        .remove(queue)
        .filter(|receiver| !receiver.is_of_handler);
    receiver.is_some_and(|receiver| {
        receiver.senders.iter().any(|sender| {
            let pattern = &sender.pattern;
            let is_for_karpenter = !pattern.signals.is_empty() && !pattern.is_broad && pattern.filters.is_empty();
            is_for_karpenter || sender.attribution.origin.is_for_karpenter()
        })
    })
}

/// What was found, or why the rules of the bus are unknown.
pub fn discovery(survey: &Survey) -> Result<Discovery, Fault> {
    if let Fact::Unreadable(fault) = survey.event_rules() {
        return Err(fault.clone());
    }
    survey.discover();
    survey.listed_roles();
    let receivers = receivers(survey);
    for (queue, receiver) in &receivers {
        survey.queue(queue);
        survey.queue_activity(queue);
        // The rules of a queue are usually of one tool, so the tags of one are enough.
        if let Some(first) = receiver.senders.first() {
            survey.rule_tags(&first.rule.name);
        }
    }
    // Last, because a watch takes a minute: messages wait, and CloudWatch does not say whether they are read.
    if !survey.is_open() {
        let is_unknown = |queue: &QueueName| survey.queue_activity(queue).present().is_none();
        let waits = |queue: &QueueName| survey.depth(queue).is_some_and(|depth| depth.waiting > 0);
        for queue in receivers.keys().filter(|queue| is_unknown(queue) && waits(queue)) {
            survey.watch(queue);
        }
    }
    let queues = found(survey, &receivers);
    Ok(Discovery {
        rules: survey.event_rules().present().map_or(0, Vec::len),
        rule_limit: rule_limit(&survey.scope.region),
        rules_of_kibus: concerning(survey).filter(|(rule, _)| is_of_kibus(survey, rule)).count(),
        moves: moves::moves(survey, &queues),
        queues,
        rules_elsewhere: elsewhere(survey),
        unread: unread(survey),
        unmeasured: survey.known.queue_activity.values().find_map(Fact::fault).cloned(),
    })
}

/// The id of the target of a hub that was built by a blog post of AWS.
const ROUTER_TARGET: &str = "RouterLambda";

/// Rules whose events reach a queue of another kind or place, or another hub.
fn elsewhere(survey: &Survey) -> Vec<FoundRule> {
    let of_karpenter = concerning(survey).filter(|(_, pattern)| !pattern.signals.is_empty());
    let kept = of_karpenter.filter_map(|(rule, pattern)| {
        let targets = targets(survey, rule);
        let is_queue = |target: &&ListedTarget| target.arn.split(':').nth(2) == Some("sqs");
        if is_of_kibus(survey, rule) || targets.iter().any(|target| queue(&survey.scope, &target.arn).is_some()) {
            return None;
        }
        let reason = match targets.iter().find(is_queue) {
            Some(ListedTarget { arn, .. }) => format!("its target `{arn}` is FIFO, or in another account or Region"),
            None if targets.iter().any(|target| target.id == ROUTER_TARGET) => {
                "it belongs to another hub, which routes the same events".to_owned()
            }
            None => return None,
        };
        Some(FoundRule::new(rule, &pattern, Some(reason)))
    });
    kept.collect()
}

/// What could not be read. The same call that failed for many is named once.
fn unread(survey: &Survey) -> Vec<(String, Fault)> {
    let known = &survey.known;
    let each = [
        (
            "the targets of rules",
            known.rule_targets.values().find_map(Fact::fault),
        ),
        ("the tags of rules", known.rule_tags.values().find_map(Fact::fault)),
        ("the clusters of the bus", survey.discovered().fault()),
    ];
    let each = each
        .into_iter()
        .filter_map(|(what, fault)| Some((what.to_owned(), fault?.clone())));
    let (queues, faults): (Vec<_>, Vec<_>) = survey.observed.faults().unzip();
    let first = faults.first().map(|fault| (first_of(queues, 1), (*fault).clone()));
    each.chain(first).collect()
}

#[cfg(test)]
mod tests;
