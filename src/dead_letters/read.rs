//! Reads the dead-letter queue without a lasting change: what is received is made visible again.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};

use super::{DeadLetter, DeadLetters, HIDDEN, RetryLine};
use crate::model::answer::{Fact, Fault};
use crate::model::name::QueueName;
use crate::model::scope::Scope;

/// How many dead letters are read at most.
pub const MOST: usize = 1_000;
/// How many bytes their texts have at most, before the last receive: most events have less than 2 KB, and SQS takes 1 MiB.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// How many receives in a row may return only messages that were seen before. If the whole queue takes longer than
/// [`HIDDEN`], the first messages come again.
const SEEN_AGAIN: usize = 5;
/// How many calls run at once.
const CONCURRENT: usize = 16;

/// The dead letters that were seen, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenLetters {
    pub letters: Vec<DeadLetter>,
    /// Whether reading ended at a limit, so there may be more.
    pub cut: bool,
    /// Why a message is hidden for [`HIDDEN`] seconds, if one could not be made visible again.
    pub unreleased: Option<Fault>,
}

/// Reads the dead letters until SQS returns no more or no others of them, at most [`MOST`].
pub async fn look(cloud: &impl DeadLetters, queue: &QueueName) -> Result<SeenLetters, Fault> {
    let mut seen: BTreeMap<String, DeadLetter> = BTreeMap::new();
    let (mut bytes, mut again) = (0, 0);
    let ended = loop {
        let received = match cloud.receive(queue, HIDDEN).await {
            Err(fault) => break Err(fault),
            Ok(received) if received.is_empty() => break Ok(false),
            Ok(received) => received,
        };
        let before = seen.len();
        for one in received {
            let length = one.body.len();
            // SQS may return a message twice; only its last receipt counts.
            if seen.insert(one.id.clone(), one).is_none() {
                bytes += length;
            }
        }
        again = if seen.len() == before { again + 1 } else { 0 };
        if seen.len() >= MOST || bytes >= MOST_BYTES {
            break Ok(true);
        }
        if again >= SEEN_AGAIN {
            break Ok(false);
        }
    };
    let unreleased = release(cloud, queue, seen.values().map(|one| one.receipt.clone())).await;
    let cut = ended?;
    let mut letters: Vec<DeadLetter> = seen.into_values().collect();
    letters.sort_by(|a, b| (a.sent, &a.id).cmp(&(b.sent, &b.id)));
    Ok(SeenLetters {
        letters,
        cut,
        unreleased,
    })
}

/// Makes messages visible again. Gives the first fault; a message that has one is visible again after [`HIDDEN`] seconds.
pub(super) async fn release(
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::dead_letters::{DeadLetterCause, RouterAnswer};
    use crate::model::name::{FunctionName, LogGroupName};

    /// A queue of which each message is visible again as soon as all others were received.
    struct Round {
        messages: usize,
        body: usize,
        received: AtomicUsize,
    }

    impl DeadLetters for Round {
        async fn receive(&self, _: &QueueName, _: u32) -> Result<Vec<DeadLetter>, Fault> {
            let begin = self.received.fetch_add(10, Ordering::Relaxed);
            assert!(begin < 100_000, "it does not end");
            let letter = |number: usize| DeadLetter {
                id: (number % self.messages).to_string(),
                sent: 0,
                receives: 1,
                cause: DeadLetterCause::Unknown,
                body: "x".repeat(self.body),
                receipt: String::new(),
            };
            Ok((begin..begin + 10).map(letter).collect())
        }

        async fn release(&self, _: &QueueName, _: &str) -> Result<(), Fault> {
            Ok(())
        }

        async fn delete(&self, _: &QueueName, _: &str) -> Result<(), Fault> {
            unreachable!("reading deletes nothing")
        }

        async fn route(&self, _: &FunctionName, _: &str, _: Vec<&DeadLetter>) -> Result<RouterAnswer, Fault> {
            unreachable!("reading routes nothing")
        }

        async fn retry_lines(&self, _: &LogGroupName, _: i64) -> Result<(Vec<String>, bool), Fault> {
            unreachable!("this reads the queue alone")
        }
    }

    #[tokio::test]
    async fn reading_ends_however_slow_and_large_the_queue_is() {
        for (messages, body, expected, cut) in [
            (900, 10, 900, false),
            (5_000, 10, MOST, true),
            (900, 1024 * 1024, 70, true),
        ] {
            let queue = Round {
                messages,
                body,
                received: AtomicUsize::new(0),
            };
            let seen = look(&queue, &"kibus-hub-dlq".parse().unwrap()).await.unwrap();
            assert_eq!(
                (seen.letters.len(), seen.cut),
                (expected, cut),
                "{messages} messages of {body} bytes"
            );
        }
    }
}
