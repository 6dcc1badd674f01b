//! A queue's settings as the attributes that SQS takes and gives: all are text.

use std::collections::HashMap;

use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use serde_json::{Value, json};

use crate::aws::document;
use crate::model::document::Document;
use crate::model::name::QueueName;
use crate::model::resource::{Encryption, FieldName, LARGEST_EVENT, Queue, QueueField, Redrive};
use crate::model::status::{Depth, QueueState};
use crate::model::tags::Tags;

/// The queue that these attributes and tags describe, and its state.
pub(super) fn read(name: &QueueName, attributes: &HashMap<Attribute, String>, tags: Tags) -> (Queue, QueueState) {
    // A removed attribute may come back as empty text.
    let text = |attribute| {
        attributes
            .get(&attribute)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    };
    let number = |attribute| text(attribute).and_then(|text| text.parse().ok()).unwrap_or_default();
    let state = QueueState {
        depth: depth(attributes),
        changed: text(Attribute::LastModifiedTimestamp).and_then(|text| text.parse().ok()),
    };
    let queue = Queue {
        name: name.clone(),
        retention: number(Attribute::MessageRetentionPeriod),
        visibility: number(Attribute::VisibilityTimeout),
        delay: number(Attribute::DelaySeconds),
        receive_wait: number(Attribute::ReceiveMessageWaitTimeSeconds),
        max_message_size: number(Attribute::MaximumMessageSize).min(LARGEST_EVENT),
        redrive: text(Attribute::RedrivePolicy).map(redrive),
        redrive_allow: text(Attribute::RedriveAllowPolicy).map(document::read),
        encryption: encryption(text(Attribute::KmsMasterKeyId), text(Attribute::SqsManagedSseEnabled)),
        policy: text(Attribute::Policy).map(document::read),
        tags,
    };
    (queue, state)
}

/// How many messages a queue with these attributes holds.
pub(in crate::aws) fn depth(attributes: &HashMap<Attribute, String>) -> Depth {
    let count = |attribute| attributes.get(&attribute).and_then(|text| text.parse().ok());
    Depth {
        waiting: count(Attribute::ApproximateNumberOfMessages).unwrap_or_default(),
        in_flight: count(Attribute::ApproximateNumberOfMessagesNotVisible).unwrap_or_default(),
    }
}

/// The attributes of a new queue. It has nothing to remove, and without a limit SQS gives it the largest of its Region.
pub(super) fn of_new(queue: &Queue) -> HashMap<Attribute, String> {
    let mut attributes = of(queue, QueueField::ALL);
    attributes.retain(|_, value| !value.is_empty());
    if queue.max_message_size == LARGEST_EVENT {
        attributes.remove(&Attribute::MaximumMessageSize);
    }
    attributes
}

/// The attributes that hold these fields, with their values as SQS takes them; empty text removes one.
pub(super) fn of(queue: &Queue, fields: &[QueueField]) -> HashMap<Attribute, String> {
    let document = |document: &Option<Document>| document.as_ref().map(Document::compact).unwrap_or_default();
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
                queue.redrive.as_ref().map(redrive_text).unwrap_or_default(),
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

fn redrive_text(redrive: &Redrive) -> String {
    json!({ "deadLetterTargetArn": redrive.dead_letters, "maxReceiveCount": redrive.max_receives }).to_string()
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
                let _ = (redrive(&text), encryption(key.as_deref(), Some(&text)), document::read_encoded(&text));
            }
        }

        #[test]
        fn a_redrive_policy_is_read_as_it_was_written(dead_letters in any_text(), max_receives in any::<u32>()) {
            let written = Redrive { dead_letters, max_receives };
            prop_assert_eq!(redrive(&redrive_text(&written)), written);
        }
    }

    /// S11: the most that SQS accepts differs by Region.
    #[test]
    fn a_new_queue_has_the_limit_of_its_region_and_a_lower_one_is_raised_to_what_every_region_accepts() {
        let queue = |bytes: u32| {
            let attributes = HashMap::from([(Attribute::MaximumMessageSize, bytes.to_string())]);
            read(&"q".parse().unwrap(), &attributes, Tags::default()).0
        };
        for (bytes, limit) in [
            (1_048_576, LARGEST_EVENT),
            (262_144, LARGEST_EVENT),
            (262_143, 262_143),
            (0, 0),
        ] {
            assert_eq!(queue(bytes).max_message_size, limit, "{bytes}");
        }
        let largest = queue(1_048_576);
        assert_eq!(of_new(&largest).get(&Attribute::MaximumMessageSize), None);
        assert_eq!(
            of(&largest, &[QueueField::MaxMessageSize])[&Attribute::MaximumMessageSize],
            "262144"
        );
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
