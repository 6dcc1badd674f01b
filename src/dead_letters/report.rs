//! What is shown of a dead-letter queue.

use std::collections::BTreeMap;

use super::read::SeenLetters;
use super::{DeadLetter, HIDDEN, LetterEvent, RetryLine};
use crate::model::answer::{Fact, Fault};
use crate::model::name::QueueName;

/// The dead letters of a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterReport {
    pub queue: QueueName,
    /// How many messages it holds, as SQS counts, and at least those that were seen.
    pub about: u64,
    /// Those that were seen, the oldest first.
    pub letters: Vec<ReportedLetter>,
    /// Why the report lacks something.
    pub warnings: Vec<String>,
}

/// A dead letter and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedLetter {
    pub letter: DeadLetter,
    /// What it says; `None` if it is not an event.
    pub event: Option<LetterEvent>,
    /// The last line of the router's log about it.
    pub retry: Option<RetryLine>,
}

/// The report about what was seen at `now`, in milliseconds of the Unix epoch, with the router's log if it could be read.
/// `count` is the number of messages that the queue holds, as SQS counts.
pub fn report(
    queue: QueueName,
    count: u64,
    seen: SeenLetters,
    log: &Fact<(BTreeMap<String, RetryLine>, bool)>,
    now: i64,
) -> DeadLetterReport {
    DeadLetterReport {
        about: count.max(u64::try_from(seen.letters.len()).unwrap_or(u64::MAX)),
        letters: seen
            .letters
            .into_iter()
            .map(|letter| ReportedLetter {
                event: letter.event(now),
                retry: log.present().and_then(|(lines, _)| lines.get(&letter.id).cloned()),
                letter,
            })
            .collect(),
        warnings: warnings(seen.cut, seen.unreleased.as_ref(), log),
        queue,
    }
}

fn warnings(cut: bool, unreleased: Option<&Fault>, log: &Fact<(BTreeMap<String, RetryLine>, bool)>) -> Vec<String> {
    let cut = cut.then(|| "these are not all: redrive or delete them, then run again for the others".to_owned());
    let hidden = unreleased.map(|fault| format!("dead letters stay hidden for {HIDDEN} seconds: {fault}"));
    let log = match log {
        Fact::Unreadable(fault) => Some(format!("the router's log could not be read: {fault}")),
        Fact::Present((_, false)) => Some("the router's log is too long and was not read to its end".to_owned()),
        Fact::NotAsked | Fact::Absent | Fact::Present(_) => None,
    };
    cut.into_iter().chain(hidden).chain(log).collect()
}
