//! `RedriveAllowPolicy`: which queues may have a queue as their dead-letter queue.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::At;
use super::Behavior::S24;
use super::reply::Reply;

const ATTRIBUTE: &str = "RedriveAllowPolicy";

/// The policies that an emulator accepts and does not return, like moto.
#[derive(Default)]
pub(super) struct Dropped(Mutex<HashMap<String, String>>);

impl Dropped {
    /// SQS refuses a redrive policy if the dead-letter queue does not allow the source. Nothing is moved then, because the
    /// source keeps the redrive policy that it had. What becomes of sources from before is documented nowhere, and not
    /// simulated.
    pub(super) async fn refused(&self, at: &At<'_>, source: &str) -> Option<Reply> {
        let text = at.call.json["Attributes"]["RedrivePolicy"].as_str().filter(|_| at.is_on(S24))?;
        let policy: Value = serde_json::from_str(text).ok()?;
        // Both are in the same account and Region.
        let (place, target) = policy["deadLetterTargetArn"].as_str()?.rsplit_once(':')?;
        let allow: Value = serde_json::from_str(&self.of(at, target).await?).ok()?;
        let is_allowed = match allow["redrivePermission"].as_str()? {
            "denyAll" => false,
            "byQueue" => allow["sourceQueueArns"].as_array()?.contains(&json!(format!("{place}:{source}"))),
            _ => true,
        };
        if is_allowed {
            return None;
        }
        at.strike(S24);
        // No source quotes the reason.
        let message = format!(
            "Value {text} for parameter RedrivePolicy is invalid. Reason: the dead-letter queue does not allow it."
        );
        Some(Reply::sqs_error(400, "InvalidParameterValueException", "InvalidParameterValue", &message))
    }

    /// Keeps the policy of a call that succeeded, if the emulator does not.
    pub(super) async fn keep(&self, at: &At<'_>, key: String, url: &Value) {
        let Some(policy) = at.call.json["Attributes"][ATTRIBUTE].as_str() else {
            return;
        };
        if policy.is_empty() || stored(at, url).await.is_some() {
            self.forget(&key);
        } else {
            self.0.lock().unwrap().insert(key, policy.to_owned());
        }
    }

    pub(super) fn forget(&self, key: &str) {
        self.0.lock().unwrap().remove(key);
    }

    /// Adds the policy to the attributes of a queue.
    pub(super) fn add(&self, at: &At<'_>, key: &str, reply: &mut Reply) {
        let asked = at.call.json["AttributeNames"].as_array().into_iter().flatten();
        let is_asked = asked.into_iter().any(|name| name == "All" || name == ATTRIBUTE);
        if let Some(policy) = self.0.lock().unwrap().get(key).filter(|_| is_asked) {
            let mut body = reply.json();
            body["Attributes"][ATTRIBUTE] = policy.as_str().into();
            reply.set_json(&body);
        }
    }

    async fn of(&self, at: &At<'_>, queue: &str) -> Option<String> {
        let kept = self.0.lock().unwrap().get(&at.call.key(queue)).cloned();
        if kept.is_some() {
            return kept;
        }
        let found = at.ask("sqs", "GetQueueUrl", &json!({ "QueueName": queue })).await;
        stored(at, &found.json()["QueueUrl"]).await
    }
}

/// The policy that the emulator returns.
async fn stored(at: &At<'_>, url: &Value) -> Option<String> {
    let question = json!({"QueueUrl": url, "AttributeNames": [ATTRIBUTE]});
    let answer = at.ask("sqs", "GetQueueAttributes", &question).await.json();
    answer["Attributes"][ATTRIBUTE].as_str().map(str::to_owned)
}
