//! What SQS does.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_sqs::operation::create_queue::builders::CreateQueueFluentBuilder;
use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use serde_json::json;

use super::iam;
use super::observation::{Seen, Unseen, answer};
use super::run::Run;

/// How long a grant may take to hold, in seconds.
const GRANTED: u32 = 180;

/// How long a new queue may take to be found, in seconds.
const FOUND: u32 = 60;

/// The URL of a new queue.
pub(super) async fn create(run: &Run, name: &str) -> Result<String, Unseen> {
    found(run, run.sqs.create_queue().queue_name(run.name(name))).await
}

/// Creates a queue and waits until it is found everywhere (S3).
async fn found(run: &Run, create: CreateQueueFluentBuilder) -> Result<String, Unseen> {
    let url = create.send().await?.queue_url.unwrap_or_default();
    let mut times = 0;
    let found = run.until(FOUND, async || {
        let read = run.sqs.get_queue_attributes().queue_url(&url).send().await;
        times = if read.is_ok() { times + 1 } else { 0 };
        (times == 3).then_some(())
    });
    found.await.ok_or("a new queue is not found in 60 s")?;
    Ok(url)
}

/// S2: the tags after the same queue is created again with others.
pub(super) async fn repeated_create(run: &Run) -> Seen {
    let create = || run.sqs.create_queue().queue_name(run.name("tags"));
    let url = found(run, create().tags("first", "1")).await?;
    let again = answer(&create().tags("first", "2").tags("second", "2").send().await);
    run.wait(5).await;
    let tags = run.sqs.list_queue_tags().queue_url(url).send().await?.tags;
    let tags = tags.unwrap_or_default();
    let mut tags: Vec<_> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    tags.sort();
    Ok(format!("CreateQueue with first=1, then with first=2 and second=2 ({again}): the tags are {}", tags.join(", ")))
}

/// S11: the largest message of a new queue.
pub(super) async fn largest_message(run: &Run) -> Seen {
    let url = create(run, "size").await?;
    let name = Attribute::MaximumMessageSize;
    let read = run.sqs.get_queue_attributes().queue_url(url);
    let read = read.attribute_names(name.clone()).send().await?.attributes;
    let bytes = read.and_then(|read| read.get(&name).cloned()).unwrap_or_default();
    Ok(format!("{}: the largest message of a new queue has {bytes} bytes", run.region))
}

/// S21: how long a new queue is missing from the list, and a deleted one is in it.
pub(super) async fn listed_late(run: &Run) -> Seen {
    let name = run.name("listed");
    let url = create(run, "listed").await?;
    let is_listed = async || {
        let list = run.sqs.list_queues().queue_name_prefix(&name).max_results(10).send().await;
        list.map(|list| !list.queue_urls().is_empty())
    };
    let listed = run.until(120, async || is_listed().await.unwrap_or(false).then_some(())).await;
    run.sqs.delete_queue().queue_url(url).send().await?;
    let gone = run.until(180, async || (!is_listed().await.unwrap_or(true)).then_some(())).await;
    Ok(format!(
        "listed {} after CreateQueue, gone from the list {} after DeleteQueue",
        seconds(listed.map(|listed| listed.1), 120),
        seconds(gone.map(|gone| gone.1), 180)
    ))
}

/// R4: the name of a key as it comes back.
pub(super) async fn alias_of_a_key(run: &Run) -> Seen {
    let create = run.sqs.create_queue().queue_name(run.name("key"));
    let url = found(run, create.attributes(Attribute::KmsMasterKeyId, "alias/aws/sqs")).await?;
    let read = run.sqs.get_queue_attributes().queue_url(url).attribute_names(Attribute::All);
    let read = read.send().await?.attributes.unwrap_or_default();
    let value = |name| read.get(&name).map_or("absent", String::as_str);
    Ok(format!(
        "created with alias/aws/sqs: KmsMasterKeyId is {}, SqsManagedSseEnabled is {}",
        value(Attribute::KmsMasterKeyId),
        value(Attribute::SqsManagedSseEnabled)
    ))
}

/// S25: messages from before and after a change of the key, here from the managed key of the account to that of SQS.
pub(super) async fn changed_key(run: &Run) -> Seen {
    let create = run.sqs.create_queue().queue_name(run.name("changed"));
    let url = found(run, create.attributes(Attribute::KmsMasterKeyId, "alias/aws/sqs")).await?;
    let send = async |body: &str| answer(&run.sqs.send_message().queue_url(&url).message_body(body).send().await);
    let before = send("before").await;
    let set = run.sqs.set_queue_attributes().queue_url(&url);
    let set = set.attributes(Attribute::KmsMasterKeyId, "");
    let set = answer(&set.attributes(Attribute::SqsManagedSseEnabled, "true").send().await);
    let after = send("after").await;
    let shown = run.until(120, async || {
        let read = run.sqs.get_queue_attributes().queue_url(&url);
        let read = read.attribute_names(Attribute::All).send().await.ok()?.attributes?;
        let is_changed = read.get(&Attribute::KmsMasterKeyId).is_none_or(String::is_empty);
        is_changed.then(|| read.contains_key(&Attribute::LastModifiedTimestamp))
    });
    let shown = shown.await;
    let has_time = shown.is_some_and(|(has_time, _)| has_time);
    let mut received = BTreeSet::new();
    let all = run.until(60, async || {
        let receive = run.sqs.receive_message().queue_url(&url).max_number_of_messages(10);
        let messages = receive.send().await.ok()?.messages.unwrap_or_default();
        received.extend(messages.into_iter().filter_map(|message| message.body));
        (received.len() == 2).then_some(())
    });
    all.await;
    let received: Vec<_> = received.into_iter().collect();
    Ok(format!(
        "sent before: {before}; change: {set}; sent after: {after}; shown {} later, LastModifiedTimestamp {}; received: {}",
        seconds(shown.map(|shown| shown.1), 120),
        if has_time { "present" } else { "absent" },
        received.join(", ")
    ))
}

/// P7, P12, S14, S15, S16: a role that may send to one queue by its name and to others by their tag.
pub(super) async fn grants(run: &Run) -> Result<Vec<Seen>, Unseen> {
    let role = run.role("sender");
    iam::create_role(run, &role, "root").await?;
    let sender = iam::assume(run, &role).await?.sqs;
    let (by_name, by_tag) = tokio::join!(create(run, "by-name"), create(run, "by-tag"));
    let (by_name, by_tag) = (by_name?, by_tag?);
    let send = async |url: &str| answer(&sender.send_message().queue_url(url).message_body("{}").send().await);
    run.wait(5).await;
    let without = send(&by_name).await;
    if without == "200" {
        return Err("a role without any policy may send here".into());
    }
    iam::allow(run, &role, &["sqs:SendMessage"], &run.arn("sqs", &run.name("by-name"))).await?;
    let mut last = String::new();
    let granted = run.until(GRANTED, async || {
        last = send(&by_name).await;
        (last == "200").then_some(())
    });
    let Some(((), granted)) = granted.await else {
        return Err(Unseen(format!("a grant on the name is answered with {last} after {GRANTED} s")));
    };

    let policy = json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow",
            "Action": "sqs:SendMessage",
            "Resource": run.arn("sqs", &run.name("*")),
            "Condition": {"StringEquals": {"aws:ResourceTag/kibus-rt": run.bus}},
        }],
    });
    iam::put(run, &role, "by-tag", &policy.to_string()).await?;
    // As long as a grant takes at most, so that only the tag is late.
    run.wait(60).await;
    let wrong = send(&by_tag).await;
    let absent = send(&by_tag.replace("by-tag", "absent")).await;
    let tags = HashMap::from([("kibus-rt".to_owned(), run.bus.clone())]);
    run.sqs.tag_queue().queue_url(&by_tag).set_tags(Some(tags)).send().await?;
    let tagged = run.until(GRANTED, async || (send(&by_tag).await == "200").then_some(())).await;
    let tagged = seconds(tagged.map(|tagged| tagged.1), GRANTED);
    let works = if tagged.starts_with("not") { "never allowed" } else { "works" };
    Ok(vec![
        Ok(format!("SendMessage before PutRolePolicy: {without}; allowed {granted:.1} s after it")),
        Ok(format!("allowed by its tag {tagged} after TagQueue")),
        Ok(format!("partition {}, {}: a condition on aws:ResourceTag {works}", run.partition, run.region)),
        Ok(format!("SendMessage without the tag: {wrong}; allowed {tagged} after TagQueue")),
        Ok(format!("under the condition, wrong tag: {wrong}; absent queue: {absent}")),
    ])
}

/// A time in words.
pub(super) fn seconds(time: Option<f64>, bound: u32) -> String {
    time.map_or_else(|| format!("not within {bound} s"), |time| format!("{time:.1} s"))
}
