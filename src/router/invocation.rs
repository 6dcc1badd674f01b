//! One invocation: read the messages from Lambda, receive further waiting messages, route them, and return messages to
//! the queue that must be retried.
//!
//! Lambda passes ten messages at a time, and each batch of new instances needs a `DescribeTags` call, of which EC2
//! allows few. So in a storm, the router itself receives as many more messages from the hub queue as one call covers,
//! and deletes or returns them, as Lambda does with its own messages
//! (docs/decisions/0008-the-router-has-small-batches-and-receives-more.md).

use std::sync::Arc;

use serde_json::{Value, json};

use super::batch::{Message, Origin};
use super::clock::{Clock, Deadline, visibility};
use super::json::Members;
use super::route::route;
use super::services::Services;
use super::{InvocationContext, Router, notices, report, side_by_side};
use crate::model::{
    SqsEvent, SqsRecord,
    hub::{BATCH_SIZE, RECEIVES},
    router_function,
};
use crate::wire::ec2::MAX_IDS;

/// The maximum number of messages per invocation: one `DescribeTags` covers the same number of instances.
const MOST: usize = MAX_IDS;
/// The number of messages in a full batch from Lambda, and the maximum per call to the queue.
const BATCH: usize = BATCH_SIZE as usize;
/// The maximum size of the messages that the router adds to a batch, in bytes: about the size of two hundred AWS events.
const ROOM: usize = 512 * 1024;
/// From this receive on, a message is routed only in a batch from Lambda. If a message in a batch ends the process, or
/// SQS is too slow for a receive, all of its messages are received again. This leaves half of the receives to messages
/// that only had such neighbors.
const ALONE_FROM: u32 = RECEIVES / 2;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload {
    SelfTest,
    /// Route these messages, and name those that fail.
    Batch(Vec<Message>),
}

pub(super) struct Finished {
    /// The answer to Lambda; `None` if the invocation fails.
    pub(super) answer: Option<Value>,
    /// The lines of the log, with the metrics.
    pub(super) lines: Vec<String>,
}

impl Payload {
    /// Reads a payload: a request for the self-test, or records of SQS. `hub` is the ARN of the hub queue, and `now` the time
    /// in milliseconds of the Unix epoch.
    pub(super) fn parse(text: &str, hub: &str, now: i64) -> Result<Self, serde_json::Error> {
        let members = Members::parse(text);
        let text_of = |key| members.as_ref().and_then(|members| members.text(key));
        if text_of("source").as_deref() == Some(router_function::SELF_TEST_SOURCE)
            && text_of("detail-type").as_deref() == Some(router_function::SELF_TEST_DETAIL_TYPE)
        {
            return Ok(Self::SelfTest);
        }
        let SqsEvent { records } = serde_json::from_str(text)?;
        let messages = records.into_iter().map(|record| message(record, hub, now));
        Ok(Self::Batch(messages.collect()))
    }
}

fn message(record: SqsRecord, hub: &str, now: i64) -> Message {
    let receives = record.attributes.approximate_receive_count.parse().ok();
    // Even if the queue omits other members, its message counts as coming from a queue.
    let receives = receives.or(record.source.is_some().then_some(1));
    Message {
        id: record.message_id,
        origin: match record.source {
            None => Origin::Invocation,
            Some(source) if source == hub => Origin::HubQueue { receipt: record.receipt_handle },
            Some(_) => Origin::OtherQueue,
        },
        body: record.body,
        receives,
        arrived: record.attributes.sent_timestamp.parse().unwrap_or(now),
    }
}

/// Routes a batch of messages and, in a storm, those that the router receives itself. The answer names the messages of
/// the batch that return to their queue, and the outcome of messages that did not come from a queue. A batch from
/// another queue fails: a mapping that kibus did not create may ignore the answer, and then Lambda would delete the
/// messages.
pub(super) async fn route_batch<S: Services>(
    router: &Arc<Router<S>>,
    mut messages: Vec<Message>,
    deadline: Deadline,
    request: &str,
) -> Finished {
    let context = InvocationContext::new(router, deadline);
    let passed = messages.len();
    let is_foreign = !messages.is_empty() && messages.iter().all(|message| message.origin == Origin::OtherQueue);
    let (more, surplus) = receive(&context, &messages).await;
    messages.extend(more);
    let routed = route(&context, &messages).await;
    let retried = routed.retried();
    let all = messages.iter().enumerate();
    let (returned, finished): (Vec<_>, Vec<_>) = all.partition(|(number, _)| retried.contains(number));
    let failures = returned.iter().filter(|(number, _)| *number < passed);
    let failures: Vec<Value> = failures.map(|(_, message)| json!({"itemIdentifier": message.id})).collect();
    let returned = returned.into_iter().map(|(_, message)| message).chain(&surplus);
    let finished = finished.into_iter().filter(|(number, _)| *number >= passed).map(|(_, message)| message).collect();
    let clock = deadline.last_moments();
    tokio::join!(hide(&context, returned.collect(), clock), delete(&context, finished, clock),);
    let in_storm = context.calls.received.get() > 0 || !surplus.is_empty();
    let notices = router.topic.as_ref().map(|_| report::notices(&router.scope, &messages, &routed));
    let notified = notices::publish(&context, notices.unwrap_or_default(), in_storm).await;
    let mut answer = json!({"batchItemFailures": failures});
    let decisions = report::answered(&messages, &routed.items);
    if !decisions.is_empty() {
        answer["decisions"] = json!(decisions);
    }
    let (handler, now) = (&router.handler, deadline.unix_millis());
    Finished {
        answer: (!is_foreign).then_some(answer),
        lines: report::lines(handler, request, &messages, &routed, &context.calls, &notified, now),
    }
}

/// Receives more messages from the hub queue if Lambda passed a full batch from it: messages to route, and messages for
/// which there is no room, which return to the queue unprocessed. A call that fails or takes too long is not repeated:
/// the messages that it received, if any, return to the queue after this invocation.
async fn receive<S: Services>(
    context: &Arc<InvocationContext<S, Deadline>>,
    passed: &[Message],
) -> (Vec<Message>, Vec<Message>) {
    let (clock, hidden) = (context.clock.first_quarter(), context.clock.over_in());
    let calls = (0..calls(passed)).map(|_| {
        let router = Arc::clone(&context.router);
        async move {
            let queue = router.scope.hub_queue();
            let call = router.services.receive(&queue, hidden);
            router.permitted(clock.within(call)).await
        }
    });
    let answers = side_by_side(calls).await;
    let (mut more, mut surplus, mut room) = (Vec::new(), Vec::new(), ROOM);
    for message in answers.into_iter().flatten().flatten().flatten().flatten() {
        if message.body.len() <= room {
            room -= message.body.len();
            more.push(message);
        } else {
            surplus.push(message);
        }
    }
    context.calls.received.add(more.len());
    (more, surplus)
}

/// The number of calls that receive more; zero if the batch is not full, because then few or no messages are waiting.
fn calls(passed: &[Message]) -> usize {
    let is_young = |message: &Message| {
        let receives = message.receives.filter(|_| receipt(message).is_some());
        receives.is_some_and(|receives| receives < ALONE_FROM)
    };
    if passed.len() != BATCH || !passed.iter().all(is_young) {
        return 0;
    }
    // Waiting messages are probably about as large as those that arrived.
    let bytes: usize = passed.iter().map(|message| message.body.len()).sum();
    (ROOM / bytes.max(1)).min(MOST / BATCH - 1)
}

/// Deletes messages that the router received itself. A message that stays is routed again, which does no harm in Karpenter.
async fn delete<S: Services>(context: &Arc<InvocationContext<S, Deadline>>, messages: Vec<&Message>, clock: Deadline) {
    let calls = messages.chunks(BATCH).map(|batch| {
        let receipts = batch.iter().filter_map(|message| receipt(message).map(str::to_owned));
        let (router, receipts) = (Arc::clone(&context.router), receipts.collect::<Vec<_>>());
        async move {
            let (queue, receipts): (_, Vec<&str>) =
                (router.scope.hub_queue(), receipts.iter().map(String::as_str).collect());
            let call = router.services.delete(&queue, &receipts);
            router.permitted(clock.within(call)).await
        }
    });
    let answers = side_by_side(calls).await;
    let deleted: usize = answers.into_iter().flatten().flatten().flatten().sum();
    context.calls.not_deleted.add(messages.len().saturating_sub(deleted));
}

/// Makes each message of the hub queue visible again after its own wait. If a call fails, they return later.
async fn hide<S: Services>(context: &Arc<InvocationContext<S, Deadline>>, messages: Vec<&Message>, clock: Deadline) {
    let wait = |message: &&Message| Some((receipt(message)?.to_owned(), visibility(message.receives.unwrap_or(1))));
    let waits: Vec<(String, u32)> = messages.iter().filter_map(wait).collect();
    let calls = waits.chunks(BATCH).map(|batch| {
        let (router, batch) = (Arc::clone(&context.router), batch.to_vec());
        async move {
            let waits: Vec<(&str, u32)> = batch.iter().map(|(receipt, wait)| (receipt.as_str(), *wait)).collect();
            let queue = router.scope.hub_queue();
            let call = router.services.hide(&queue, &waits);
            router.permitted(clock.within(call)).await
        }
    });
    side_by_side(calls).await;
}

fn receipt(message: &Message) -> Option<&str> {
    match &message.origin {
        Origin::HubQueue { receipt } => Some(receipt),
        Origin::Invocation | Origin::OtherQueue => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::{
        router_function::{SELF_TEST_DETAIL_TYPE, SELF_TEST_SOURCE, self_test_request},
        signal::PROBE_SOURCE,
    };

    const HUB: &str = "arn:aws:sqs:us-west-2:111122223333:kibus-hub";

    fn parse(text: &str) -> Result<Payload, serde_json::Error> {
        Payload::parse(text, HUB, 7)
    }

    fn message(origin: Origin, body: &str, receives: Option<u32>, arrived: i64) -> Message {
        Message { id: "m".to_owned(), origin, body: body.to_owned(), receives, arrived }
    }

    /// A mapping can read a queue in another account.
    #[test]
    fn every_message_has_its_own_origin() {
        let record = |source: Value| {
            json!({
                "messageId": "m", "receiptHandle": "r", "body": "{}",
                "attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1795183351183"},
                "eventSourceARN": source, "md5OfBody": "x",
            })
        };
        let of_hub = Origin::HubQueue { receipt: "r".to_owned() };
        for (source, origin) in [
            (json!(HUB), of_hub.clone()),
            (json!("arn:aws:sqs:us-west-2:111122223333:kibus-hub2"), Origin::OtherQueue),
            (json!("arn:aws:sqs:us-west-2:999999999999:kibus-hub"), Origin::OtherQueue),
            (json!("arn:aws:sqs:us-west-2:111122223333:karpenter-base"), Origin::OtherQueue),
            (json!(""), Origin::OtherQueue),
            (json!(null), Origin::Invocation),
        ] {
            let records = json!({"Records": [record(source.clone()), record(json!(HUB))]}).to_string();
            let expected = [origin, of_hub.clone()].map(|origin| message(origin, "{}", Some(3), 1_795_183_351_183));
            assert_eq!(parse(&records).unwrap(), Payload::Batch(expected.into()), "{source}");
        }
    }

    /// The receipt of a dead letter does not belong to the hub queue, so a redrive must not name a queue.
    #[test]
    fn what_a_record_lacks_has_a_default_and_a_redrive_comes_from_no_queue() {
        let redrive: Value = serde_json::from_str(include_str!("../dead_letters/batch.json")).unwrap();
        for (batch, expected) in [
            (json!({"Records": [{"messageId": "m"}]}), Some(vec![message(Origin::Invocation, "", None, 7)])),
            (
                json!({"Records": [{"messageId": "m", "eventSourceARN": ""}]}),
                Some(vec![message(Origin::OtherQueue, "", Some(1), 7)]),
            ),
            (json!({"Records": []}), Some(vec![])),
            (json!({"Records": [{}]}), None),
            (redrive, Some(vec![message(Origin::Invocation, "{}", Some(2), 5)])),
        ] {
            assert_eq!(parse(&batch.to_string()).ok(), expected.map(Payload::Batch), "{batch}");
        }
    }

    #[test]
    fn only_a_batch_and_a_self_test_are_payloads() {
        assert_eq!(parse(&self_test_request().to_string()).unwrap(), Payload::SelfTest);
        for payload in [
            json!({"source": SELF_TEST_SOURCE}),
            json!({"source": PROBE_SOURCE, "detail-type": SELF_TEST_DETAIL_TYPE}),
            json!({"Record": [self_test_request()]}),
            json!({"source": "aws.ec2"}),
            json!({}),
            json!([]),
            json!("x"),
            json!(null),
        ] {
            assert!(parse(&payload.to_string()).is_err(), "{payload}");
        }
    }
}
