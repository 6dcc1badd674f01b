//! One message of the dead-letter queue, and what it says.

use serde_json::Value;

use super::cause::DeadLetterCause;
use super::usefulness::Usefulness;
use crate::model::name::InstanceId;
use crate::model::signal::{Signal, SubjectMember};

/// A message in the dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The id that SQS gave it, which it keeps on its way from the hub queue.
    pub id: String,
    /// When SQS first took it, in milliseconds of the Unix epoch.
    pub sent: i64,
    /// How often it was received, from both queues.
    pub receives: u32,
    pub cause: DeadLetterCause,
    pub body: String,
    /// What SQS needs to release or delete it, until it is received again.
    pub receipt: String,
}

/// What a dead letter says, as far as it can be read. The router reads it again, and decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterEvent {
    pub detail_type: String,
    /// Its kind, if Karpenter may act on it.
    pub signal: Option<Signal>,
    pub instances: Vec<String>,
    pub usefulness: Usefulness,
}

impl DeadLetter {
    /// What it says at the time `now`, in milliseconds of the Unix epoch; `None` if it is not an event.
    pub fn event(&self, now: i64) -> Option<LetterEvent> {
        let event: Value = serde_json::from_str(&self.body).ok()?;
        let (source, detail_type) = (event["source"].as_str()?, event["detail-type"].as_str()?);
        let detail = event["detail"].as_object()?;
        let member = |name| detail.get(name).unwrap_or(&Value::Null);
        let signal = Signal::of(source, detail_type);
        let named = match signal.map(Signal::subject) {
            None | Some(SubjectMember::Cluster) => Vec::new(),
            Some(SubjectMember::Instance) => vec![member("instance-id")],
            Some(SubjectMember::Entities) => match member("affectedEntities") {
                Value::Array(entities) => entities.iter().map(|entity| &entity["entityValue"]).collect(),
                one => vec![&one["entityValue"]],
            },
        };
        Some(LetterEvent {
            detail_type: detail_type.to_owned(),
            signal,
            instances: named.into_iter().filter_map(instance).collect(),
            usefulness: Usefulness::of(signal, &event, now),
        })
    }
}

/// The instance id in an id or an ARN.
fn instance(value: &Value) -> Option<String> {
    let id: InstanceId = value.as_str()?.rsplit('/').next()?.parse().ok()?;
    Some(id.to_string())
}
