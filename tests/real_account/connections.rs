//! What several new connections to SQS read at the same time (S22).

use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use futures_util::future::join_all;

use super::observation::Seen;
use super::run::Run;
use super::sqs;
use crate::support::emulator::https;

/// How many connections read the queue in a round. A round is a second.
const CONNECTIONS: usize = 6;

/// How many rounds follow each change.
const ROUNDS: u32 = 30;

/// S22: a queue is deleted, and a minute later created again under the same name. After each, new connections read it.
pub(super) async fn several(run: &Run) -> Seen {
    let url = sqs::create(run, "several").await?;
    run.sqs.delete_queue().queue_url(&url).send().await?;
    let deleted = rounds(run, &url).await;
    // SQS refuses the name for a minute (S1).
    let created = run.until(120, async || {
        let create = run.sqs.create_queue().queue_name(run.name("several"));
        create.send().await.ok()
    });
    created.await.ok_or("the queue cannot be created again in 120 s")?;
    let created = rounds(run, &url).await;
    Ok(format!(
        "of {CONNECTIONS} new connections in each of {ROUNDS} rounds, found after DeleteQueue: {deleted}; after CreateQueue: {created}"
    ))
}

/// How many connections find the queue in each round.
async fn rounds(run: &Run, url: &str) -> String {
    let mut found = Vec::new();
    for _ in 0..ROUNDS {
        let reads = join_all((0..CONNECTIONS).map(|_| is_found(run, url))).await;
        found.push(reads.into_iter().filter(|found| *found).count().to_string());
        run.wait(1).await;
    }
    found.join(" ")
}

/// Whether a connection of its own finds the queue.
async fn is_found(run: &Run, url: &str) -> bool {
    let config = aws_sdk_sqs::config::Builder::from(&run.config).interceptor(run.recorder.clone()).http_client(https());
    let sqs = aws_sdk_sqs::Client::from_conf(config.build());
    let read = sqs.get_queue_attributes().queue_url(url);
    read.attribute_names(Attribute::CreatedTimestamp).send().await.is_ok()
}
