//! Dead letters as a batch that Lambda would pass to the router, and the router's answer.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::letter::DeadLetter;

/// The longest payload of an invocation that is waited for, in bytes (Lambda developer guide, "Lambda quotas": 6 MB).
const PAYLOAD: usize = 6_000_000;

/// The event with which Lambda would pass these messages to the router. It names no queue, so the router changes the
/// visibility of none. A dead letter was received before: the router must not wait for the tags of a new instance.
pub fn batch_event(letters: &[&DeadLetter]) -> Value {
    json!({ "Records": letters.iter().map(|letter| record(letter)).collect::<Vec<_>>() })
}

fn record(letter: &DeadLetter) -> Value {
    json!({
        "messageId": letter.id,
        "body": letter.body,
        "attributes": {
            "ApproximateReceiveCount": letter.receives.max(2).to_string(),
            "SentTimestamp": letter.sent.to_string(),
        },
    })
}

/// How many of these messages, from the first, one invocation takes. It takes at least one: SQS has messages of at most
/// 1 MiB, which JSON can double.
pub(super) fn fitting<'a>(letters: impl IntoIterator<Item = &'a DeadLetter>) -> usize {
    let mut length = batch_event(&[]).to_string().len();
    let fits = |letter: &&DeadLetter| {
        length += record(letter).to_string().len() + 1;
        length <= PAYLOAD
    };
    letters.into_iter().take_while(fits).count().max(1)
}

/// The messages that the router's answer to a batch returns to the queue, read as Lambda reads it: an answer that is not
/// about these messages fails all of them.
pub(super) fn failed_messages<'a>(answer: &[u8], sent: &[&'a str]) -> Vec<&'a str> {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let Some(failures) = answer["batchItemFailures"].as_array() else {
        return sent.to_vec();
    };
    let find = |failure: &Value| {
        let id = failure["itemIdentifier"].as_str()?;
        sent.iter().copied().find(|sent| *sent == id)
    };
    let failed: Option<Vec<&str>> = failures.iter().map(find).collect();
    failed.unwrap_or_else(|| sent.to_vec())
}

/// What the router answers about a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RouterAnswer {
    /// The messages that the router returns.
    #[serde(skip)]
    pub returned: BTreeSet<String>,
    /// What the router decided about each message, by its id.
    pub decisions: BTreeMap<String, Vec<RouterDecision>>,
}

/// What the router decided about a message, or about one of several instances in it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RouterDecision {
    /// `delivered`, `dropped` or `retried`.
    pub decision: String,
    pub reason: Option<String>,
    /// The cluster, if the router knows it.
    pub cluster: Option<String>,
}

impl RouterAnswer {
    /// Reads the answer about these messages. Decisions that cannot be read are unknown.
    pub fn read(answer: &[u8], sent: &[&str]) -> Self {
        Self {
            returned: failed_messages(answer, sent).into_iter().map(str::to_owned).collect(),
            ..serde_json::from_slice(answer).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dead_letters::DeadLetterCause;

    /// A test of the router reads the same file.
    #[test]
    fn a_batch_is_what_the_router_reads() {
        let letter = DeadLetter {
            id: "m".to_owned(),
            sent: 5,
            receives: 1,
            cause: DeadLetterCause::GivenUp,
            body: "{}".to_owned(),
            receipt: String::new(),
        };
        let expected: Value = serde_json::from_str(include_str!("batch.json")).unwrap();
        assert_eq!(batch_event(&[&letter]), expected);
    }
}
