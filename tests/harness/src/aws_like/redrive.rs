//! `RedriveAllowPolicy`: which queues may have a queue as their dead-letter queue.

use serde_json::{Value, json};

use super::At;
use super::Behavior::S24;
use super::reply::Reply;

const ATTRIBUTE: &str = "RedriveAllowPolicy";

/// SQS refuses a redrive policy if the dead-letter queue does not allow the source. Nothing is moved then, because the source keeps
/// the redrive policy that it had. What becomes of sources from before is documented nowhere, and not simulated.
pub(super) async fn refused(at: &At<'_>, source: &str) -> Option<Reply> {
    let text = at.call.json["Attributes"]["RedrivePolicy"].as_str().filter(|_| at.is_on(S24))?;
    let policy: Value = serde_json::from_str(text).ok()?;
    // Both are in the same account and Region.
    let (place, target) = policy["deadLetterTargetArn"].as_str()?.rsplit_once(':')?;
    let url = at.ask("sqs", "GetQueueUrl", &json!({ "QueueName": target })).await.json()["QueueUrl"].take();
    let question = json!({"QueueUrl": url, "AttributeNames": [ATTRIBUTE]});
    let target = at.ask("sqs", "GetQueueAttributes", &question).await.json();
    let allow: Value = serde_json::from_str(target["Attributes"][ATTRIBUTE].as_str()?).ok()?;
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
