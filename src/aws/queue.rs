//! SQS queues.
//!
//! A queue is read by its computed URL: `GetQueueUrl` also answers "does not exist" if access is denied. Changes of
//! queue attributes take up to a minute to propagate; nothing waits for that, since deliveries are retried.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use serde_json::{Value, json};

use super::error::if_present;
use super::interceptor::AnswerDate;
use super::wait::WaitReason;
use super::write::{Changes, Update, Writing};
use super::{AwsCloud, document, record};
use crate::cloud::{Fault, FaultKind, Read};
use crate::iam::grants::other_senders;
use crate::model::{
    Depth, Document, Encryption, FieldName, FieldValue, Queue, QueueField, QueueName, Redrive, Tags,
    calls::sqs,
    cluster::TAGS_REMEMBERED,
    resource::{AGE_SLACK, LARGEST_EVENT},
    tags::{BUS, CLUSTER, DELETING, MARK_COUNTS},
};
use crate::plan::FieldChange;

const CREATE: &str = sqs::CREATE_QUEUE;

/// The pause before a queue stops accepting messages from others, as text and time: by then, the router must be able to
/// deliver to it. If the tags are new, SQS may return old ones for some seconds, and the router caches them.
const ROUTER_LEARNS: (&str, Duration) = (
    "the router may not deliver to this queue yet; until it does, others can still send",
    TAGS_REMEMBERED.saturating_add(Duration::from_secs(30)),
);

/// The pause between two attempts to create a queue. SQS accepts a delete immediately and takes up to a minute for it;
/// until then it may answer for the queue (SQS API reference, `DeleteQueue`).
const STILL_ANSWERS: (&str, Duration) = ("SQS still answers for an older queue of this name", Duration::from_secs(3));

pub(super) async fn read(cloud: &AwsCloud, name: &QueueName) -> Result<Option<(Queue, Depth)>, Fault> {
    let url = cloud.queue_url(name);
    let attributes = async {
        let call = cloud.sqs.get_queue_attributes().queue_url(&url).attribute_names(Attribute::All);
        if_present(cloud.call(sqs::GET_QUEUE_ATTRIBUTES, || call.clone().send()).await)
    };
    let (attributes, tags) = if cloud.pace.is_slowed(sqs::LIST_QUEUE_TAGS) {
        // A queue that does not exist needs no tag call.
        match attributes.await? {
            None => return Ok(None),
            attributes => (attributes, tags(cloud, &url).await?),
        }
    } else {
        tokio::try_join!(attributes, tags(cloud, &url))?
    };
    Ok(attributes.zip(tags).map(|(answer, tags)| {
        let attributes = answer.attributes.unwrap_or_default();
        described(name, &attributes, tags)
    }))
}

async fn tags(cloud: &AwsCloud, url: &str) -> Result<Option<Tags>, Fault> {
    let call = cloud.sqs.list_queue_tags().queue_url(url);
    let answer = if_present(cloud.call(sqs::LIST_QUEUE_TAGS, || call.clone().send()).await)?;
    Ok(answer.map(|answer| answer.tags.unwrap_or_default().into_iter().collect()))
}

/// Creates a queue and reads it back. `CreateQueue` succeeds for an existing queue with the same attributes, whoever
/// manages it, and for a deleted queue that SQS still answers for: that queue has the deletion mark or, if it was
/// deleted by hand, is older than the command. Then the create is repeated until SQS has deleted the queue, and it
/// fails if the queue stays. A queue that is only older than the request comes from another run.
///
/// The tags are read for every queue. The answer has only the URL, and the age is in whole seconds and imprecise: it
/// can show that a queue is old, but not that no one else created it just before the request.
pub(super) async fn create(cloud: &Writing<'_>, queue: &Queue) -> Result<(), Fault> {
    let url = cloud.queue_url(&queue.name);
    let began = Instant::now();
    let mut has_waited = false;
    loop {
        let answer = request(cloud, queue).await;
        let (found, age) = match &answer {
            Ok(()) => created(cloud, &url).await?,
            Err(fault) if fault.kind == FaultKind::Exists => {
                (tags(cloud, &url).await.ok().flatten().unwrap_or_default(), None)
            }
            Err(_) => return answer,
        };
        let is_marked = found.get(DELETING).is_some();
        let is_before = |begin: Instant| age.is_some_and(|age| age > begin.elapsed() + Duration::from_secs(AGE_SLACK));
        let is_older = is_before(cloud.began);
        if [BUS, CLUSTER].iter().any(|key| found.get(key) != queue.tags.get(key)) {
            return answer.and_then(|()| Err(not_managed()));
        }
        if !is_marked && !is_older {
            answer?;
            if !has_waited && is_before(began) {
                return Err(Fault::new(FaultKind::Exists, CREATE, "another run has just created it"));
            }
            return if has_waited { still_recorded(cloud, queue).await } else { Ok(()) };
        }
        if began.elapsed() >= MARK_COUNTS {
            let message = "a queue with this name already exists, or is marked for deletion";
            return Err(Fault::new(FaultKind::Changed, CREATE, message));
        }
        if !std::mem::replace(&mut has_waited, true) {
            cloud.waiting.report(STILL_ANSWERS.0);
        }
        cloud.pause(STILL_ANSWERS.1, CREATE, STILL_ANSWERS.0).await?;
    }
}

/// Fails if the record of the queue's cluster is gone.
async fn still_recorded(cloud: &Writing<'_>, queue: &Queue) -> Result<(), Fault> {
    match queue.tags.cluster_of(&cloud.scope.bus) {
        Some(cluster) => record::remains(cloud, &cluster).await,
        None => Ok(()),
    }
}

/// The tags of a queue that was just created, and its age, if SQS returns it: the queue, or its tags, may not be visible yet.
async fn created(cloud: &Writing<'_>, url: &str) -> Result<(Tags, Option<Duration>), Fault> {
    let exists = AtomicBool::new(false);
    let read = cloud.settled(sqs::LIST_QUEUE_TAGS, WaitReason::QueueUnknown, || async {
        let (tags, age) = tokio::try_join!(tags(cloud, url), age(cloud, url))?;
        exists.fetch_or(tags.is_some(), Ordering::Relaxed);
        Ok(tags.filter(|tags| !tags.0.is_empty()).zip(age))
    });
    match read.await {
        Err(fault) if fault.kind == FaultKind::Unsettled && exists.into_inner() => Err(not_managed()),
        read => read,
    }
}

fn not_managed() -> Fault {
    let message = "a queue with this name exists that kibus does not manage; it was not changed";
    Fault::new(FaultKind::NotManaged, CREATE, message)
        .advised("use another bus, cluster or --queue-name, or delete the resource if nothing needs it")
}

async fn request(cloud: &Writing<'_>, queue: &Queue) -> Result<(), Fault> {
    let call = cloud.sqs.create_queue().queue_name(&queue.name).set_attributes(Some(attributes_of_new(queue)));
    let call = call.set_tags(Some(queue.tags.0.clone().into_iter().collect()));
    cloud.write(CREATE, || call.clone().send()).await
}

/// Updates a queue, its tags first: the router sends only to a queue with the tags of its cluster, and the new policy
/// may lock out previous senders.
pub(super) async fn update(cloud: &Writing<'_>, update: Update<'_, Queue>) -> Result<(), Fault> {
    let (action, queue) = (sqs::SET_QUEUE_ATTRIBUTES, update.to);
    let Changes { fields, tags } = Changes::among(action, update.fields)?;
    let url = cloud.queue_url(&queue.name);
    // The operator's policy allows changes by a tag of the queue. Tags for access control are eventually consistent (IAM
    // user guide, "Troubleshoot IAM").
    let has_new_tags = !tags.set.0.is_empty() && cloud.scope.region.has_queue_tag_conditions();
    let unseen: &[WaitReason] = if has_new_tags { &[WaitReason::TagsUnknown] } else { &[] };
    let untag = cloud.sqs.untag_queue().queue_url(&url).set_tag_keys(Some(tags.remove.clone()));
    let tag = cloud.sqs.tag_queue().queue_url(&url).set_tags(Some(tags.set.0.clone().into_iter().collect()));
    let write_tags = tags.write(
        cloud.call(sqs::UNTAG_QUEUE, || untag.clone().send()),
        cloud.call(sqs::TAG_QUEUE, || tag.clone().send()),
    );
    let write_attributes = async {
        if fields.is_empty() {
            return Ok(());
        }
        if update.fields.iter().any(stops_other_senders) {
            cloud.waiting.report(ROUTER_LEARNS.0);
            cloud.pause(ROUTER_LEARNS.1, action, ROUTER_LEARNS.0).await?;
        }
        let call = cloud.sqs.set_queue_attributes().queue_url(&url).set_attributes(Some(attributes_of(queue, &fields)));
        let answer = cloud.seen(action, unseen, || call.clone().send());
        answer.await.map(drop)
    };
    write_tags.await?;
    write_attributes.await?;
    still_recorded(cloud, queue).await
}

/// Whether a change replaces a policy that lets others send to the queue with one that does not.
fn stops_other_senders(change: &FieldChange) -> bool {
    let senders = |policy: &FieldValue| match policy {
        FieldValue::Document(policy) => other_senders(policy),
        _ => BTreeSet::new(),
    };
    change.is_of(QueueField::Policy) && !senders(&change.from).is_subset(&senders(&change.to))
}

/// Marks a queue for deletion, and requests the delete once a read shows the mark. Anyone who reads the queue before it
/// is gone sees that it will not stay, even if this process ends between the two calls.
pub(super) async fn delete(cloud: &Writing<'_>, name: &QueueName) -> Result<(), Fault> {
    let url = &cloud.queue_url(name);
    let request = async {
        let mark = cloud.sqs.tag_queue().queue_url(url).tags(DELETING, cloud.now().to_string());
        if_present(cloud.call(sqs::TAG_QUEUE, || mark.clone().send()).await)?;
        cloud
            .settled(sqs::LIST_QUEUE_TAGS, WaitReason::MarkUnknown, || async {
                let is_marked = |tags: Tags| tags.being_deleted(cloud.now());
                Ok(tags(cloud, url).await?.is_none_or(is_marked).then_some(()))
            })
            .await?;
        let delete = cloud.sqs.delete_queue().queue_url(url);
        if_present(cloud.call(sqs::DELETE_QUEUE, || delete.clone().send()).await)
    };
    match request.await {
        // A condition on tags may deny the call if the queue is missing.
        Err(fault) if fault.is_denied() && matches!(age(cloud, url).await, Ok(None)) => Ok(()),
        answer => answer.map(drop),
    }
}

/// The age of a queue, in whole seconds; `None` inside if the answer has no time. `None` if the queue is absent.
async fn age(cloud: &AwsCloud, url: &str) -> Result<Option<Option<Duration>>, Fault> {
    let date = AnswerDate::default();
    let call = cloud.sqs.get_queue_attributes().queue_url(url).attribute_names(Attribute::CreatedTimestamp);
    let send = || call.clone().customize().interceptor(date.clone()).send();
    let answer = if_present(cloud.call(sqs::GET_QUEUE_ATTRIBUTES, send).await)?;
    Ok(answer.map(|answer| {
        let created: i64 = answer.attributes()?.get(&Attribute::CreatedTimestamp)?.parse().ok()?;
        let answered = date.seconds();
        // A queue that is newer than the answer has no age yet.
        let seconds = answered?.checked_sub(created)?.max(0);
        Some(Duration::from_secs(seconds.unsigned_abs()))
    }))
}

/// The queue that these attributes and tags describe, and how many messages it holds.
fn described(name: &QueueName, attributes: &HashMap<Attribute, String>, tags: Tags) -> (Queue, Depth) {
    // A removed attribute may come back as empty text.
    let text = |attribute| attributes.get(&attribute).map(String::as_str).filter(|text| !text.is_empty());
    let number64 = |attribute| text(attribute).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    let number = |attribute| u32::try_from(number64(attribute)).unwrap_or_default();
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
        created: number64(Attribute::CreatedTimestamp),
    };
    (queue, depth(attributes))
}

pub(super) fn depth(attributes: &HashMap<Attribute, String>) -> Depth {
    let count = |attribute| attributes.get(&attribute).and_then(|text| text.parse().ok());
    Depth {
        waiting: count(Attribute::ApproximateNumberOfMessages).unwrap_or_default(),
        in_flight: count(Attribute::ApproximateNumberOfMessagesNotVisible).unwrap_or_default(),
    }
}

/// The attributes of a new queue. There is nothing to remove, and without a limit SQS uses the maximum of the Region.
fn attributes_of_new(queue: &Queue) -> HashMap<Attribute, String> {
    let mut attributes = attributes_of(queue, QueueField::ALL);
    attributes.retain(|_, value| !value.is_empty());
    if queue.max_message_size == LARGEST_EVENT {
        attributes.remove(&Attribute::MaximumMessageSize);
    }
    attributes
}

/// The attributes that hold these fields, with their values in the form that SQS expects; empty text removes one.
fn attributes_of(queue: &Queue, fields: &[QueueField]) -> HashMap<Attribute, String> {
    let document = |document: &Option<Document>| document.as_ref().map(Document::compact).unwrap_or_default();
    let mut attributes = HashMap::new();
    for field in fields {
        let (attribute, value) = match field {
            QueueField::Retention => (Attribute::MessageRetentionPeriod, queue.retention.to_string()),
            QueueField::Visibility => (Attribute::VisibilityTimeout, queue.visibility.to_string()),
            QueueField::Delay => (Attribute::DelaySeconds, queue.delay.to_string()),
            QueueField::ReceiveWait => (Attribute::ReceiveMessageWaitTimeSeconds, queue.receive_wait.to_string()),
            QueueField::MaxMessageSize => (Attribute::MaximumMessageSize, queue.max_message_size.to_string()),
            QueueField::RedriveDeadLetters | QueueField::RedriveMaxReceives => {
                (Attribute::RedrivePolicy, queue.redrive.as_ref().map(redrive_text).unwrap_or_default())
            }
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
        (Some(key), _) => key.parse().map_or_else(|_| Encryption::OtherKms(key.to_owned()), Encryption::Kms),
        (None, Some("true")) => Encryption::SqsManaged,
        (None, _) => Encryption::None,
    }
}

/// A redrive policy; an invalid policy is kept as text, so that it differs.
fn redrive(text: &str) -> Redrive {
    let policy = document::read(text);
    let policy = policy.value();
    let arn = policy.get("deadLetterTargetArn").and_then(Value::as_str);
    // SQS returns the count as sent, possibly as text.
    let count = policy.get("maxReceiveCount").and_then(|count| match count {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|count| u32::try_from(count).ok()),
    });
    Redrive { dead_letters: arn.unwrap_or(text).to_owned(), max_receives: count.unwrap_or_default() }
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

    /// S11: the maximum that SQS accepts differs by Region.
    #[test]
    fn a_new_queue_has_the_limit_of_its_region_and_a_lower_one_is_raised_to_what_every_region_accepts() {
        let queue = |bytes: u32| {
            let attributes = HashMap::from([(Attribute::MaximumMessageSize, bytes.to_string())]);
            described(&"q".parse().unwrap(), &attributes, Tags::default()).0
        };
        for (bytes, limit) in [(1_048_576, LARGEST_EVENT), (262_144, LARGEST_EVENT), (262_143, 262_143), (0, 0)] {
            assert_eq!(queue(bytes).max_message_size, limit, "{bytes}");
        }
        let largest = queue(1_048_576);
        assert_eq!(attributes_of_new(&largest).get(&Attribute::MaximumMessageSize), None);
        assert_eq!(attributes_of(&largest, &[QueueField::MaxMessageSize])[&Attribute::MaximumMessageSize], "262144");
    }

    /// S11: values are text, and SQS returns the count as sent.
    #[test]
    fn a_count_is_a_number_or_its_text() {
        for (count, read) in [("5", 5), ("\"5\"", 5), ("-1", 0), ("5.5", 0), ("99999999999", 0), ("[5]", 0)] {
            let policy = format!(r#"{{"deadLetterTargetArn": "arn", "maxReceiveCount": {count}}}"#);
            let Redrive { dead_letters, max_receives } = redrive(&policy);
            assert_eq!((dead_letters.as_str(), max_receives), ("arn", read), "{count}");
        }
    }
}
