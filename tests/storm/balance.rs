//! The balance of a storm: every event sent, with its result.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::receive::Received;
use super::send::SentEvents;
use super::test_bus::RouterLog;
use super::workload::{ExpectedResult, Workload};

/// The result of every event.
pub(super) struct Balance {
    sent: usize,
    delivered: usize,
    /// Delivered copies, and those that arrived again.
    copies: u32,
    again: u32,
    dropped: BTreeMap<String, usize>,
    dead: usize,
    wrong: Vec<String>,
    faults: BTreeMap<&'static str, u64>,
    invocations: u64,
    received: u64,
    /// Messages that the router received and could not delete, and the dropped events that it counted again.
    not_deleted: usize,
    /// Notices that the topic did not take.
    not_notified: u64,
    ignored_again: usize,
    calls: u64,
    took: Duration,
    processor: Duration,
}

impl Balance {
    pub(super) fn new(
        workload: &Workload,
        sent: &SentEvents,
        received: Received,
        dead_letters: &[String],
        log: &RouterLog,
        took: Duration,
    ) -> Self {
        let counted = |name: &str| log.counted.get(name).copied().unwrap_or(0);
        let mut balance = Self {
            sent: workload.events,
            delivered: 0,
            copies: 0,
            again: 0,
            dropped: BTreeMap::new(),
            dead: 0,
            wrong: received.unexpected,
            faults: BTreeMap::new(),
            invocations: log.invocations,
            received: counted("ReceivedByRouter"),
            not_deleted: usize::try_from(counted("NotDeleted")).unwrap_or(usize::MAX),
            not_notified: counted("NotNotified"),
            ignored_again: 0,
            calls: ["DescribeTagsCalls", "SendCalls", "ListQueueTagsCalls"].map(counted).iter().sum(),
            took,
            processor: Duration::ZERO,
        };
        let dropped: BTreeMap<usize, &str> =
            log.dropped.iter().filter_map(|(message, reason)| Some((*sent.get(message)?, reason.as_str()))).collect();
        let dead: BTreeSet<usize> = dead_letters
            .iter()
            .filter_map(|body| Workload::number(&serde_json::from_str(body).unwrap_or_default()))
            .collect();
        let none = BTreeMap::new();
        let mut ignored: BTreeMap<&str, usize> = BTreeMap::new();
        for event in 0..workload.events {
            let got = received.events.get(&event).unwrap_or(&none);
            balance.copies += got.values().sum::<u32>();
            balance.again += got.values().map(|copies| copies - 1).sum::<u32>();
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
                balance.wrong.push(format!("event {event} is in {queue}, but should be in {wanted:?}"));
            }
            match expected {
                ExpectedResult::Delivered(_) | ExpectedResult::Doomed(_) | ExpectedResult::Probed
                    if queues == wanted =>
                {
                    balance.delivered += 1;
                }
                ExpectedResult::Doomed(_) if dropped.get(&event) == Some(&"unregistered") => {
                    balance.drop("unregistered")
                }
                ExpectedResult::Lost(reason) if dropped.get(&event) == Some(&reason) => balance.drop(reason),
                ExpectedResult::Ignored(metric) => *ignored.entry(metric).or_default() += 1,
                _ if dead.contains(&event) => balance.dead += 1,
                expected => balance.wrong.push(format!(
                    "event {event} should be {expected:?}, but is in {queues:?} with the drop reason {:?}",
                    dropped.get(&event)
                )),
            }
        }
        for (metric, expected) in ignored {
            // The router does not log these one by one, so only the sums can be compared.
            let counted = usize::try_from(counted(metric)).unwrap_or(usize::MAX);
            match counted.checked_sub(expected) {
                Some(more) => balance.ignored_again += more,
                None => balance.wrong.push(format!("{expected} events must count as {metric}, but only {counted} did")),
            }
            *balance.dropped.entry(words(metric)).or_default() += expected;
        }
        // A message that the router could not delete returns, and is counted again.
        if balance.ignored_again > balance.not_deleted {
            balance.wrong.push(format!(
                "{} dropped events were counted again, but only {} messages were not deleted",
                balance.ignored_again, balance.not_deleted
            ));
        }
        let total = balance.delivered + balance.dropped.values().sum::<usize>() + balance.dead;
        if total != balance.sent {
            balance.wrong.push(format!("{} events were sent, but {total} have a result", balance.sent));
        }
        balance
    }

    pub(super) fn with_faults(mut self, faults: BTreeMap<&'static str, u64>) -> Self {
        // A storm without faults proves nothing. On a slow machine each invocation is one of a storm, in which no topic is called.
        for needed in
            ["throttled receives", "throttled tags", "failed entries", "connections dropped before the answer"]
        {
            if !faults.contains_key(needed) {
                self.wrong.push(format!("no fault of this kind was injected: {needed}"));
            }
        }
        if self.not_notified == 0 {
            self.wrong.push("no notice was tried".to_owned());
        }
        if self.received == 0 {
            self.wrong.push("the router received no message itself".to_owned());
        }
        self.faults = faults;
        self
    }

    pub(super) fn with_processor(mut self, time: Duration) -> Self {
        self.processor = time;
        self
    }

    fn drop(&mut self, reason: &str) {
        *self.dropped.entry(reason.to_owned()).or_default() += 1;
    }

    /// Every mistake that was found.
    pub(super) fn wrong(&self) -> &[String] {
        &self.wrong
    }
}

/// The reason that a metric counts: `DroppedOtherRegion` is "other region".
fn words(metric: &str) -> String {
    let mut words = String::new();
    for letter in metric.trim_start_matches("Dropped").chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

impl fmt::Display for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |count: u64, what: &str| writeln!(f, "{count:>8}  {what}");
        line(self.sent as u64, "events sent")?;
        line(self.delivered as u64, "delivered to all of their clusters")?;
        for (reason, count) in &self.dropped {
            line(*count as u64, &format!("dropped: {reason}"))?;
        }
        line(self.dead as u64, "dead letters")?;
        line(self.wrong.len() as u64, "wrong")?;
        writeln!(f)?;
        let mut line = |count: u64, what: &str| writeln!(f, "{count:>8}  {what}");
        line(self.copies.into(), "copies delivered")?;
        line(self.again.into(), "of these delivered again")?;
        for (what, count) in &self.faults {
            line(*count, what)?;
        }
        line(self.invocations, "invocations")?;
        line(self.received, "messages that the router received itself")?;
        line(self.not_deleted as u64, "of these it could not delete")?;
        line(self.not_notified, "notices that the topic did not take")?;
        line(self.ignored_again as u64, "dropped events counted again")?;
        line(self.calls, "calls to EC2 and SQS, other than those to the hub queue")?;
        writeln!(f)?;
        write!(
            f,
            "{:.1} s in total; the router's processes used {:.1} s of CPU time",
            self.took.as_secs_f64(),
            self.processor.as_secs_f64()
        )
    }
}
