//! What SQS does with dead-letter queues.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use serde_json::{Value, json};

use super::observation::{Seen, Unseen, answer};
use super::run::Run;
use super::sqs::{self, seconds};

/// How often a queue is created right after its dead-letter queue.
const PAIRS: u32 = 5;

/// How long a message may take to its dead-letter queue, in seconds.
const MOVED: u32 = 120;

/// S23: the answers of CreateQueue with a dead-letter queue that was created just before.
pub(super) async fn new_target(run: &Run) -> Seen {
    let mut answers: BTreeMap<String, u32> = BTreeMap::new();
    for number in 0..PAIRS {
        let (target, source) = (format!("new-dlq-{number}"), run.name(&format!("new-{number}")));
        run.sqs.create_queue().queue_name(run.name(&target)).send().await?;
        let create = run.sqs.create_queue().queue_name(source);
        let create = create.attributes(Attribute::RedrivePolicy, redrive(run, &target));
        *answers.entry(answer(&create.send().await)).or_default() += 1;
    }
    let answers: Vec<_> = answers.into_iter().map(|(answer, times)| format!("{times} x {answer}")).collect();
    Ok(format!("right after the dead-letter queue: {}", answers.join("; ")))
}

/// S24: a source that stands when `denyAll` is set, and a new one. S26: whether SQS moves messages to a queue that denies
/// senders as the dead-letter queue of a hub does.
pub(super) async fn locked(run: &Run) -> Result<Vec<Seen>, Unseen> {
    let target = sqs::create(run, "locked-dlq").await?;
    let arn = run.arn("sqs", &run.name("locked-dlq"));
    let source = run.arn("sqs", &run.name("locked"));
    let policy: Value = serde_json::from_str(include_str!("../../templates/policies/hub-queue.json"))
        .map_err(|_| "the template of the policy is not JSON")?;
    let lock = policy["Statement"].as_array().into_iter().flatten().find(|one| one["Sid"] == "KibusServicesOnly");
    let lock = lock.ok_or("the template of the policy has no lock")?;
    let policy = json!({"Version": "2012-10-17", "Statement": [lock]}).to_string().replace("${queue_arn}", &arn);
    let allow = json!({"redrivePermission": "byQueue", "sourceQueueArns": [source]});
    let set = run.sqs.set_queue_attributes().queue_url(&target);
    let set = set.attributes(Attribute::Policy, policy);
    set.attributes(Attribute::RedriveAllowPolicy, allow.to_string()).send().await?;
    let create = run.sqs.create_queue().queue_name(run.name("locked"));
    let url = create
        .attributes(Attribute::RedrivePolicy, redrive(run, "locked-dlq"))
        .attributes(Attribute::VisibilityTimeout, "0")
        .send()
        .await?
        .queue_url
        .unwrap_or_default();
    // As long as attributes take at most (S4).
    run.wait(60).await;
    let sent = answer(&run.sqs.send_message().queue_url(&target).message_body("{}").send().await);
    let moved = moved(run, &url, &target).await?;
    let deny = run.sqs.set_queue_attributes().queue_url(&target);
    let deny = deny.attributes(Attribute::RedriveAllowPolicy, r#"{"redrivePermission":"denyAll"}"#);
    let deny = answer(&deny.send().await);
    run.wait(60).await;
    let still_moved = self::moved(run, &url, &target).await?;
    let create = run.sqs.create_queue().queue_name(run.name("locked-late"));
    let create = create.attributes(Attribute::RedrivePolicy, redrive(run, "locked-dlq"));
    Ok(vec![
        Ok(format!(
            "SetQueueAttributes with denyAll while a source redrives: {deny}; its next message is moved: {still_moved}; CreateQueue of another source: {}",
            answer(&create.send().await)
        )),
        Ok(format!(
            "a queue that denies senders (SendMessage: {sent}) and allows the source by byQueue: a message is moved: {moved}"
        )),
    ])
}

/// When a message of a queue, received once, is in its dead-letter queue.
async fn moved(run: &Run, source: &str, target: &str) -> Result<String, Unseen> {
    run.sqs.send_message().queue_url(source).message_body("{}").send().await?;
    let moved = run.until(MOVED, async || {
        run.sqs.receive_message().queue_url(source).send().await.ok()?;
        let received = run.sqs.receive_message().queue_url(target).send().await.ok()?;
        let message = received.messages().first()?;
        let delete = run.sqs.delete_message().queue_url(target);
        delete.set_receipt_handle(message.receipt_handle.clone()).send().await.ok()
    });
    Ok(seconds(moved.await.map(|moved| moved.1), MOVED))
}

/// The redrive policy of a queue with this dead-letter queue.
fn redrive(run: &Run, target: &str) -> String {
    let target = run.arn("sqs", &run.name(target));
    json!({"deadLetterTargetArn": target, "maxReceiveCount": 1}).to_string()
}
