//! What Lambda hands over, and what it gets back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::clock::{Deadline, visibility};
use super::json::Members;
use super::report::Report;
use super::route::{Message, route_counted};
use super::services::{InstanceTags, Queues};
use super::{Calls, Clock, Router};
use crate::model::name::QueueName;
use crate::model::scope::Scope;

/// How many messages one call about visibility takes.
const BATCH: usize = 10;

#[derive(Deserialize)]
struct Batch {
    #[serde(rename = "Records")]
    records: Vec<Record>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    message_id: String,
    #[serde(default)]
    receipt_handle: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    attributes: Attributes,
    #[serde(default, rename = "eventSourceARN")]
    source: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Attributes {
    approximate_receive_count: String,
    sent_timestamp: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failures<'a> {
    batch_item_failures: Vec<Failure<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure<'a> {
    item_identifier: &'a str,
}

/// What an invocation is about.
pub(super) struct Work {
    messages: Vec<Message>,
    /// The queue that the messages are in; none if one event was handed over directly.
    queue: Option<QueueName>,
}

impl Work {
    /// Reads what Lambda hands over: a batch of SQS messages, or one event. `now` is the time in milliseconds of
    /// the Unix epoch.
    ///
    /// # Errors
    /// When it has records that are not those of SQS; the whole invocation fails then.
    pub(super) fn read(payload: &str, now: i64) -> Result<Self, serde_json::Error> {
        let is_batch = Members::parse(payload).is_some_and(|members| members.get("Records").is_some());
        if !is_batch {
            return Ok(Self {
                messages: vec![Message {
                    id: "direct".to_owned(),
                    receipt: String::new(),
                    body: payload.to_owned(),
                    receives: None,
                    arrived: now,
                }],
                queue: None,
            });
        }
        let batch: Batch = serde_json::from_str(payload)?;
        let source = batch.records.first().map(|record| record.source.as_str());
        let queue = source.and_then(|arn| arn.rsplit(':').next()?.parse().ok());
        let messages = batch.records.into_iter().map(|record| Message {
            id: record.message_id,
            receipt: record.receipt_handle,
            body: record.body,
            receives: Some(record.attributes.approximate_receive_count.parse().unwrap_or(1)),
            arrived: record.attributes.sent_timestamp.parse().unwrap_or(now),
        });
        Ok(Self {
            messages: messages.collect(),
            queue,
        })
    }
}

/// What an invocation ends with.
pub(super) struct End {
    /// What Lambda gets.
    pub(super) answer: Value,
    /// What is told of it.
    pub(super) report: Report,
    /// Whether one event that was handed over directly could not be brought to its end.
    pub(super) failed: bool,
}

/// Routes what was handed over, and gives back what could not be routed.
pub(super) async fn invoke<T: InstanceTags, Q: Queues>(
    router: &Arc<Router<T, Q>>,
    work: &Work,
    deadline: Deadline,
    request: &str,
    now: fn() -> i64,
) -> End {
    let calls = Arc::new(Calls::default());
    let outcome = route_counted(router, &calls, &Arc::new(deadline), &work.messages, now()).await;
    let back: Vec<&Message> = {
        let given_back = outcome.given_back();
        let messages = work.messages.iter().enumerate();
        messages
            .filter(|(number, _)| given_back.contains(number))
            .map(|(_, message)| message)
            .collect()
    };
    if let Some(queue) = &work.queue {
        hide(router, queue, &back, deadline.last_moments()).await;
    }
    let report = Report::new(&router.scope.bus, request, &work.messages, &outcome, &calls, now());
    let answer = match &work.queue {
        Some(_) => json!(Failures {
            batch_item_failures: back
                .iter()
                .map(|message| Failure {
                    item_identifier: &message.id
                })
                .collect(),
        }),
        None => json!(report.counts),
    };
    End {
        answer,
        report,
        failed: work.queue.is_none() && !back.is_empty(),
    }
}

/// Lets each message come back after its own wait instead of the queue's. What cannot be said to SQS in time is no
/// loss: those messages come back later.
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

/// The scope of a function's own ARN, `arn:<partition>:lambda:<region>:<account>:function:...`.
pub(super) fn scope_of(arn: &str, bus: &crate::model::name::BusName) -> Option<Scope> {
    let parts: Vec<&str> = arn.split(':').collect();
    let ["arn", partition, "lambda", region, account, "function", ..] = parts[..] else {
        return None;
    };
    Some(Scope {
        bus: bus.clone(),
        account: account.parse().ok()?,
        region: region.parse().ok()?,
        partition: partition.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scope::tests::scope_in;

    #[test]
    fn a_batch_and_a_single_event_are_told_apart() {
        let record = json!({
            "messageId": "m", "receiptHandle": "r", "body": "{}",
            "attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1795183351183"},
            "eventSourceARN": "arn:aws:sqs:us-west-2:111122223333:kibus-hub", "md5OfBody": "x",
        });
        let work = Work::read(&json!({"Records": [record]}).to_string(), 7).unwrap();
        assert_eq!(work.queue, Some("kibus-hub".parse().unwrap()));
        assert_eq!(
            work.messages,
            [Message {
                id: "m".to_owned(),
                receipt: "r".to_owned(),
                body: "{}".to_owned(),
                receives: Some(3),
                arrived: 1_795_183_351_183,
            }]
        );
        for direct in ["{\"source\": \"aws.ec2\"}", "{}", "[]", "\"x\""] {
            let work = Work::read(direct, 7).unwrap();
            assert_eq!((work.queue, work.messages[0].receives), (None, None), "{direct}");
            assert_eq!((work.messages[0].body.as_str(), work.messages[0].arrived), (direct, 7));
        }
        let bare = Work::read("{\"Records\": [{\"messageId\": \"m\"}]}", 7).unwrap();
        assert_eq!((bare.messages[0].receives, bare.messages[0].arrived), (Some(1), 7));
        assert!(Work::read("{\"Records\": [{}]}", 7).is_err());
    }

    #[test]
    fn the_scope_is_in_the_functions_arn() {
        let bus = "kibus".parse().unwrap();
        for (arn, scope) in [
            (
                "arn:aws-cn:lambda:cn-north-1:111122223333:function:kibus-router:live",
                Some(scope_in("aws-cn", "cn-north-1")),
            ),
            (
                "arn:aws:lambda:us-west-2:111122223333:function:kibus-router",
                Some(scope_in("aws", "us-west-2")),
            ),
            ("arn:aws:sqs:us-west-2:111122223333:kibus-hub", None),
            ("", None),
        ] {
            assert_eq!(scope_of(arn, &bus), scope, "{arn}");
        }
    }
}
