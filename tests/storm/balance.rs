//! The balance of a storm: every event sent, with its result.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::receive::Received;
use super::send::SentEvents;
use super::test_bus::RouterLog;
use super::workload::{ExpectedResult, Workload};

/// What the router's log must count for a storm to be meaningful.
const NEEDED: [&str; 2] = ["ReceivedByRouter", "NotNotified"];

/// The faults of such a storm. On a slow machine, each invocation is part of a storm, in which no topic is called.
const NEEDED_FAULTS: [&str; 4] = [
    "FailedEntry SendMessageBatch",
    "LostAnswer SendMessageBatch",
    "Throttled DescribeTags",
    "Throttled ReceiveMessage",
];

pub(super) struct Balance {
    /// Every mistake that was found.
    pub(super) wrong: Vec<String>,
    pub(super) report: BTreeMap<String, u64>,
}

impl Balance {
    pub(super) fn new(
        workload: &Workload,
        sent: &SentEvents,
        received: Received,
        dead_letters: &[String],
        log: &RouterLog,
        faults: &BTreeMap<String, u64>,
    ) -> Self {
        let counted = |name: &str| log.counted.get(name).copied().unwrap_or(0);
        let (mut wrong, mut results) = (received.unexpected, BTreeMap::<String, u64>::new());
        let dropped: BTreeMap<usize, &str> =
            log.dropped.iter().filter_map(|(message, reason)| Some((*sent.get(message)?, reason.as_str()))).collect();
        let dead: BTreeSet<usize> = dead_letters
            .iter()
            .filter_map(|body| Workload::number(&serde_json::from_str(body).unwrap_or_default()))
            .collect();
        let none = BTreeMap::new();
        let mut ignored: BTreeMap<&str, u64> = BTreeMap::new();
        for event in 0..workload.events {
            let got = received.events.get(&event).unwrap_or(&none);
            let queues: BTreeSet<&str> = got.keys().map(String::as_str).collect();
            let expected = workload.expected(event);
            let wanted: Vec<String> = match &expected {
                ExpectedResult::Delivered(clusters) => {
                    clusters.iter().map(|cluster| workload.queue(*cluster)).collect()
                }
                ExpectedResult::Doomed(cluster) => vec![workload.queue(*cluster)],
                ExpectedResult::Probed => vec![Workload::PROBE_QUEUE.to_owned()],
                _ => Vec::new(),
            };
            let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
            for queue in queues.difference(&wanted) {
                wrong.push(format!("event {event} is in {queue}, but should be in {wanted:?}"));
            }
            let result = match expected {
                ExpectedResult::Delivered(_) | ExpectedResult::Doomed(_) | ExpectedResult::Probed
                    if queues == wanted =>
                {
                    "delivered to all of their clusters".to_owned()
                }
                ExpectedResult::Doomed(_) if dropped.get(&event) == Some(&"unregistered") => {
                    "dropped: unregistered".to_owned()
                }
                ExpectedResult::Lost(reason) if dropped.get(&event) == Some(&reason) => format!("dropped: {reason}"),
                ExpectedResult::Ignored(metric) => {
                    *ignored.entry(metric).or_default() += 1;
                    format!("dropped: {metric}")
                }
                _ if dead.contains(&event) => "dead letters".to_owned(),
                expected => {
                    let reason = dropped.get(&event);
                    wrong.push(format!(
                        "event {event} should be {expected:?}, but is in {queues:?}, dropped {reason:?}"
                    ));
                    continue;
                }
            };
            *results.entry(result).or_default() += 1;
        }
        let mut again = 0;
        for (metric, expected) in ignored {
            // The router does not log these one by one, so only the sums can be compared.
            match counted(metric).checked_sub(expected) {
                Some(more) => again += more,
                None => wrong.push(format!("{expected} events count as {metric}, but only {} did", counted(metric))),
            }
        }
        // A message that the router could not delete returns and is counted again.
        if again > counted("NotDeleted") {
            wrong.push(format!("{again} dropped events were counted again, and {} not deleted", counted("NotDeleted")));
        }
        let total: u64 = results.values().sum();
        if total != workload.events as u64 {
            wrong.push(format!("{} events were sent, but {total} have a result", workload.events));
        }
        let missing = NEEDED_FAULTS.iter().filter(|fault| !faults.contains_key(**fault));
        let missing = missing.chain(NEEDED.iter().filter(|metric| counted(metric) == 0));
        wrong.extend(missing.map(|what| format!("a storm without {what} proves nothing")));
        let copies = || received.events.values().flat_map(BTreeMap::values).map(|copies| u64::from(*copies));
        results.extend([
            ("copies delivered".to_owned(), copies().sum()),
            ("copies delivered again".to_owned(), copies().map(|copies| copies - 1).sum()),
            ("invocations".to_owned(), log.invocations),
        ]);
        results.extend(faults.clone());
        results.extend(log.counted.clone());
        Self { wrong, report: results }
    }

    pub(super) fn with_times(mut self, took: Duration, processor: Duration) -> Self {
        let times = [("seconds", took.as_secs()), ("seconds of CPU time of the router", processor.as_secs())];
        self.report.extend(times.map(|(name, seconds)| (name.to_owned(), seconds)));
        self
    }
}
