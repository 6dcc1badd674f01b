//! The payloads: batches of Spot warnings, each about a new instance.

use hyper::body::Bytes;
use serde_json::{Value, json};

/// A Spot warning, in the format of the EC2 user guide.
const SPOT_WARNING: &str = include_str!("../../events/spot-interruption-warning.json");

/// Creates batches.
#[derive(Default)]
pub struct Events {
    next: u64,
}

impl Events {
    /// Creates `count` batches of `size` events.
    pub fn batches(&mut self, count: usize, size: usize) -> Vec<Bytes> {
        (0..count).map(|_| self.batch(size)).collect()
    }

    /// Creates the bodies of `count` messages.
    pub fn bodies(&mut self, count: usize) -> Vec<String> {
        let warning: Value = serde_json::from_str(SPOT_WARNING).expect("the sample is JSON");
        let body = |_| {
            self.next += 1;
            let number = self.next;
            let instance = format!("i-{number:017x}");
            let mut body = warning.clone();
            body["id"] = json!(format!("1e5527d7-bb36-4607-3370-{number:012x}"));
            body["region"] = json!("us-west-2");
            body["resources"] = json!([format!("arn:aws:ec2:us-west-2b:instance/{instance}")]);
            body["detail"]["instance-id"] = json!(instance);
            body.to_string()
        };
        (0..count).map(body).collect()
    }

    fn batch(&mut self, size: usize) -> Bytes {
        let records: Vec<_> = self
            .bodies(size)
            .into_iter()
            .enumerate()
            .map(|(number, body)| {
                json!({
                    "messageId": format!("059f36b4-87a3-44ab-83d2-{number:012x}"),
                    "receiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a".repeat(4),
                    "body": body,
                    "attributes": {
                        "ApproximateReceiveCount": "1",
                        "SentTimestamp": "1795183351183",
                        "SenderId": "AIDAIENQZJOLO23YVJ4VO",
                        "ApproximateFirstReceiveTimestamp": "1795183351190",
                    },
                    "messageAttributes": {},
                    "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
                    "eventSource": "aws:sqs",
                    "eventSourceARN": "arn:aws:sqs:us-west-2:111122223333:kibus-hub",
                    "awsRegion": "us-west-2",
                })
            })
            .collect();
        json!({ "Records": records }).to_string().into()
    }
}
