//! One invocation: route what Lambda passed, and return to the queue what must be retried.

use std::sync::Arc;

use serde_json::{Value, json};

use super::clock::{Clock, Deadline, visibility};
use super::payload::QueueBatch;
use super::report::InvocationReport;
use super::route::{Message, route};
use super::services::{InstanceTags, Queues};
use super::{InvocationContext, Router};
use crate::model::name::QueueName;

/// How many messages one call about visibility takes.
const BATCH: usize = 10;

/// A finished invocation.
pub(super) struct Finished<A> {
    /// What Lambda receives.
    pub(super) answer: A,
    /// The log lines and metrics.
    pub(super) report: InvocationReport,
}

/// Routes the messages of a queue. The answer names the messages that return to the queue.
pub(super) async fn route_batch<T: InstanceTags, Q: Queues>(
    router: &Arc<Router<T, Q>>,
    batch: &QueueBatch,
    deadline: Deadline,
    request: &str,
) -> Finished<Value> {
    let (retried, report) = route_messages(router, &batch.messages, deadline, request).await;
    if let Some(queue) = &batch.queue {
        hide(router, queue, &retried, deadline.last_moments()).await;
    }
    let failures: Vec<Value> = retried
        .iter()
        .map(|message| json!({"itemIdentifier": message.id}))
        .collect();
    Finished {
        answer: json!({"batchItemFailures": failures}),
        report,
    }
}

/// Routes one event that came from no queue. The answer has the counts; none if the event must be retried.
pub(super) async fn route_event<T: InstanceTags, Q: Queues>(
    router: &Arc<Router<T, Q>>,
    message: Message,
    deadline: Deadline,
    request: &str,
) -> Finished<Option<Value>> {
    let messages = [message];
    let (retried, report) = route_messages(router, &messages, deadline, request).await;
    Finished {
        answer: retried.is_empty().then(|| json!(report.counts)),
        report,
    }
}

async fn route_messages<'a, T: InstanceTags, Q: Queues>(
    router: &Arc<Router<T, Q>>,
    messages: &'a [Message],
    deadline: Deadline,
    request: &str,
) -> (Vec<&'a Message>, InvocationReport) {
    let context = InvocationContext::new(router, deadline);
    let routed = route(&context, messages).await;
    let retried = routed.retried();
    let report = InvocationReport::new(
        &router.scope.bus,
        request,
        messages,
        &routed,
        &context.calls,
        deadline.unix_millis(),
    );
    let numbered = messages.iter().enumerate();
    let retried = numbered.filter(|(number, _)| retried.contains(number));
    (retried.map(|(_, message)| message).collect(), report)
}

/// Makes each message visible again after its own wait instead of the queue's. A call that fails here loses
/// nothing: its messages return later.
async fn hide<T: InstanceTags, Q: Queues>(
    router: &Arc<Router<T, Q>>,
    queue: &QueueName,
    messages: &[&Message],
    clock: Deadline,
) {
    let mut tasks = tokio::task::JoinSet::new();
    for batch in messages.chunks(BATCH) {
        let (router, queue) = (Arc::clone(router), queue.clone());
        let waits: Vec<(String, u32)> = batch
            .iter()
            .map(|message| (message.receipt.clone(), visibility(message.receives.unwrap_or(1))))
            .collect();
        tasks.spawn(async move {
            let waits: Vec<(&str, u32)> = waits.iter().map(|(receipt, wait)| (receipt.as_str(), *wait)).collect();
            let _permit = router.permit().await;
            clock.within(router.queues.hide(&queue, &waits)).await
        });
    }
    while tasks.join_next().await.is_some() {}
}
