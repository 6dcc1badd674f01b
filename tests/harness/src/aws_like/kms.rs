//! The key of a queue, as SQS passes on its state.

use serde_json::json;

use super::At;
use super::Behavior::S18;
use super::reply::Reply;

/// The error of a send to this queue, if its key cannot be used.
pub(super) async fn unusable_key(at: &At<'_>, queue_url: &str) -> Option<Reply> {
    if !at.is_on(S18) {
        return None;
    }
    let question = json!({"QueueUrl": queue_url, "AttributeNames": ["KmsMasterKeyId"]});
    let attributes = at.ask("sqs", "GetQueueAttributes", &question).await.json();
    let key = attributes["Attributes"]["KmsMasterKeyId"].as_str().filter(|key| !key.is_empty())?;
    let found = at.ask("kms", "DescribeKey", &json!({ "KeyId": key })).await;
    let metadata = found.json()["KeyMetadata"].clone();
    let code = match (metadata["KeyState"].as_str(), metadata["KeyUsage"].as_str()) {
        (None, _) => "KMS.NotFoundException",
        (Some("Disabled"), _) => "KMS.DisabledException",
        (Some("PendingDeletion" | "PendingImport" | "Unavailable"), _) => "KMS.InvalidStateException",
        (_, Some("SIGN_VERIFY")) => "KMS.InvalidKeyUsageException",
        _ => return None,
    };
    at.strike(S18);
    let shape = code.replace("KMS.", "Kms").replace("Exception", "");
    Some(Reply::sqs_error(400, &shape, code, &format!("{key} cannot be used.")))
}
