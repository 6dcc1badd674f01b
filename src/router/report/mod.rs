//! The output of an invocation: a JSON line for each loss or retry, one line of metrics in CloudWatch's embedded metric
//! format, and one more for each cluster with a delivery. No line contains text of a message, and the number and size of
//! the lines have limits.

mod decisions;
mod metrics;

use std::collections::BTreeMap;

pub(super) use decisions::answered;
use serde_json::Value;

use super::batch::{Item, Message, RoutedBatch};
use super::call_counts::CallCounts;
use super::decision::Decision;
use crate::model::name::BusName;

/// The log lines and metrics of one invocation.
#[derive(Clone, Debug)]
pub(super) struct InvocationReport {
    /// The lines about losses and retries.
    pub(super) decisions: Vec<Value>,
    /// The lines of metrics: the invocation's, then one for each cluster with a delivery.
    pub(super) metrics: Vec<Value>,
    /// Each metric with its count.
    pub(super) counts: BTreeMap<&'static str, u32>,
}

impl InvocationReport {
    /// The report of an invocation that ended at `now`, in milliseconds of the Unix epoch.
    pub(super) fn new(
        bus: &BusName,
        request: &str,
        messages: &[Message],
        routed: &RoutedBatch,
        calls: &CallCounts,
        now: i64,
    ) -> Self {
        let counts = counts(messages, routed, calls);
        Self {
            decisions: decisions::lines(request, messages, &routed.items)
                .into_iter()
                .chain(decisions::contradictions(request, &routed.contradictions))
                .collect(),
            metrics: metrics::lines(bus, request, &counts, routed, now),
            counts,
        }
    }
}

fn counts(messages: &[Message], routed: &RoutedBatch, calls: &CallCounts) -> BTreeMap<&'static str, u32> {
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let dropped = |item: &&Item| matches!(item.decision, Decision::Dropped(_));
    let mut counts = BTreeMap::from([
        ("Received", size(messages.len())),
        ("Delivered", size(routed.delivered.len())),
        ("Dropped", size(routed.items.iter().filter(dropped).count())),
        ("Retried", size(routed.retried().len())),
        ("Repaired", size(routed.repairs.len())),
        ("ContradictingTags", size(routed.contradictions.len())),
    ]);
    counts.extend(calls.metrics());
    let reasons = routed.items.iter().filter_map(|item| match item.decision {
        Decision::Delivered => None,
        Decision::Dropped(why) => Some(why.metric()),
        Decision::Retried(why) => Some(why.metric()),
    });
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::batch::{Delivery, Origin};
    use super::super::decision::{DropReason, RetryReason};
    use super::super::instance::InstanceId;
    use super::*;
    use crate::model::signal::Signal;
    use std::collections::BTreeSet;

    pub(super) fn item(message: usize, cluster: &str, decision: Decision) -> Item {
        Item {
            message,
            signal: Some(Signal::ScheduledChange),
            instance: InstanceId::parse(&format!("i-{message}")),
            cluster: cluster.parse().ok(),
            decision,
        }
    }

    /// A report about these items. The deliveries have these delays, in order, and no time after the last.
    pub(super) fn report(items: Vec<Item>, delays: &[i64]) -> InvocationReport {
        let message = |n: usize| Message {
            id: format!("m{n}"),
            origin: Origin::HubQueue {
                receipt: "secret".to_owned(),
            },
            body: "secret".to_owned(),
            receives: Some(2),
            arrived: 0,
        };
        let delivered = items.iter().filter(|item| item.decision == Decision::Delivered);
        let routed = RoutedBatch {
            delivered: delivered
                .enumerate()
                .map(|(number, item)| Delivery {
                    cluster: item.cluster.clone(),
                    delay: delays.get(number).copied(),
                })
                .collect(),
            items,
            repairs: Vec::new(),
            contradictions: BTreeSet::new(),
        };
        let messages: Vec<Message> = (0..3).map(message).collect();
        let bus = "kibus".parse().unwrap();
        InvocationReport::new(&bus, "request", &messages, &routed, &CallCounts::default(), 5)
    }

    #[test]
    fn no_two_reasons_have_one_name_or_metric() {
        let drops = DropReason::ALL.iter().map(|reason| (reason.as_str(), reason.metric()));
        let retries = RetryReason::ALL.iter().map(|reason| (reason.as_str(), reason.metric()));
        let all: Vec<_> = drops.chain(retries).collect();
        let names: std::collections::HashSet<_> = all.iter().map(|(name, _)| name).collect();
        let metrics: std::collections::HashSet<_> = all.iter().map(|(_, metric)| metric).collect();
        assert_eq!((names.len(), metrics.len()), (all.len(), all.len()));
    }
}
