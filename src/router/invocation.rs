//! One invocation: route what Lambda passed, and return to the queue what must be retried.

use std::sync::Arc;

use serde_json::{Value, json};

use super::clock::{Clock, Deadline, visibility};
use super::report::InvocationReport;
use super::route::{Message, Origin, route};
use super::services::{InstanceTags, Queues};
use super::{InvocationContext, Router};

/// How many messages one call about visibility takes.
const BATCH: usize = 10;

/// A finished invocation.
pub(super) struct Finished {
    /// What Lambda receives; none if the invocation fails.
    pub(super) answer: Option<Value>,
    /// The log lines and metrics.
    pub(super) report: InvocationReport,
}

/// Routes a batch of messages. The answer names those that return to their queue. A batch of another queue fails: a
/// mapping that kibus did not create may ignore the answer, and then Lambda would delete the messages.
pub(super) async fn route_batch<T: InstanceTags, Q: Queues>(
    router: &Arc<Router<T, Q>>,
    messages: &[Message],
    deadline: Deadline,
    request: &str,
) -> Finished {
    let (retried, report) = route_messages(router, messages, deadline, request).await;
    hide(router, &retried, deadline.last_moments()).await;
    let failures: Vec<Value> = retried
        .iter()
        .map(|message| json!({"itemIdentifier": message.id}))
        .collect();
    let is_foreign = !messages.is_empty() && messages.iter().all(|message| message.origin == Origin::OtherQueue);
    Finished {
        answer: (!is_foreign).then(|| json!({"batchItemFailures": failures})),
        report,
    }
}

/// Routes one event that came from no queue. The answer has the counts; none if the event must be retried.
pub(super) async fn route_event<T: InstanceTags, Q: Queues>(
    router: &Arc<Router<T, Q>>,
    message: Message,
    deadline: Deadline,
    request: &str,
) -> Finished {
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

/// Makes each message of the hub queue visible again after its own wait instead of the queue's. A call that fails here
/// loses nothing: its messages return later.
async fn hide<T: InstanceTags, Q: Queues>(router: &Arc<Router<T, Q>>, messages: &[&Message], clock: Deadline) {
    let waits: Vec<(String, u32)> = messages
        .iter()
        .filter_map(|message| match &message.origin {
            Origin::HubQueue { receipt } => Some((receipt.clone(), visibility(message.receives.unwrap_or(1)))),
            Origin::Invocation | Origin::OtherQueue => None,
        })
        .collect();
    let mut tasks = tokio::task::JoinSet::new();
    for batch in waits.chunks(BATCH).map(<[_]>::to_vec) {
        let router = Arc::clone(router);
        tasks.spawn(async move {
            let waits: Vec<(&str, u32)> = batch.iter().map(|(receipt, wait)| (receipt.as_str(), *wait)).collect();
            let _permit = router.permit().await;
            let queue = router.scope.hub_queue();
            clock.within(router.queues.hide(&queue, &waits)).await
        });
    }
    while tasks.join_next().await.is_some() {}
}
