//! What Lambda passes to the function.

use serde::Deserialize;

use super::batch::{Message, Origin};
use super::json::Members;
use crate::model::self_test;

/// What an invocation asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// To run the self-test.
    SelfTest,
    /// To route these messages, and to name those that fail.
    Batch(Vec<Message>),
    /// To route one event that came from no queue.
    Event(Message),
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
    /// Lambda names the queue of every record; a redrive names none.
    #[serde(rename = "eventSourceARN")]
    source: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct SqsAttributes {
    approximate_receive_count: String,
    sent_timestamp: String,
}

impl Payload {
    /// Reads a payload. `hub` is the ARN of the hub queue, and `now` the time in milliseconds of the Unix epoch.
    ///
    /// # Errors
    /// When it has records that are not those of SQS.
    pub(super) fn parse(text: &str, hub: &str, now: i64) -> Result<Self, serde_json::Error> {
        let members = Members::parse(text);
        let is = |key, wanted: &str| {
            let value = members.as_ref().and_then(|members| members.text(key));
            value.as_deref() == Some(wanted)
        };
        if members.as_ref().is_some_and(|members| members.get("Records").is_some()) {
            let event: SqsEvent = serde_json::from_str(text)?;
            let records = event.records.into_iter();
            return Ok(Self::Batch(records.map(|record| record.message(hub, now)).collect()));
        }
        if is("source", self_test::SOURCE) && is("detail-type", self_test::DETAIL_TYPE) {
            return Ok(Self::SelfTest);
        }
        Ok(Self::Event(Message {
            id: "direct".to_owned(),
            origin: Origin::Invocation,
            body: text.to_owned(),
            receives: None,
            arrived: now,
        }))
    }
}

impl SqsRecord {
    fn message(self, hub: &str, now: i64) -> Message {
        Message {
            id: self.message_id,
            origin: match self.source {
                None => Origin::Invocation,
                Some(source) if source == hub => Origin::HubQueue {
                    receipt: self.receipt_handle,
                },
                Some(_) => Origin::OtherQueue,
            },
            body: self.body,
            receives: Some(self.attributes.approximate_receive_count.parse().unwrap_or(1)),
            arrived: self.attributes.sent_timestamp.parse().unwrap_or(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::self_test::{DETAIL_TYPE, SOURCE, question};
    use crate::model::signal::PROBE_SOURCE;

    const HUB: &str = "arn:aws:sqs:us-west-2:111122223333:kibus-hub";

    fn parse(text: &str) -> Result<Payload, serde_json::Error> {
        Payload::parse(text, HUB, 7)
    }

    #[test]
    fn every_message_has_its_own_origin() {
        let record = |source: Value| {
            json!({
                "messageId": "m", "receiptHandle": "r", "body": "{}",
                "attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1795183351183"},
                "eventSourceARN": source, "md5OfBody": "x",
            })
        };
        let message = |origin: Origin| Message {
            id: "m".to_owned(),
            origin,
            body: "{}".to_owned(),
            receives: Some(3),
            arrived: 1_795_183_351_183,
        };
        let of_hub = Origin::HubQueue {
            receipt: "r".to_owned(),
        };
        for (source, origin) in [
            (json!(HUB), of_hub.clone()),
            (
                json!("arn:aws:sqs:us-west-2:111122223333:kibus-hub2"),
                Origin::OtherQueue,
            ),
            // A mapping may read a queue of another account.
            (
                json!("arn:aws:sqs:us-west-2:999999999999:kibus-hub"),
                Origin::OtherQueue,
            ),
            (
                json!("arn:aws:sqs:us-west-2:111122223333:karpenter-base"),
                Origin::OtherQueue,
            ),
            (json!(""), Origin::OtherQueue),
            (json!(null), Origin::Invocation),
        ] {
            let records = json!({"Records": [record(source.clone()), record(json!(HUB))]}).to_string();
            let expected = Payload::Batch(vec![message(origin), message(of_hub.clone())]);
            assert_eq!(parse(&records).unwrap(), expected, "{source}");
        }
    }

    #[test]
    fn what_a_record_lacks_has_a_default() {
        let message = Message {
            id: "m".to_owned(),
            origin: Origin::Invocation,
            body: String::new(),
            receives: Some(1),
            arrived: 7,
        };
        for (records, expected) in [
            (json!([{"messageId": "m"}]), Some(vec![message])),
            (json!([]), Some(vec![])),
            (json!([{}]), None),
        ] {
            let parsed = parse(&json!({"Records": records}).to_string()).ok();
            assert_eq!(parsed, expected.map(Payload::Batch), "{records}");
        }
    }

    /// The receipt of a dead letter is of another queue than the hub's, so a redrive must name none.
    #[test]
    fn a_redrive_comes_from_no_queue() {
        let message = Message {
            id: "m".to_owned(),
            origin: Origin::Invocation,
            body: "{}".to_owned(),
            receives: Some(2),
            arrived: 5,
        };
        let payload = parse(include_str!("../dead_letters/batch.json")).unwrap();
        assert_eq!(payload, Payload::Batch(vec![message]));
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
                    origin: Origin::Invocation,
                    body: text.clone(),
                    receives: None,
                    arrived: 7,
                })
            };
            assert_eq!(parse(&text).unwrap(), expected, "{text}");
        }
    }
}
