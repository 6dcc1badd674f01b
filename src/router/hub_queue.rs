//! What the router itself does at the hub queue. Lambda passes ten messages at a time, and each batch of new instances
//! costs a `DescribeTags`, of which EC2 allows few. So in a storm the router receives as many more messages as one call
//! covers, and deletes them or returns them as Lambda does with its own (docs/decisions/0035-the-router-receives-more.md).

use std::sync::Arc;

use tokio::task::JoinSet;

use super::InvocationContext;
use super::batch::{Message, Origin};
use super::clock::{Clock, Deadline, visibility};
use super::services::{InstanceTags, Queues};
use crate::model::hub::{BATCH_SIZE, RECEIVES};
use crate::wire::ec2::MAX_IDS;

/// How many messages an invocation routes at most: one `DescribeTags` covers as many instances.
const MOST: usize = MAX_IDS;
/// How many messages Lambda passes in a full batch, and how many one call to the queue takes.
const BATCH: usize = BATCH_SIZE as usize;
/// How many bytes of messages the router adds to a batch at most. Two hundred events of AWS have about as much.
const ROOM: usize = 512 * 1024;
/// The receive from which a message is routed in a batch of Lambda only. If something in a batch ends the process, or
/// SQS is too slow for a receive, all of its messages are received again. Half of the receives are left to those that
/// had only such neighbors.
const ALONE_FROM: u32 = RECEIVES / 2;

/// The messages that the router received itself.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// Those to route.
    pub(super) messages: Vec<Message>,
    /// Those for which there is no room. They return to the queue as they are.
    pub(super) surplus: Vec<Message>,
}

/// Receives more messages of the hub queue if Lambda passed a full batch of it. A call that fails or takes too long is
/// not repeated: what it received, if anything, returns to the queue when this invocation is over.
pub(super) async fn receive<T: InstanceTags, Q: Queues>(
    context: &Arc<InvocationContext<T, Q, Deadline>>,
    passed: &[Message],
) -> Received {
    let queue = context.router.scope.hub_queue();
    let (clock, hidden) = (context.clock.first_quarter(), context.clock.over_in());
    let mut tasks = JoinSet::new();
    for _ in 0..calls(passed) {
        let (router, queue) = (Arc::clone(&context.router), queue.clone());
        tasks.spawn(async move {
            let _permit = router.permit().await;
            clock.within(router.queues.receive(&queue, hidden)).await
        });
    }
    let mut received = Received::default();
    let mut room = ROOM;
    while let Some(joined) = tasks.join_next().await {
        let Ok(Some(Ok(messages))) = joined else { continue };
        for message in messages {
            if message.body.len() <= room {
                room -= message.body.len();
                received.messages.push(message);
            } else {
                received.surplus.push(message);
            }
        }
    }
    context.calls.count_received(received.messages.len());
    received
}

/// How many calls receive more. None if the batch is not full: then few messages wait, or none.
fn calls(passed: &[Message]) -> usize {
    let is_young = |message: &Message| {
        let receives = message.receives.filter(|_| receipt(message).is_some());
        receives.is_some_and(|receives| receives < ALONE_FROM)
    };
    if passed.len() != BATCH || !passed.iter().all(is_young) {
        return 0;
    }
    // The messages that wait are about as large as those that came.
    let bytes: usize = passed.iter().map(|message| message.body.len()).sum();
    (ROOM / bytes.max(1)).min(MOST / BATCH - 1)
}

/// Deletes messages that the router received itself. One that SQS does not delete returns to the queue and is routed
/// again, which does no harm in Karpenter.
pub(super) async fn delete<T: InstanceTags, Q: Queues>(
    context: &Arc<InvocationContext<T, Q, Deadline>>,
    messages: &[&Message],
    clock: Deadline,
) {
    let queue = context.router.scope.hub_queue();
    let mut tasks = JoinSet::new();
    for batch in messages.chunks(BATCH) {
        let (router, queue) = (Arc::clone(&context.router), queue.clone());
        let receipts = batch.iter().filter_map(|message| receipt(message).map(str::to_owned));
        let receipts: Vec<String> = receipts.collect();
        tasks.spawn(async move {
            let receipts: Vec<&str> = receipts.iter().map(String::as_str).collect();
            let _permit = router.permit().await;
            clock.within(router.queues.delete(&queue, &receipts)).await
        });
    }
    let mut left = messages.len();
    while let Some(joined) = tasks.join_next().await {
        if let Ok(Some(Ok(deleted))) = joined {
            left = left.saturating_sub(deleted);
        }
    }
    context.calls.count_not_deleted(left);
}

/// Makes each message of the hub queue visible again after its own wait instead of the queue's. A call that fails here
/// loses nothing: its messages return later.
pub(super) async fn hide<T: InstanceTags, Q: Queues>(
    context: &Arc<InvocationContext<T, Q, Deadline>>,
    messages: &[&Message],
    clock: Deadline,
) {
    let wait = |message: &&Message| Some((receipt(message)?.to_owned(), visibility(message.receives.unwrap_or(1))));
    let waits: Vec<(String, u32)> = messages.iter().filter_map(wait).collect();
    let queue = context.router.scope.hub_queue();
    let mut tasks = JoinSet::new();
    for batch in waits.chunks(BATCH) {
        let (router, queue, batch) = (Arc::clone(&context.router), queue.clone(), batch.to_vec());
        tasks.spawn(async move {
            let waits: Vec<(&str, u32)> = batch.iter().map(|(receipt, wait)| (receipt.as_str(), *wait)).collect();
            let _permit = router.permit().await;
            clock.within(router.queues.hide(&queue, &waits)).await
        });
    }
    while tasks.join_next().await.is_some() {}
}

/// The receipt handle of a message of the hub queue.
fn receipt(message: &Message) -> Option<&str> {
    match &message.origin {
        Origin::HubQueue { receipt } => Some(receipt),
        Origin::Invocation | Origin::OtherQueue => None,
    }
}
