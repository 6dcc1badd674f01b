//! One invocation: route what Lambda passed and what else waits, and return to the queue what must be retried.

use std::sync::Arc;

use serde_json::{Value, json};

use super::batch::{Message, Origin, RoutedBatch};
use super::clock::{Clock, Deadline};
use super::hub_queue::Received;
use super::report::{InvocationReport, answered};
use super::route::route;
use super::services::{InstanceTags, Queues};
use super::{InvocationContext, Router, hub_queue};

/// A finished invocation.
pub(super) struct Finished {
    /// What Lambda receives; none if the invocation fails.
    pub(super) answer: Option<Value>,
    /// The log lines and metrics.
    pub(super) report: InvocationReport,
}

/// Routes a batch of messages, and in a storm those that the router receives itself. The answer names those of the batch
/// that return to their queue, and what became of messages that came from no queue. A batch of another queue fails: a mapping
/// that kibus did not create may ignore the answer, and then Lambda would delete the messages.
pub(super) async fn route_batch<T: InstanceTags, Q: Queues>(
    router: &Arc<Router<T, Q>>,
    mut messages: Vec<Message>,
    deadline: Deadline,
    request: &str,
) -> Finished {
    let context = InvocationContext::new(router, deadline);
    let passed = messages.len();
    let is_foreign = !messages.is_empty() && messages.iter().all(|message| message.origin == Origin::OtherQueue);
    let Received {
        messages: more,
        surplus,
    } = hub_queue::receive(&context, &messages).await;
    messages.extend(more);
    let routed = route(&context, &messages).await;
    let retried = routed.retried();
    let of_lambda = |number: &usize| *number < passed;
    let numbered = messages.iter().enumerate();
    let (returned, finished): (Vec<_>, Vec<_>) = numbered.partition(|(number, _)| retried.contains(number));
    let failures = returned.iter().filter(|(number, _)| of_lambda(number));
    let failures: Vec<Value> = failures
        .map(|(_, message)| json!({"itemIdentifier": message.id}))
        .collect();
    let returned = returned.into_iter().map(|(_, message)| message).chain(&surplus);
    let returned: Vec<&Message> = returned.collect();
    let finished = finished.into_iter().filter(|(number, _)| !of_lambda(number));
    let finished: Vec<&Message> = finished.map(|(_, message)| message).collect();
    tokio::join!(
        hub_queue::hide(&context, &returned, deadline.last_moments()),
        hub_queue::delete(&context, &finished, deadline.last_moments()),
    );
    let mut answer = json!({"batchItemFailures": failures});
    let decisions = answered(&messages, &routed.items);
    if !decisions.is_empty() {
        answer["decisions"] = json!(decisions);
    }
    Finished {
        answer: (!is_foreign).then_some(answer),
        report: report(&context, request, &messages, &routed),
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
    let context = InvocationContext::new(router, deadline);
    let routed = route(&context, &messages).await;
    let report = report(&context, request, &messages, &routed);
    Finished {
        answer: routed.retried().is_empty().then(|| json!(report.counts)),
        report,
    }
}

fn report<T, Q>(
    context: &InvocationContext<T, Q, Deadline>,
    request: &str,
    messages: &[Message],
    routed: &RoutedBatch,
) -> InvocationReport {
    let (bus, now) = (&context.router.scope.bus, context.clock.unix_millis());
    InvocationReport::new(bus, request, messages, routed, &context.calls, now)
}
