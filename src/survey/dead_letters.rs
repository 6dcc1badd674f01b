//! Reads the dead-letter queue without a lasting change: what is received is made visible again.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};

use super::Fact;
use crate::cloud::{DeadLetters, Fault, ReceivedLetter};
use crate::model::dead_letter::{DeadLetter, RetryLine};
use crate::model::name::QueueName;
use crate::model::scope::Scope;

/// How long a received message is hidden, in seconds: longer than the router takes for a batch. A message that a killed
/// command received is visible again after this time.
pub const HIDDEN: u32 = 30;
/// How many dead letters are read at most.
pub const MOST: usize = 1_000;
/// How many calls run at once.
const CONCURRENT: usize = 16;

/// The dead letters that were seen, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenLetters {
    /// The dead letters.
    pub letters: Vec<DeadLetter>,
    /// Why a message is hidden for [`HIDDEN`] seconds, if one could not be made visible again.
    pub unreleased: Option<Fault>,
}

/// Reads the dead letters until SQS returns no more of them, at most [`MOST`].
///
/// # Errors
/// When they cannot be received.
pub async fn look(cloud: &impl DeadLetters, queue: &QueueName) -> Result<SeenLetters, Fault> {
    let mut seen: BTreeMap<String, ReceivedLetter> = BTreeMap::new();
    let ended = loop {
        match cloud.receive(queue, HIDDEN).await {
            Err(fault) => break Err(fault),
            Ok(received) if received.is_empty() => break Ok(()),
            // SQS may return a message twice; only its last receipt counts.
            Ok(received) => seen.extend(received.into_iter().map(|one| (one.letter.id.clone(), one))),
        }
        if seen.len() >= MOST {
            break Ok(());
        }
    };
    let unreleased = release(cloud, queue, seen.values().map(|one| one.receipt.clone())).await;
    ended?;
    let mut letters: Vec<DeadLetter> = seen.into_values().map(|one| one.letter).collect();
    letters.sort_by(|a, b| (a.sent, &a.id).cmp(&(b.sent, &b.id)));
    Ok(SeenLetters { letters, unreleased })
}

/// Makes messages visible again. Gives the first fault; a message that has one is visible again after [`HIDDEN`] seconds.
pub async fn release(
    cloud: &impl DeadLetters,
    queue: &QueueName,
    receipts: impl IntoIterator<Item = String>,
) -> Option<Fault> {
    let calls = stream::iter(receipts).map(|receipt| async move { cloud.release(queue, &receipt).await.err() });
    let faults: Vec<Option<Fault>> = calls.buffer_unordered(CONCURRENT).collect().await;
    faults.into_iter().flatten().next()
}

/// The last line of the router's log about each of these dead letters that it has returned to a queue, and whether the
/// log was read to its end.
pub async fn last_retries(
    cloud: &impl DeadLetters,
    scope: &Scope,
    letters: &[DeadLetter],
) -> Fact<(BTreeMap<String, RetryLine>, bool)> {
    let Some(since) = letters.iter().map(|letter| letter.sent).min() else {
        return Fact::NotAsked;
    };
    let read = cloud.retry_lines(&scope.router_log_group(), since).await;
    Fact::of(read.map(|(lines, complete)| {
        let lines = lines.iter().filter_map(|line| RetryLine::read(line));
        (lines.map(|line| (line.id.clone(), line)).collect(), complete)
    }))
}
