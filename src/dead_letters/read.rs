//! Reads the dead-letter queue without a lasting change: what is received is made visible again.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::Value;

use super::{DeadLetter, DeadLetters, HIDDEN, LetterResult, LetterStatus, Treated, Treatment};
use crate::model::answer::Fault;
use crate::model::name::QueueName;
use crate::model::scope::Scope;

/// How many dead letters are read at most.
const MOST: usize = 1_000;
/// How many bytes their texts have at most, before the last receive: most events have less than 2 KB, and SQS takes 1 MiB.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// How many receives in a row may return only messages that were seen before. If the whole queue takes longer than
/// [`HIDDEN`], the first messages come again.
const SEEN_AGAIN: usize = 5;
/// How many calls run at once.
const CONCURRENT: usize = 16;

/// What lies in the dead-letter queue, as far as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DeadLettersObject"))]
pub struct DeadLetterReport {
    #[serde(rename = "queue_name")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub queue: QueueName,
    /// How many messages were seen.
    pub seen: usize,
    /// How many messages there are, as SQS counts.
    // At least those that were seen.
    pub about: u64,
    /// What was done with the messages; null if they were only shown.
    pub action: Option<Treatment>,
    // The oldest first.
    #[serde(rename = "messages")]
    pub letters: Vec<DeadLetter>,
    // Why the report lacks something; among the warnings of the hub.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

impl DeadLetterReport {
    /// Notes what became of the dead letters. `None` is a run that was abandoned: its results are unknown.
    pub fn settle(&mut self, treatment: Treatment, treated: Option<&Treated>) {
        self.action = Some(treatment);
        for letter in &mut self.letters {
            let known = treated.and_then(|treated| treated.results.get(&letter.id));
            let (status, why) = match letter.suits(treatment) {
                true => (LetterStatus::Unknown, "the command was stopped during its calls"),
                false => (LetterStatus::Left, "not an event"),
            };
            letter.result = known
                .cloned()
                .or_else(|| Some(LetterResult::new(status, Some(why.to_owned()), &[])));
        }
    }
}

/// A line of the router's log about a message that returned to its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RetryObject"))]
pub struct RetryLine {
    #[serde(skip)]
    pub id: String,
    pub reason: String,
    // If it was known.
    pub cluster: Option<String>,
}

impl RetryLine {
    /// Reads a line; `None` if it is about something else.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        (line["message"] == "retried").then_some(())?;
        Some(Self {
            id: text("message_id")?,
            reason: text("reason")?,
            cluster: text("cluster").filter(|cluster| !cluster.is_empty()),
        })
    }
}

/// Reads the dead letters of a hub as they are at the time `now`, in milliseconds of the Unix epoch, and the router's log about
/// them. `count` is the number of messages that the queue holds, as SQS counts.
pub async fn read(cloud: &impl DeadLetters, scope: &Scope, count: u64, now: i64) -> Result<DeadLetterReport, Fault> {
    let queue = scope.dead_letter_queue();
    let (letters, cut, unreleased) = look(cloud, &queue).await?;
    let mut warnings = Vec::new();
    if cut {
        warnings.push("these are not all: redrive or delete them, then run again for the others".to_owned());
    }
    if let Some(fault) = unreleased {
        warnings.push(format!("dead letters stay hidden for {HIDDEN} seconds: {fault}"));
    }
    let mut retries = BTreeMap::new();
    if let Some(since) = letters.iter().map(|letter| letter.sent).min() {
        match cloud.retry_lines(&scope.router_log_group(), since).await {
            Err(fault) => warnings.push(format!("the router's log could not be read: {fault}")),
            Ok((lines, is_complete)) => {
                let lines = lines.iter().filter_map(|line| RetryLine::parse(line));
                // The last line about each counts.
                retries = lines.map(|line| (line.id.clone(), line)).collect();
                if !is_complete {
                    warnings.push("the router's log is too long and was not read to its end".to_owned());
                }
            }
        }
    }
    Ok(DeadLetterReport {
        queue,
        seen: letters.len(),
        about: count.max(u64::try_from(letters.len()).unwrap_or(u64::MAX)),
        action: None,
        letters: letters
            .into_iter()
            .map(|letter| DeadLetter {
                last_retry: retries.remove(&letter.id),
                ..letter.with_event(now)
            })
            .collect(),
        warnings,
    })
}

/// Reads the dead letters until SQS returns no more or no others of them, at most [`MOST`]. Gives them, the oldest first;
/// whether reading ended at a limit, so there may be more; and why a message is hidden for [`HIDDEN`] seconds, if one could not
/// be made visible again.
async fn look(cloud: &impl DeadLetters, queue: &QueueName) -> Result<(Vec<DeadLetter>, bool, Option<Fault>), Fault> {
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
    Ok((letters, cut, unreleased))
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
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
                body: "x".repeat(self.body),
                ..DeadLetter::default()
            };
            Ok((begin..begin + 10).map(letter).collect())
        }

        async fn release(&self, _: &QueueName, _: &str) -> Result<(), Fault> {
            Ok(())
        }

        async fn delete(&self, _: &QueueName, _: &str) -> Result<(), Fault> {
            unreachable!("reading deletes nothing")
        }

        async fn route(&self, _: &FunctionName, _: &str, _: &Value) -> Result<Vec<u8>, Fault> {
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
                (seen.0.len(), seen.1),
                (expected, cut),
                "{messages} messages of {body} bytes"
            );
        }
    }
}
