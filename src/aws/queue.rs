//! SQS queues.
//!
//! A queue is read by its computed URL: `GetQueueUrl` also says "does not exist" where access is denied. A change of a
//! queue's attributes takes up to a minute to propagate; nothing waits for that, since deliveries are retried.

mod age;
pub(super) mod attributes;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use aws_sdk_sqs::types::QueueAttributeName as Attribute;

use super::AwsCloud;
use super::changes::{Changes, TagChanges, Update};
use super::error::{fault, if_present};
use super::wait::{Tried, WaitReason, Waiting, pause, settled};
use crate::cloud::{Fault, FaultKind, Read};
use crate::iam::grants::other_senders;
use crate::model::cluster::TAGS_REMEMBERED;
use crate::model::name::QueueName;
use crate::model::resource::calls::sqs;
use crate::model::resource::{FieldValue, Queue, QueueField};
use crate::model::status::QueueState;
use crate::model::tags::{BUS, CLUSTER, DELETING, MARK_COUNTS, Tags};
use crate::plan::FieldChange;
use age::age;

const CREATE: &str = sqs::CREATE_QUEUE;

/// The pause before a queue stops accepting what others send, as text and time: the router must deliver to it by then. The
/// tags may be new, and SQS may give old ones for some seconds, which the router then remembers.
const ROUTER_LEARNS: (&str, Duration) = (
    "the router may not deliver to this queue yet; until it does, others may still send",
    TAGS_REMEMBERED.saturating_add(Duration::from_secs(10)),
);

/// By how much a new queue may seem older than the request for it: SQS gives whole seconds, and its servers have clocks of
/// their own. A deleted queue is older by the time that it existed.
const AGE_SLACK: Duration = Duration::from_secs(5);

/// SQS accepts a delete at once and takes up to a minute for it; until then it may answer for the queue (SQS API reference,
/// `DeleteQueue`). The pause between two creates meanwhile.
const STILL_ANSWERS: (&str, Duration) = ("SQS still answers for the deleted queue", Duration::from_secs(3));

/// The queue, and its state.
pub(super) async fn read(cloud: &AwsCloud, name: &QueueName) -> Result<Option<(Queue, QueueState)>, Fault> {
    let url = cloud.queue_url(name);
    let attributes = async {
        let call = cloud.sqs.get_queue_attributes().queue_url(&url);
        let call = call.attribute_names(Attribute::All);
        if_present(cloud.call(sqs::GET_QUEUE_ATTRIBUTES, || call.clone().send()).await)
    };
    let (attributes, tags) = if cloud.pace.is_slowed(sqs::LIST_QUEUE_TAGS) {
        // A queue that does not exist costs no tag call.
        match attributes.await? {
            None => return Ok(None),
            attributes => (attributes, tags(cloud, &url).await?),
        }
    } else {
        tokio::try_join!(attributes, tags(cloud, &url))?
    };
    Ok(attributes.zip(tags).map(|(answer, tags)| {
        let attributes = answer.attributes.unwrap_or_default();
        attributes::read(name, &attributes, tags)
    }))
}

async fn tags(cloud: &AwsCloud, url: &str) -> Result<Option<Tags>, Fault> {
    let call = cloud.sqs.list_queue_tags().queue_url(url);
    let answer = if_present(cloud.call(sqs::LIST_QUEUE_TAGS, || call.clone().send()).await)?;
    Ok(answer.map(|answer| answer.tags.unwrap_or_default().into_iter().collect()))
}

/// Creates a queue and reads it back. `CreateQueue` succeeds for an existing queue with the same attributes, whoever manages
/// it, and for a deleted one that SQS still answers for: that one has the mark of a delete, or, if it was deleted by hand, is
/// older than the request. Then the create is repeated until SQS has deleted the queue, and it fails if the queue stays.
///
/// The tags are read for every queue. The answer has only the URL, and the age is in whole seconds with a slack: it shows
/// that a queue is old, and not that nobody else created it just before the request.
pub(super) async fn create(cloud: &AwsCloud, queue: &Queue, waiting: Waiting<'_>) -> Result<(), Fault> {
    let url = cloud.queue_url(&queue.name);
    let began = Instant::now();
    let mut reported = false;
    loop {
        let answer = request(cloud, queue, waiting).await;
        let (found, age) = match &answer {
            Ok(()) => created(cloud, &url, waiting).await?,
            Err(fault) if fault.kind == FaultKind::Exists => {
                (tags(cloud, &url).await.ok().flatten().unwrap_or_default(), None)
            }
            Err(_) => return answer,
        };
        let is_marked = found.get(DELETING).is_some();
        let is_older = age.is_some_and(|age| age > began.elapsed() + AGE_SLACK);
        if [BUS, CLUSTER].iter().any(|key| found.get(key) != queue.tags.get(key)) {
            return answer.and_then(|()| Err(not_managed()));
        }
        if is_marked && !found.being_deleted(cloud.now()) {
            return Err(stays(cloud, &url).await);
        }
        // Without a mark, another run has created it since the plan.
        if !is_marked && (!is_older || began.elapsed() >= MARK_COUNTS) {
            return answer;
        }
        if !std::mem::replace(&mut reported, true) {
            waiting.report(STILL_ANSWERS.0);
        }
        pause(tokio::time::sleep(STILL_ANSWERS.1), CREATE, STILL_ANSWERS.0, waiting).await?;
    }
}

/// Removes an old mark: the delete was not requested, or someone else has set the mark.
async fn stays(cloud: &AwsCloud, url: &str) -> Fault {
    let untag = cloud.sqs.untag_queue().queue_url(url).tag_keys(DELETING);
    match cloud.call("sqs:UntagQueue", || untag.clone().send()).await {
        Ok(_) => fault(
            FaultKind::Changed,
            CREATE,
            "the queue was marked as being deleted, and still exists",
        ),
        Err(fault) => fault,
    }
}

/// The tags of a queue that was just created, and its age, if SQS says it: it may not be found yet, or without its tags.
async fn created(cloud: &AwsCloud, url: &str, waiting: Waiting<'_>) -> Result<(Tags, Option<Duration>), Fault> {
    let exists = AtomicBool::new(false);
    let read = settled(sqs::LIST_QUEUE_TAGS, waiting, || async {
        let (tags, age) = tokio::try_join!(tags(cloud, url), age(cloud, url))?;
        exists.fetch_or(tags.is_some(), Ordering::Relaxed);
        Ok(match (tags.filter(|tags| !tags.0.is_empty()), age) {
            (Some(tags), Some(age)) => Tried::Done((tags, age)),
            _ => Tried::NotYet(WaitReason::QueueUnknown),
        })
    });
    match read.await {
        Err(fault) if matches!(fault.kind, FaultKind::Unsettled { .. }) && exists.into_inner() => Err(not_managed()),
        read => read,
    }
}

fn not_managed() -> Fault {
    let message = "a queue of this name exists that kibus does not manage";
    fault(FaultKind::NotManaged, CREATE, message)
}

async fn request(cloud: &AwsCloud, queue: &Queue, waiting: Waiting<'_>) -> Result<(), Fault> {
    let call = cloud.sqs.create_queue().queue_name(&queue.name);
    let call = call.set_attributes(Some(attributes::of_new(queue)));
    let call = call.set_tags(Some(queue.tags.0.clone().into_iter().collect()));
    let answer = cloud.accepted(CREATE, waiting, || call.clone().send());
    answer.await.map(drop)
}

/// Updates a queue, its tags first: the router sends only to a queue with the tags of its cluster, and the new policy may
/// stop those who sent to it before. A queue that leaves the bus loses its tags last: until then, they say that the rest
/// is to be done.
pub(super) async fn update(
    cloud: &AwsCloud,
    Update {
        to: queue,
        fields: changes,
        ..
    }: Update<'_, Queue>,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    let action = sqs::SET_QUEUE_ATTRIBUTES;
    let Changes { fields, tags } = Changes::among(action, changes)?;
    let url = cloud.queue_url(&queue.name);
    // The operator's policy allows changes by a tag of the queue. Tags for access control are eventually consistent (IAM
    // user guide, "Troubleshoot IAM").
    let unseen: &[WaitReason] = if tags.set.0.is_empty() || !cloud.scope.region.has_queue_tag_conditions() {
        &[]
    } else {
        &[WaitReason::TagsUnknown]
    };
    let leaves = tags.remove.iter().any(|key| key == BUS);
    if !leaves {
        write_tags(cloud, &url, &tags).await?;
    }
    if !fields.is_empty() {
        if changes.iter().any(stops_other_senders) {
            waiting.report(ROUTER_LEARNS.0);
            pause(tokio::time::sleep(ROUTER_LEARNS.1), action, ROUTER_LEARNS.0, waiting).await?;
        }
        let call = cloud.sqs.set_queue_attributes().queue_url(&url);
        let call = call.set_attributes(Some(attributes::of(queue, &fields)));
        cloud.seen(action, unseen, waiting, || call.clone().send()).await?;
    }
    if leaves {
        write_tags(cloud, &url, &tags).await?;
    }
    Ok(())
}

async fn write_tags(cloud: &AwsCloud, url: &str, tags: &TagChanges) -> Result<(), Fault> {
    if !tags.remove.is_empty() {
        let call = cloud.sqs.untag_queue().queue_url(url);
        let call = call.set_tag_keys(Some(tags.remove.clone()));
        cloud.call(sqs::UNTAG_QUEUE, || call.clone().send()).await?;
    }
    if !tags.set.0.is_empty() {
        let call = cloud.sqs.tag_queue().queue_url(url);
        let call = call.set_tags(Some(tags.set.0.clone().into_iter().collect()));
        cloud.call(sqs::TAG_QUEUE, || call.clone().send()).await?;
    }
    Ok(())
}

/// Whether a change takes a policy away that lets others send to the queue, and the new policy does not.
fn stops_other_senders(change: &FieldChange) -> bool {
    let senders = |policy: &FieldValue| match policy {
        FieldValue::Document(policy) => other_senders(policy),
        _ => BTreeSet::new(),
    };
    change.is_of(QueueField::Policy) && !senders(&change.from).is_subset(&senders(&change.to))
}

/// Marks a queue as being deleted, and requests the delete once a read shows the mark. Whoever reads the queue before it is
/// gone knows that it does not stay, also if this process ends between the two calls.
pub(super) async fn delete(cloud: &AwsCloud, name: &QueueName, waiting: Waiting<'_>) -> Result<(), Fault> {
    let url = &cloud.queue_url(name);
    let request = async {
        let mark = cloud.sqs.tag_queue().queue_url(url);
        let mark = mark.tags(DELETING, cloud.now().to_string());
        if_present(cloud.call(sqs::TAG_QUEUE, || mark.clone().send()).await)?;
        settled(sqs::LIST_QUEUE_TAGS, waiting, || async {
            let is_marked = |tags: Tags| tags.being_deleted(cloud.now());
            Ok(match tags(cloud, url).await?.is_none_or(is_marked) {
                true => Tried::Done(()),
                false => Tried::NotYet(WaitReason::MarkUnknown),
            })
        })
        .await?;
        let delete = cloud.sqs.delete_queue().queue_url(url);
        if_present(cloud.call(sqs::DELETE_QUEUE, || delete.clone().send()).await)
    };
    match request.await {
        // A condition on the tags of a missing queue may deny the call.
        Err(fault) if fault.is_denied() && !exists(cloud, url).await.unwrap_or(true) => Ok(()),
        answer => answer.map(drop),
    }
}

async fn exists(cloud: &AwsCloud, url: &str) -> Result<bool, Fault> {
    let call = cloud.sqs.get_queue_attributes().queue_url(url);
    let call = call.attribute_names(Attribute::QueueArn);
    let answer = if_present(cloud.call(sqs::GET_QUEUE_ATTRIBUTES, || call.clone().send()).await)?;
    Ok(answer.is_some())
}
