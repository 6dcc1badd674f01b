//! What SQS does.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Credentials;
use aws_sdk_sqs::error::ProvideErrorMetadata;
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

pub(super) async fn observe(run: &Run) -> Vec<(&'static str, Seen)> {
    let (repeated, size, listed, dead_letters, redrive, key, grants) = tokio::join!(
        repeated_create(run),
        largest_message(run),
        listed_late(run),
        new_dead_letter_queue(run),
        denied_redrive(run),
        alias_of_a_key(run),
        grants(run),
    );
    let mut seen = vec![
        ("S2", repeated),
        ("S11", size),
        ("S21", listed),
        ("S23", dead_letters),
        ("S24", redrive),
        ("R4", key),
    ];
    let failed = |error: &Unseen| ["P7", "P12", "S14", "S15", "S16"].map(|id| (id, Err(error.clone())));
    match grants {
        Ok(grants) => seen.extend(grants),
        Err(error) => seen.extend(failed(&error)),
    }
    seen
}

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
async fn repeated_create(run: &Run) -> Seen {
    let create = || run.sqs.create_queue().queue_name(run.name("tags"));
    let url = found(run, create().tags("first", "1")).await?;
    let again = answer(&create().tags("first", "2").tags("second", "2").send().await);
    run.wait(5).await;
    let tags = run.sqs.list_queue_tags().queue_url(url).send().await?.tags;
    let tags = tags.unwrap_or_default();
    let mut tags: Vec<_> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    tags.sort();
    Ok(format!(
        "CreateQueue with first=1, then with first=2 and second=2 ({again}): the tags are {}",
        tags.join(", ")
    ))
}

/// S11: the largest message of a new queue.
async fn largest_message(run: &Run) -> Seen {
    let url = create(run, "size").await?;
    let name = Attribute::MaximumMessageSize;
    let read = run.sqs.get_queue_attributes().queue_url(url);
    let read = read.attribute_names(name.clone()).send().await?.attributes;
    let bytes = read.and_then(|read| read.get(&name).cloned()).unwrap_or_default();
    Ok(format!(
        "{}: the largest message of a new queue has {bytes} bytes",
        run.region
    ))
}

/// S24: what `denyAll` does to a new redrive policy, and to a queue that has one already.
async fn denied_redrive(run: &Run) -> Seen {
    let (target, source) = tokio::join!(create(run, "redrive-to"), create(run, "redrive-from"));
    let (target, source) = (target?, source?);
    let arn = run.arn("sqs", &run.name("redrive-to"));
    let redrive = json!({"deadLetterTargetArn": arn, "maxReceiveCount": 1}).to_string();
    let deny = json!({"redrivePermission": "denyAll"}).to_string();
    for (url, name, value) in [
        (&source, Attribute::RedrivePolicy, &redrive),
        (&target, Attribute::RedriveAllowPolicy, &deny),
    ] {
        let set = run.sqs.set_queue_attributes().queue_url(url).attributes(name, value);
        set.send().await?;
    }
    // As long as attributes take at most (S4).
    run.wait(60).await;
    let create = run.sqs.create_queue().queue_name(run.name("redrive-new"));
    let create = create.attributes(Attribute::RedrivePolicy, &redrive).send().await;
    run.sqs
        .send_message()
        .queue_url(&source)
        .message_body("{}")
        .send()
        .await?;
    let moved = run.until(60, async || {
        let receive = |url| run.sqs.receive_message().queue_url(url).visibility_timeout(0).send();
        let (_, moved) = tokio::join!(receive(&source), receive(&target));
        moved.is_ok_and(|moved| !moved.messages().is_empty()).then_some(())
    });
    Ok(format!(
        "with denyAll, CreateQueue of a new source: {}; a message of an older source is moved: {}",
        answer(&create),
        seconds(moved.await.map(|moved| moved.1), 60)
    ))
}

/// S21: how long a new queue is missing from the list, and a deleted one is in it.
async fn listed_late(run: &Run) -> Seen {
    let name = run.name("listed");
    let url = create(run, "listed").await?;
    let is_listed = async || {
        let list = run
            .sqs
            .list_queues()
            .queue_name_prefix(&name)
            .max_results(10)
            .send()
            .await;
        list.map(|list| !list.queue_urls().is_empty())
    };
    let listed = run
        .until(120, async || is_listed().await.unwrap_or(false).then_some(()))
        .await;
    run.sqs.delete_queue().queue_url(url).send().await?;
    let gone = run
        .until(180, async || (!is_listed().await.unwrap_or(true)).then_some(()))
        .await;
    Ok(format!(
        "listed {} after CreateQueue, gone from the list {} after DeleteQueue",
        seconds(listed.map(|listed| listed.1), 120),
        seconds(gone.map(|gone| gone.1), 180)
    ))
}

/// S23: a queue is created right after its dead-letter queue.
async fn new_dead_letter_queue(run: &Run) -> Seen {
    let target = run.name("dead");
    run.sqs.create_queue().queue_name(&target).send().await?;
    let redrive = json!({"deadLetterTargetArn": run.arn("sqs", &target), "maxReceiveCount": 5}).to_string();
    let mut answers = Vec::new();
    for number in 0..5 {
        let create = run.sqs.create_queue().queue_name(run.name(&format!("source-{number}")));
        let create = create.attributes(Attribute::RedrivePolicy, &redrive);
        answers.push(answer(&create.send().await));
    }
    Ok(format!(
        "created right after its dead-letter queue: {}",
        answers.join(", ")
    ))
}

/// R4: the name of a key as it comes back.
async fn alias_of_a_key(run: &Run) -> Seen {
    let create = run.sqs.create_queue().queue_name(run.name("key"));
    let url = found(run, create.attributes(Attribute::KmsMasterKeyId, "alias/aws/sqs")).await?;
    let read = run
        .sqs
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(Attribute::All);
    let read = read.send().await?.attributes.unwrap_or_default();
    let value = |name| read.get(&name).map_or("absent", String::as_str);
    Ok(format!(
        "created with alias/aws/sqs: KmsMasterKeyId is {}, SqsManagedSseEnabled is {}",
        value(Attribute::KmsMasterKeyId),
        value(Attribute::SqsManagedSseEnabled)
    ))
}

/// P7, P12, S14, S15, S16: a role that may send to one queue by its name and to others by their tag.
async fn grants(run: &Run) -> Result<[(&'static str, Seen); 5], Unseen> {
    let role = run.role("sender");
    iam::create_role(run, &role, "root").await?;
    let sender = sender(run, &role).await?;
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
        return Err(Unseen(format!(
            "a grant on the name is answered with {last} after {GRANTED} s"
        )));
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
    run.sqs
        .tag_queue()
        .queue_url(&by_tag)
        .set_tags(Some(tags))
        .send()
        .await?;
    let tagged = run
        .until(GRANTED, async || (send(&by_tag).await == "200").then_some(()))
        .await;
    let tagged = seconds(tagged.map(|tagged| tagged.1), GRANTED);
    Ok([
        (
            "P7",
            Ok(format!(
                "SendMessage before PutRolePolicy: {without}; allowed {granted:.1} s after it"
            )),
        ),
        ("P12", Ok(format!("allowed by its tag {tagged} after TagQueue"))),
        (
            "S14",
            Ok(format!(
                "partition {}, {}: a condition on aws:ResourceTag {}",
                run.partition,
                run.region,
                if tagged.starts_with("not") {
                    "never allowed"
                } else {
                    "works"
                }
            )),
        ),
        (
            "S15",
            Ok(format!(
                "SendMessage without the tag: {wrong}; allowed {tagged} after TagQueue"
            )),
        ),
        (
            "S16",
            Ok(format!(
                "under the condition, wrong tag: {wrong}; absent queue: {absent}"
            )),
        ),
    ])
}

/// A client with the role's own credentials.
async fn sender(run: &Run, role: &str) -> Result<Client, Unseen> {
    let arn = run.arn("iam", &format!("role/{role}"));
    let assumed = run.until(120, async || {
        let assume = run.sts.assume_role().role_arn(&arn).role_session_name("kibus-rt");
        match assume.send().await {
            // A new role cannot be assumed at once.
            Err(error) if error.code() == Some("AccessDenied") => None,
            other => Some(other),
        }
    });
    let (assumed, _) = assumed.await.ok_or("the role cannot be assumed in 120 s")?;
    let keys = assumed?.credentials.ok_or("AssumeRole gave no credentials")?;
    let keys = Credentials::new(
        keys.access_key_id,
        keys.secret_access_key,
        Some(keys.session_token),
        None,
        "role",
    );
    let config = aws_sdk_sqs::config::Builder::from(&run.config).credentials_provider(keys);
    Ok(Client::from_conf(config.build()))
}

/// A time in words.
pub(super) fn seconds(time: Option<f64>, bound: u32) -> String {
    time.map_or_else(|| format!("not within {bound} s"), |time| format!("{time:.1} s"))
}
