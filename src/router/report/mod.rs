//! What an invocation tells: a JSON line for each decision that loses something or puts it off, one line of metrics in
//! CloudWatch's embedded metric format, and one more for each cluster that got something. Nothing of a message's own
//! text is in them, and each has a bound.

mod decisions;
mod metrics;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use serde_json::Value;

use super::route::{Message, Outcome};
use super::verdict::Verdict;
use super::{Calls, Item};
use crate::model::name::BusName;

/// What is told of one invocation.
#[derive(Clone, Debug)]
pub struct Report {
    /// The lines about decisions.
    pub decisions: Vec<Value>,
    /// The lines of metrics: the invocation's, then one for each cluster that got something.
    pub metrics: Vec<Value>,
    /// What was counted, by the metrics' names.
    pub counts: BTreeMap<&'static str, u32>,
}

impl Report {
    /// The report of an invocation that ended at `now`, in milliseconds of the Unix epoch.
    pub(super) fn new(
        bus: &BusName,
        request: &str,
        messages: &[Message],
        outcome: &Outcome,
        calls: &Calls,
        now: i64,
    ) -> Self {
        let counts = counts(messages, outcome, calls);
        Self {
            decisions: decisions::lines(request, messages, &outcome.items),
            metrics: metrics::lines(bus, request, &counts, outcome, now),
            counts,
        }
    }
}

fn counts(messages: &[Message], outcome: &Outcome, calls: &Calls) -> BTreeMap<&'static str, u32> {
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let dropped = |item: &&Item| matches!(item.verdict, Verdict::Dropped(_));
    let mut counts = BTreeMap::from([
        ("Received", size(messages.len())),
        ("Delivered", size(outcome.delivered.len())),
        ("Dropped", size(outcome.items.iter().filter(dropped).count())),
        ("GivenBack", size(outcome.given_back().len())),
        ("Repaired", size(outcome.repairs.len())),
        ("DescribeTagsCalls", calls.describe_tags.load(Ordering::Relaxed)),
        ("SendCalls", calls.send.load(Ordering::Relaxed)),
        ("ListQueueTagsCalls", calls.list_queue_tags.load(Ordering::Relaxed)),
    ]);
    let reasons = outcome.items.iter().filter_map(|item| match item.verdict {
        Verdict::Delivered => None,
        Verdict::Dropped(drop) => Some(drop.metric()),
        Verdict::GivenBack(why) => Some(why.metric()),
    });
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::{Delivery, Drop, GiveBack, InstanceId};
    use super::*;
    use crate::model::signal::Signal;

    pub(super) fn item(message: usize, cluster: &str, verdict: Verdict) -> Item {
        Item {
            message,
            signal: Some(Signal::ScheduledChange),
            instance: InstanceId::parse(&format!("i-{message}")),
            cluster: cluster.parse().ok(),
            verdict,
        }
    }

    /// The delays are those of what was delivered, in order; without one it names no time.
    pub(super) fn report(items: Vec<Item>, delays: &[i64]) -> Report {
        let message = |n: usize| Message {
            id: format!("m{n}"),
            receipt: "secret".to_owned(),
            body: "secret".to_owned(),
            receives: Some(2),
            arrived: 0,
        };
        let delivered = items.iter().filter(|item| item.verdict == Verdict::Delivered);
        let outcome = Outcome {
            delivered: delivered
                .enumerate()
                .map(|(number, item)| Delivery {
                    cluster: item.cluster.clone(),
                    delay: delays.get(number).copied(),
                })
                .collect(),
            items,
            repairs: Vec::new(),
        };
        let messages: Vec<Message> = (0..3).map(message).collect();
        let bus = "kibus".parse().unwrap();
        Report::new(&bus, "request", &messages, &outcome, &Calls::default(), 5)
    }

    #[test]
    fn reasons_and_their_metrics_are_told_apart() {
        let drops = Drop::ALL.iter().map(|reason| (reason.as_str(), reason.metric()));
        let back = GiveBack::ALL.iter().map(|reason| (reason.as_str(), reason.metric()));
        let all: Vec<_> = drops.chain(back).collect();
        let names: std::collections::HashSet<_> = all.iter().map(|(name, _)| name).collect();
        let metrics: std::collections::HashSet<_> = all.iter().map(|(_, metric)| metric).collect();
        assert_eq!((names.len(), metrics.len()), (all.len(), all.len()));
    }
}
