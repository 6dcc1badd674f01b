//! Messages as Lambda passes them to the router (Lambda developer guide, "Using Lambda with Amazon SQS"), and the router's
//! answer. An operator passes probes and dead letters in the same format, without a queue.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::router_line::DELIVERED;

#[derive(Debug, Serialize, Deserialize)]
pub struct SqsEvent {
    #[serde(rename = "Records")]
    pub records: Vec<SqsRecord>,
}

impl SqsEvent {
    /// One message that does not come from a queue.
    pub fn of_invocation(id: &str, body: String) -> Self {
        let record = SqsRecord { message_id: id.to_owned(), body, ..SqsRecord::default() };
        Self { records: vec![record] }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SqsRecord {
    pub message_id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub receipt_handle: String,
    #[serde(default)]
    pub body: String,
    #[serde(default)]
    pub attributes: SqsAttributes,
    /// Lambda names the queue of every message; an operator names none.
    #[serde(rename = "eventSourceARN", skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SqsAttributes {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub approximate_receive_count: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sent_timestamp: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RouterAnswer {
    #[serde(skip)]
    pub returned: BTreeSet<String>,
    /// What the router decided about each message, by its id.
    pub decisions: BTreeMap<String, Vec<RouterDecision>>,
}

/// What the router decided about a message, or about one of several instances in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RouterDecision {
    /// `delivered`, `dropped` or `retried`.
    pub decision: String,
    pub reason: Option<String>,
    pub cluster: Option<String>,
}

impl RouterDecision {
    pub fn is_delivered(&self) -> bool {
        self.decision == DELIVERED
    }
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

/// The messages that an answer returns to the queue, as Lambda reads it: an answer about any other message fails all of them.
fn failed_messages<'a>(answer: &[u8], sent: &[&'a str]) -> Vec<&'a str> {
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
