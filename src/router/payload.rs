//! What Lambda passes to the function.

use serde::Deserialize;

use super::json::Members;
use super::route::Message;
use crate::model::name::QueueName;
use crate::model::self_test;

/// What an invocation asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// To run the self-test.
    SelfTest,
    /// To route these messages of a queue.
    Batch(QueueBatch),
    /// To route one event that came from no queue.
    Event(Message),
}

/// Messages of one queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct QueueBatch {
    pub(super) messages: Vec<Message>,
    /// The queue, if the records name one.
    pub(super) queue: Option<QueueName>,
}

#[derive(Deserialize)]
struct SqsEvent {
    #[serde(rename = "Records")]
    records: Vec<SqsRecord>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SqsRecord {
    message_id: String,
    #[serde(default)]
    receipt_handle: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    attributes: SqsAttributes,
    #[serde(default, rename = "eventSourceARN")]
    source: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct SqsAttributes {
    approximate_receive_count: String,
    sent_timestamp: String,
}

impl Payload {
    /// Reads a payload. `now` is the time in milliseconds of the Unix epoch.
    ///
    /// # Errors
    /// When it has records that are not those of SQS.
    pub(super) fn parse(text: &str, now: i64) -> Result<Self, serde_json::Error> {
        let members = Members::parse(text);
        let is = |key, wanted: &str| {
            let value = members.as_ref().and_then(|members| members.text(key));
            value.as_deref() == Some(wanted)
        };
        if members.as_ref().is_some_and(|members| members.get("Records").is_some()) {
            return Ok(Self::Batch(QueueBatch::of(serde_json::from_str(text)?, now)));
        }
        if is("source", self_test::SOURCE) && is("detail-type", self_test::DETAIL_TYPE) {
            return Ok(Self::SelfTest);
        }
        Ok(Self::Event(Message {
            id: "direct".to_owned(),
            receipt: String::new(),
            body: text.to_owned(),
            receives: None,
            arrived: now,
        }))
    }
}

impl QueueBatch {
    fn of(event: SqsEvent, now: i64) -> Self {
        let source = event.records.first().map(|record| record.source.as_str());
        Self {
            queue: source.and_then(|arn| arn.rsplit(':').next()?.parse().ok()),
            messages: event
                .records
                .into_iter()
                .map(|record| Message {
                    id: record.message_id,
                    receipt: record.receipt_handle,
                    body: record.body,
                    receives: Some(record.attributes.approximate_receive_count.parse().unwrap_or(1)),
                    arrived: record.attributes.sent_timestamp.parse().unwrap_or(now),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::dead_letter::{DeadLetter, DeadLetterCause, batch_event};
    use crate::model::self_test::{DETAIL_TYPE, SOURCE, question};
    use crate::model::signal::PROBE_SOURCE;

    #[test]
    fn a_batch_has_the_messages_of_its_queue() {
        let record = json!({
            "messageId": "m", "receiptHandle": "r", "body": "{}",
            "attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1795183351183"},
            "eventSourceARN": "arn:aws:sqs:us-west-2:111122223333:kibus-hub", "md5OfBody": "x",
        });
        let message = |id: &str, receipt: &str, body: &str, receives, arrived| Message {
            id: id.to_owned(),
            receipt: receipt.to_owned(),
            body: body.to_owned(),
            receives: Some(receives),
            arrived,
        };
        for (records, messages, queue) in [
            (
                json!([record]),
                vec![message("m", "r", "{}", 3, 1_795_183_351_183)],
                Some("kibus-hub"),
            ),
            (json!([{"messageId": "m"}]), vec![message("m", "", "", 1, 7)], None),
            (json!([]), vec![], None),
        ] {
            let text = json!({"Records": records}).to_string();
            let expected = QueueBatch {
                messages,
                queue: queue.map(|queue| queue.parse().unwrap()),
            };
            assert_eq!(Payload::parse(&text, 7).unwrap(), Payload::Batch(expected), "{text}");
        }
        assert!(Payload::parse("{\"Records\": [{}]}", 7).is_err());
    }

    /// The receipt of a dead letter is of another queue than the hub's, so a redrive must name none.
    #[test]
    fn a_redrive_changes_the_visibility_of_no_message() {
        let letter = DeadLetter {
            id: "m".to_owned(),
            sent: 5,
            receives: 1,
            cause: DeadLetterCause::GivenUp,
            body: "{}".to_owned(),
        };
        let message = Message {
            id: "m".to_owned(),
            receipt: String::new(),
            body: "{}".to_owned(),
            receives: Some(2),
            arrived: 5,
        };
        let expected = QueueBatch {
            messages: vec![message],
            queue: None,
        };
        let payload = Payload::parse(&batch_event(&[&letter]).to_string(), 7).unwrap();
        assert_eq!(payload, Payload::Batch(expected));
    }

    #[test]
    fn a_self_test_is_no_event() {
        for (text, is_self_test) in [
            (question().to_string(), true),
            (json!({"source": SOURCE}).to_string(), false),
            (
                json!({"source": PROBE_SOURCE, "detail-type": DETAIL_TYPE}).to_string(),
                false,
            ),
            (json!({"Record": [question()]}).to_string(), false),
            ("{\"source\": \"aws.ec2\"}".to_owned(), false),
            ("{}".to_owned(), false),
            ("[]".to_owned(), false),
            ("\"x\"".to_owned(), false),
            ("null".to_owned(), false),
        ] {
            let expected = if is_self_test {
                Payload::SelfTest
            } else {
                Payload::Event(Message {
                    id: "direct".to_owned(),
                    receipt: String::new(),
                    body: text.clone(),
                    receives: None,
                    arrived: 7,
                })
            };
            assert_eq!(Payload::parse(&text, 7).unwrap(), expected, "{text}");
        }
    }
}
