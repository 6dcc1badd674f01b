//! The account: what was sent, and what became of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::bus::Said;
use super::collector::Arrived;
use super::sender::Sent;
use super::traffic::{Fate, Plan};

/// What became of every event.
pub(super) struct Account {
    sent: usize,
    delivered: usize,
    /// Copies that were delivered, and those of them that came again.
    copies: u32,
    again: u32,
    dropped: BTreeMap<String, usize>,
    dead: usize,
    wrong: Vec<String>,
    faults: BTreeMap<&'static str, u64>,
    invocations: u64,
    calls: u64,
    took: Duration,
    processor: Duration,
}

impl Account {
    pub(super) fn new(
        plan: &Plan,
        sent: &Sent,
        arrived: Arrived,
        dead_letters: &[String],
        said: &Said,
        took: Duration,
    ) -> Self {
        let counted = |name: &str| said.counted.get(name).copied().unwrap_or(0);
        let mut account = Self {
            sent: plan.events,
            delivered: 0,
            copies: 0,
            again: 0,
            dropped: BTreeMap::new(),
            dead: 0,
            wrong: arrived.strange,
            faults: BTreeMap::new(),
            invocations: said.invocations,
            calls: ["DescribeTagsCalls", "SendCalls", "ListQueueTagsCalls"]
                .map(counted)
                .iter()
                .sum(),
            took,
            processor: Duration::ZERO,
        };
        let dropped: BTreeMap<usize, &str> = said
            .dropped
            .iter()
            .filter_map(|(message, reason)| Some((*sent.get(message)?, reason.as_str())))
            .collect();
        let dead: BTreeSet<usize> = dead_letters
            .iter()
            .filter_map(|body| Plan::number(&serde_json::from_str(body).unwrap_or_default()))
            .collect();
        let nowhere = BTreeMap::new();
        let mut ignored: BTreeMap<&str, usize> = BTreeMap::new();
        for event in 0..plan.events {
            let got = arrived.events.get(&event).unwrap_or(&nowhere);
            account.copies += got.values().sum::<u32>();
            account.again += got.values().map(|copies| copies - 1).sum::<u32>();
            let queues: BTreeSet<&str> = got.keys().map(String::as_str).collect();
            let fate = plan.fate(event);
            let wanted: Vec<String> = match &fate {
                Fate::Delivered(clusters) => clusters.iter().map(|cluster| plan.queue(*cluster)).collect(),
                Fate::Doomed(cluster) => vec![plan.queue(*cluster)],
                _ => Vec::new(),
            };
            let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
            for queue in queues.difference(&wanted) {
                account
                    .wrong
                    .push(format!("event {event} is in {queue}, and should be in {wanted:?}"));
            }
            match fate {
                Fate::Delivered(_) | Fate::Doomed(_) if queues == wanted => account.delivered += 1,
                Fate::Doomed(_) if dropped.get(&event) == Some(&"unregistered") => account.drop("unregistered"),
                Fate::Lost(reason) if dropped.get(&event) == Some(&reason) => account.drop(reason),
                Fate::Ignored(metric) => *ignored.entry(metric).or_default() += 1,
                _ if dead.contains(&event) => account.dead += 1,
                fate => account.wrong.push(format!(
                    "event {event} should be {fate:?}; it is in {queues:?}, and its drop is {:?}",
                    dropped.get(&event)
                )),
            }
        }
        for (metric, expected) in ignored {
            // Nothing tells these apart one by one, since nobody misses them: the sums must agree.
            let counted = usize::try_from(counted(metric)).unwrap_or(usize::MAX);
            if counted != expected {
                account
                    .wrong
                    .push(format!("{expected} events are to count as {metric}, and {counted} did"));
            }
            *account.dropped.entry(words(metric)).or_default() += counted;
        }
        let balance = account.delivered + account.dropped.values().sum::<usize>() + account.dead;
        if balance != account.sent {
            account
                .wrong
                .push(format!("{} were sent, and {balance} are accounted for", account.sent));
        }
        account
    }

    pub(super) fn with_faults(mut self, faults: BTreeMap<&'static str, u64>) -> Self {
        // A storm in which nothing goes wrong proves nothing.
        for needed in [
            "throttled tags",
            "failed entries",
            "connections dropped before the answer",
        ] {
            if !faults.contains_key(needed) {
                self.wrong.push(format!("there were no {needed}"));
            }
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

    /// What does not balance.
    pub(super) fn wrong(&self) -> &[String] {
        &self.wrong
    }
}

/// A metric as the reason that it counts: `DroppedOtherRegion` is "other region".
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

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |count: u64, what: &str| writeln!(f, "{count:>8}  {what}");
        line(self.sent as u64, "events sent")?;
        line(self.delivered as u64, "delivered to every cluster that they concern")?;
        for (reason, count) in &self.dropped {
            line(*count as u64, &format!("dropped: {reason}"))?;
        }
        line(self.dead as u64, "dead letters")?;
        line(self.wrong.len() as u64, "wrong")?;
        writeln!(f)?;
        let mut line = |count: u64, what: &str| writeln!(f, "{count:>8}  {what}");
        line(self.copies.into(), "copies delivered")?;
        line(self.again.into(), "of them a second time or more")?;
        for (what, count) in &self.faults {
            line(*count, what)?;
        }
        line(self.invocations, "invocations")?;
        line(self.calls, "calls of EC2 and SQS, not counting those about visibility")?;
        writeln!(f)?;
        write!(
            f,
            "{:.1} s in all; the router's processes took {:.1} s of processor time",
            self.took.as_secs_f64(),
            self.processor.as_secs_f64()
        )
    }
}
