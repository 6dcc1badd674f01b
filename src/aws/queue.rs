//! SQS queues.
//!
//! A queue is read by its computed URL: `GetQueueUrl` also says "does not exist" where access is denied. A change of a
//! queue takes up to a minute to propagate; nothing waits for that, since deliveries are retried.

use std::collections::HashMap;

use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use serde_json::{Value, json};

use super::AwsCloud;
use super::changes::Changes;
use super::document;
use super::error::{OrFault, if_present};
use super::wait::{Waiting, accepted};
use crate::cloud::Fault;
use crate::model::document::Document;
use crate::model::field::FieldName;
use crate::model::name::QueueName;
use crate::model::resource::{Encryption, Queue, QueueField, Redrive};
use crate::model::status::Depth;
use crate::plan::FieldChange;

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
    let tags = async {
        let call = cloud.sqs.list_queue_tags().queue_url(&url);
        if_present(call.send().await.or_fault("sqs:ListQueueTags"))
    };
    let (Some(attributes), Some(tags)) = tokio::try_join!(attributes, tags)? else {
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
        tags: tags.tags.unwrap_or_default().into_iter().collect(),
    };
    Ok(Some((queue, depth)))
}

pub(super) async fn create(cloud: &AwsCloud, queue: &Queue, waiting: Waiting<'_>) -> Result<(), Fault> {
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

pub(super) async fn update(cloud: &AwsCloud, queue: &Queue, fields: &[FieldChange]) -> Result<(), Fault> {
    let action = "sqs:SetQueueAttributes";
    let Changes { fields, tags } = Changes::among(action, fields)?;
    let url = cloud.queue_url(&queue.name);
    if !fields.is_empty() {
        let call = cloud.sqs.set_queue_attributes().queue_url(&url);
        let call = call.set_attributes(Some(attributes(queue, &fields)));
        call.send().await.or_fault(action)?;
    }
    if !tags.remove.is_empty() {
        let call = cloud.sqs.untag_queue().queue_url(&url).set_tag_keys(Some(tags.remove));
        call.send().await.or_fault("sqs:UntagQueue")?;
    }
    if !tags.set.is_empty() {
        let call = cloud.sqs.tag_queue().queue_url(&url);
        let call = call.set_tags(Some(tags.set.into_iter().collect()));
        call.send().await.or_fault("sqs:TagQueue")?;
    }
    Ok(())
}

pub(super) async fn delete(cloud: &AwsCloud, name: &QueueName) -> Result<(), Fault> {
    let call = cloud.sqs.delete_queue().queue_url(cloud.queue_url(name));
    if_present(call.send().await.or_fault("sqs:DeleteQueue")).map(drop)
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
