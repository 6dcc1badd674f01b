//! SQS queues.
//!
//! A queue is read by its computed URL: `GetQueueUrl` also says "does not exist" where access is denied. A change of a
//! queue's attributes takes up to a minute to propagate; nothing waits for that, since deliveries are retried.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use serde_json::{Value, json};

use super::AwsCloud;
use super::changes::Changes;
use super::deleted_queue::until_gone;
use super::document;
use super::error::{OrFault, if_present, rejected};
use super::wait::{Tried, WaitReason, Waiting, accepted, pause, settled};
use crate::cloud::{Fault, FaultKind};
use crate::model::cluster::TAGS_REMEMBERED;
use crate::model::document::Document;
use crate::model::field::{FieldName, FieldValue};
use crate::model::name::QueueName;
use crate::model::queue_policy;
use crate::model::resource::{Encryption, Queue, QueueField, Redrive};
use crate::model::status::Depth;
use crate::model::tags::{BUS, CLUSTER, DELETING, Tags};
use crate::plan::FieldChange;

/// The pause before a queue stops accepting what others send, as text and time: the router must deliver to it by then. The
/// tags may be new, and SQS may give old ones for some seconds, which the router then remembers.
const ROUTER_LEARNS: (&str, Duration) = (
    "the router may not deliver to this queue yet; until it does, others may still send",
    TAGS_REMEMBERED.saturating_add(Duration::from_secs(10)),
);

/// How often a create starts over because SQS answers with the deleted queue of the same name.
const CREATES: usize = 3;

/// The queue, and how many messages it holds.
pub(super) async fn read(cloud: &AwsCloud, name: &QueueName) -> Result<Option<(Queue, Depth)>, Fault> {
    let url = cloud.queue_url(name);
    let attributes = async {
        let call = cloud
            .sqs
            .get_queue_attributes()
            .queue_url(&url)
            .attribute_names(Attribute::All);
        if_present(call.send().await.or_fault("sqs:GetQueueAttributes"))
    };
    let (Some(attributes), Some(tags)) = tokio::try_join!(attributes, tags(cloud, &url))? else {
        return Ok(None);
    };
    let attributes = attributes.attributes.unwrap_or_default();
    // A removed attribute may come back as empty text.
    let text = |attribute| {
        attributes
            .get(&attribute)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    };
    let number = |attribute| text(attribute).and_then(|text| text.parse().ok()).unwrap_or_default();
    let count = |attribute| text(attribute).and_then(|text| text.parse().ok()).unwrap_or_default();
    let depth = Depth {
        waiting: count(Attribute::ApproximateNumberOfMessages),
        in_flight: count(Attribute::ApproximateNumberOfMessagesNotVisible),
    };
    let queue = Queue {
        name: name.clone(),
        retention: number(Attribute::MessageRetentionPeriod),
        visibility: number(Attribute::VisibilityTimeout),
        delay: number(Attribute::DelaySeconds),
        receive_wait: number(Attribute::ReceiveMessageWaitTimeSeconds),
        max_message_size: number(Attribute::MaximumMessageSize),
        redrive: text(Attribute::RedrivePolicy).map(redrive),
        redrive_allow: text(Attribute::RedriveAllowPolicy).map(document::read),
        encryption: encryption(text(Attribute::KmsMasterKeyId), text(Attribute::SqsManagedSseEnabled)),
        policy: text(Attribute::Policy).map(document::read),
        tags,
    };
    Ok(Some((queue, depth)))
}

async fn tags(cloud: &AwsCloud, url: &str) -> Result<Option<Tags>, Fault> {
    let call = cloud.sqs.list_queue_tags().queue_url(url);
    let answer = if_present(call.send().await.or_fault("sqs:ListQueueTags"))?;
    Ok(answer.map(|answer| answer.tags.unwrap_or_default().into_iter().collect()))
}

/// Creates a queue and reads its tags back. `CreateQueue` succeeds for an existing queue with the same attributes, whoever
/// manages it, and for a deleted one that SQS still answers for.
pub(super) async fn create(cloud: &AwsCloud, queue: &Queue, waiting: Waiting<'_>) -> Result<(), Fault> {
    let url = cloud.queue_url(&queue.name);
    for _ in 0..CREATES {
        let answer = request(cloud, queue, waiting).await;
        let found = match &answer {
            Ok(()) => created_tags(cloud, &url, waiting).await?,
            Err(fault) if fault.kind == FaultKind::Exists => tags(cloud, &url).await.ok().flatten().unwrap_or_default(),
            Err(_) => return answer,
        };
        if !found.being_deleted() {
            let same = |key: &str| found.get(key) == queue.tags.get(key);
            return match answer {
                Ok(()) if !same(BUS) || !same(CLUSTER) => Err(not_managed()),
                answer => answer,
            };
        }
        gone(cloud, &queue.name, waiting).await?;
    }
    Err(rejected(
        "sqs:CreateQueue",
        "SQS answers with the deleted queue of this name",
    ))
}

/// The tags of a queue that was just created: it may not be found yet, or without its tags.
async fn created_tags(cloud: &AwsCloud, url: &str, waiting: Waiting<'_>) -> Result<Tags, Fault> {
    let exists = AtomicBool::new(false);
    let read = settled("sqs:ListQueueTags", waiting, || async {
        let tags = tags(cloud, url).await?;
        exists.fetch_or(tags.is_some(), Ordering::Relaxed);
        Ok(match tags.filter(|tags| !tags.0.is_empty()) {
            Some(tags) => Tried::Done(tags),
            None => Tried::NotYet(WaitReason::QueueUnknown),
        })
    });
    match read.await {
        Err(fault) if matches!(fault.kind, FaultKind::Unsettled { .. }) && exists.into_inner() => Err(not_managed()),
        read => read,
    }
}

fn not_managed() -> Fault {
    Fault {
        kind: FaultKind::NotManaged,
        ..rejected(
            "sqs:CreateQueue",
            "a queue of this name exists that kibus does not manage",
        )
    }
}

async fn request(cloud: &AwsCloud, queue: &Queue, waiting: Waiting<'_>) -> Result<(), Fault> {
    let mut wanted = attributes(queue, QueueField::ALL);
    // A new queue has nothing to remove.
    wanted.retain(|_, value| !value.is_empty());
    accepted("sqs:CreateQueue", waiting, || {
        let call = cloud
            .sqs
            .create_queue()
            .queue_name(queue.name.as_str())
            .set_attributes(Some(wanted.clone()))
            .set_tags(Some(queue.tags.0.clone().into_iter().collect()));
        async move { call.send().await.or_fault("sqs:CreateQueue") }
    })
    .await?;
    Ok(())
}

/// Updates a queue, its tags first: the router sends only to a queue with the tags of its cluster, and the new policy may
/// stop those who sent to it before.
pub(super) async fn update(
    cloud: &AwsCloud,
    queue: &Queue,
    changes: &[FieldChange],
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    let action = "sqs:SetQueueAttributes";
    let Changes { fields, tags } = Changes::among(action, changes)?;
    let url = cloud.queue_url(&queue.name);
    if !tags.remove.is_empty() {
        let call = cloud.sqs.untag_queue().queue_url(&url).set_tag_keys(Some(tags.remove));
        call.send().await.or_fault("sqs:UntagQueue")?;
    }
    if !tags.set.is_empty() {
        let call = cloud.sqs.tag_queue().queue_url(&url);
        let call = call.set_tags(Some(tags.set.into_iter().collect()));
        call.send().await.or_fault("sqs:TagQueue")?;
    }
    if !fields.is_empty() {
        if changes.iter().any(stops_other_senders) {
            waiting.report(ROUTER_LEARNS.0);
            pause(tokio::time::sleep(ROUTER_LEARNS.1), action, ROUTER_LEARNS.0, waiting).await?;
        }
        let call = cloud.sqs.set_queue_attributes().queue_url(&url);
        let call = call.set_attributes(Some(attributes(queue, &fields)));
        call.send().await.or_fault(action)?;
    }
    Ok(())
}

/// Whether a change takes a policy away that lets others send to the queue.
fn stops_other_senders(change: &FieldChange) -> bool {
    change.path == Queue::POLICY
        && matches!(&change.from, FieldValue::Document(policy) if !queue_policy::other_senders(policy).is_empty())
}

/// Marks a queue as being deleted, and requests the delete. Whoever reads the queue before it is gone knows that it does
/// not stay, also if this process ends between the two calls.
pub(super) async fn delete(cloud: &AwsCloud, name: &QueueName) -> Result<(), Fault> {
    let url = cloud.queue_url(name);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let request = async {
        let mark = cloud.sqs.tag_queue().queue_url(&url);
        let mark = mark.tags(DELETING, now.as_secs().to_string());
        if_present(mark.send().await.or_fault("sqs:TagQueue"))?;
        let delete = cloud.sqs.delete_queue().queue_url(&url);
        if_present(delete.send().await.or_fault("sqs:DeleteQueue"))
    };
    match request.await {
        // A condition on the tags of a missing queue may deny the call.
        Err(fault) if fault.is_denied() && !exists(cloud, &url).await.unwrap_or(true) => Ok(()),
        answer => answer.map(drop),
    }
}

/// Waits until SQS has deleted a queue.
pub(super) async fn gone(cloud: &AwsCloud, name: &QueueName, waiting: Waiting<'_>) -> Result<(), Fault> {
    let url = cloud.queue_url(name);
    until_gone(waiting, || exists(cloud, &url)).await
}

async fn exists(cloud: &AwsCloud, url: &str) -> Result<bool, Fault> {
    let call = cloud.sqs.get_queue_attributes().queue_url(url);
    let call = call.attribute_names(Attribute::QueueArn);
    let answer = if_present(call.send().await.or_fault("sqs:GetQueueAttributes"))?;
    Ok(answer.is_some())
}

/// The attributes that hold these fields, with their values as SQS takes them; empty text removes one.
fn attributes(queue: &Queue, fields: &[QueueField]) -> HashMap<Attribute, String> {
    let document = |document: &Option<Document>| document.as_ref().map(Document::compact).unwrap_or_default();
    let redrive = |redrive: &Redrive| {
        json!({ "deadLetterTargetArn": redrive.dead_letters, "maxReceiveCount": redrive.max_receives }).to_string()
    };
    let mut attributes = HashMap::new();
    for field in fields {
        let (attribute, value) = match field {
            QueueField::Retention => (Attribute::MessageRetentionPeriod, queue.retention.to_string()),
            QueueField::Visibility => (Attribute::VisibilityTimeout, queue.visibility.to_string()),
            QueueField::Delay => (Attribute::DelaySeconds, queue.delay.to_string()),
            QueueField::ReceiveWait => (Attribute::ReceiveMessageWaitTimeSeconds, queue.receive_wait.to_string()),
            QueueField::MaxMessageSize => (Attribute::MaximumMessageSize, queue.max_message_size.to_string()),
            QueueField::RedriveDeadLetters | QueueField::RedriveMaxReceives => (
                Attribute::RedrivePolicy,
                queue.redrive.as_ref().map(redrive).unwrap_or_default(),
            ),
            QueueField::RedriveAllow => (Attribute::RedriveAllowPolicy, document(&queue.redrive_allow)),
            QueueField::Encryption => {
                // Only one of the two may be on, so both are sent.
                let (managed, key) = match &queue.encryption {
                    Encryption::None => (false, ""),
                    Encryption::SqsManaged => (true, ""),
                    Encryption::Kms(key) => (false, key.as_str()),
                    Encryption::OtherKms(key) => (false, key.as_str()),
                };
                attributes.insert(Attribute::SqsManagedSseEnabled, managed.to_string());
                (Attribute::KmsMasterKeyId, key.to_owned())
            }
            QueueField::Policy => (Attribute::Policy, document(&queue.policy)),
        };
        attributes.insert(attribute, value);
    }
    attributes
}

/// A key takes precedence over the flag.
fn encryption(key: Option<&str>, managed: Option<&str>) -> Encryption {
    match (key, managed) {
        (Some(key), _) => key
            .parse()
            .map_or_else(|_| Encryption::OtherKms(key.to_owned()), Encryption::Kms),
        (None, Some("true")) => Encryption::SqsManaged,
        (None, _) => Encryption::None,
    }
}

/// A redrive policy; an invalid one is kept as text, so that it differs.
fn redrive(text: &str) -> Redrive {
    let policy = document::read(text);
    let policy = policy.value();
    let arn = policy.get("deadLetterTargetArn").and_then(Value::as_str);
    // SQS returns the count as it was sent, which may be text.
    let count = policy.get("maxReceiveCount").and_then(|count| match count {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|count| u32::try_from(count).ok()),
    });
    Redrive {
        dead_letters: arn.unwrap_or(text).to_owned(),
        max_receives: count.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::readings::{any_json, any_text};

    proptest! {
        #[test]
        fn any_attributes_are_settings(text in any_text(), policy in any_json(), key in any::<Option<String>>()) {
            for text in [text, policy.to_string()] {
                let redrive = redrive(&text);
                prop_assert!(redrive == redrive.clone());
                let _ = (encryption(key.as_deref(), Some(&text)), document::read_encoded(&text));
            }
        }
    }

    /// S11: values are text, and SQS returns the count as it was sent.
    #[test]
    fn a_count_is_a_number_or_its_text() {
        for (count, read) in [
            ("5", 5),
            ("\"5\"", 5),
            ("-1", 0),
            ("5.5", 0),
            ("99999999999", 0),
            ("[5]", 0),
        ] {
            let policy = format!(r#"{{"deadLetterTargetArn": "arn", "maxReceiveCount": {count}}}"#);
            assert_eq!(
                (redrive(&policy).max_receives, redrive(&policy).dead_letters.as_str()),
                (read, "arn"),
                "{count}"
            );
        }
    }
}
