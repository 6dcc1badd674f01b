//! The limits of a queue's settings, what it accepts, and where it is listed.

use serde_json::{Map, Value, json};

use super::At;
use super::Behavior::{S2, S11, S18, S23, S24, T1};
use super::memory::Event::QueueCreated;
use super::reply::Reply;

const SIZE: &str = "MaximumMessageSize";
/// The largest message in China, in bytes.
const LARGEST: u32 = 262_144;

/// The refusal of attributes in a call.
pub(super) async fn refused(at: &At<'_>, queue: &str) -> Option<Reply> {
    let creates = at.call.operation == "CreateQueue";
    if !creates && at.call.operation != "SetQueueAttributes" {
        return None;
    }
    let attributes = &at.call.json["Attributes"];
    if at.strikes_if(S11, is_too_large(at, &attributes[SIZE])) {
        return Some(at.refuse(400, "InvalidAttributeValue", &format!("Invalid value for the parameter {SIZE}.")));
    }
    let text = attributes["RedrivePolicy"].as_str()?;
    let policy: Value = serde_json::from_str(text).ok()?;
    // Both are in the same account and Region.
    let (place, target) = policy["deadLetterTargetArn"].as_str()?.rsplit_once(':')?;
    let is_new = creates && at.strikes_since(S23, at.last(QueueCreated, &at.call.key(target)));
    let why = if is_new {
        "Dead letter target does not exist."
    } else if at.is_on(S24) && at.strikes_if(S24, refuses(at, target, &format!("{place}:{queue}")).await) {
        // No source quotes the reason.
        "the dead-letter queue does not allow it."
    } else {
        return None;
    };
    let message = format!("Value {text} for parameter RedrivePolicy is invalid. Reason: {why}");
    Some(at.refuse(400, "InvalidParameterValue", &message))
}

fn is_too_large(at: &At<'_>, size: &Value) -> bool {
    let bytes: Option<u32> = size.as_str().and_then(|text| text.parse().ok());
    at.call.region.starts_with("cn-") && bytes.is_some_and(|bytes| bytes > LARGEST)
}

/// The emulator's default becomes the Region's default.
pub(super) fn lower_size(at: &At<'_>, attributes: &mut Map<String, Value>) {
    if let Some(size) = attributes.get_mut(SIZE)
        && at.strikes_if(S11, is_too_large(at, size))
    {
        *size = LARGEST.to_string().into();
    }
}

/// Whether a queue refuses the dead letters of a source. Then nothing is moved, because the source keeps its old
/// redrive policy. The effect on existing sources is not documented, and not simulated.
async fn refuses(at: &At<'_>, queue: &str, source: &str) -> bool {
    let url = at.queue_url(queue).await.unwrap_or_default();
    let allow = document(&at.attributes(&url).await["RedriveAllowPolicy"]);
    let sources = allow["sourceQueueArns"].as_array();
    match allow["redrivePermission"].as_str() {
        Some("denyAll") => true,
        Some("byQueue") => !sources.is_some_and(|sources| sources.contains(&json!(source))),
        _ => false,
    }
}

/// The answer to a CreateQueue of a queue that exists.
pub(super) async fn existing(at: &At<'_>, url: Value) -> Option<Reply> {
    if !at.strikes_if(S2, true) {
        return None;
    }
    let found = at.attributes(&url).await;
    let wanted = at.call.json["Attributes"].as_object();
    let differs = wanted.into_iter().flatten().find(|(name, value)| {
        let found = match &found[name.as_str()] {
            Value::Null if *name == "SqsManagedSseEnabled" => &json!("true"),
            found => found,
        };
        document(value) != document(found)
    });
    Some(match differs {
        Some((name, _)) => {
            let why = "A queue already exists with the same name and a different value for attribute";
            at.refuse(400, "QueueAlreadyExists", &format!("{why} {name}"))
        }
        None => Reply::success(&json!({ "QueueUrl": url })),
    })
}

/// The error of a send to a queue whose key cannot be used, as SQS passes it on.
pub(super) async fn unusable_key(at: &At<'_>) -> Option<Reply> {
    if !at.is_on(S18) {
        return None;
    }
    let attributes = at.attributes(&at.call.json["QueueUrl"]).await;
    let key = attributes["KmsMasterKeyId"].as_str().filter(|key| !key.is_empty())?;
    let found = at.ask("kms", "DescribeKey", &json!({ "KeyId": key })).await.json();
    let metadata = &found["KeyMetadata"];
    let code = match (metadata["KeyState"].as_str(), metadata["KeyUsage"].as_str()) {
        (None, _) => "KMS.NotFoundException",
        (Some("Disabled"), _) => "KMS.DisabledException",
        (Some("PendingDeletion" | "PendingImport" | "Unavailable"), _) => "KMS.InvalidStateException",
        (_, Some("SIGN_VERIFY")) => "KMS.InvalidKeyUsageException",
        _ => return None,
    };
    at.strike(S18);
    Some(at.refuse(400, code, &format!("{key} cannot be used.")))
}

/// A queue as the tagging API lists it.
pub(super) async fn listed(at: &At<'_>, queue: &str) -> Value {
    let question = json!({ "QueueUrl": at.call.text("QueueUrl") });
    let answer = at.ask("sqs", "ListQueueTags", &question).await.json();
    let tags = answer["Tags"].as_object().into_iter().flatten();
    let tags: Vec<_> = tags.map(|(key, value)| json!({"Key": key, "Value": value})).collect();
    json!({"ResourceARN": at.arn("sqs", queue), "Tags": tags})
}

/// A list of the tagging API, without new queues and with deleted ones.
pub(super) fn late_list(at: &At<'_>, reply: &mut Reply) {
    let mut body = reply.json();
    let Some(list) = body["ResourceTagMappingList"].as_array_mut().filter(|_| at.is_on(T1)) else {
        return;
    };
    list.retain(|found| {
        let arn = found["ResourceARN"].as_str().unwrap_or_default();
        let queue = arn.rsplit(':').next().unwrap_or_default();
        !(arn.contains(":sqs:") && at.strikes_since(T1, at.last(QueueCreated, &at.call.key(queue))))
    });
    let kinds = at.call.json["ResourceTypeFilters"].as_array();
    let has_queues =
        kinds.is_none_or(|kinds| kinds.iter().any(|kind| kind.as_str().is_some_and(|kind| kind.starts_with("sqs"))));
    for (_, deleted) in at.all_still_shown(T1) {
        let is_missing = !list.iter().any(|found| found["ResourceARN"] == deleted["ResourceARN"]);
        if at.strikes_if(T1, has_queues && is_missing && has_tags(&deleted, &at.call.json["TagFilters"])) {
            list.push(deleted);
        }
    }
    reply.set_json(&body);
}

fn has_tags(resource: &Value, filters: &Value) -> bool {
    let tags = resource["Tags"].as_array().map_or(&[][..], Vec::as_slice);
    let has = |filter: &Value| {
        let values = filter["Values"].as_array().filter(|values| !values.is_empty());
        tags.iter().any(|tag| tag["Key"] == filter["Key"] && values.is_none_or(|values| values.contains(&tag["Value"])))
    };
    filters.as_array().into_iter().flatten().all(has)
}

/// A document in an attribute, or its text.
fn document(value: &Value) -> Value {
    let text = value.as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}
