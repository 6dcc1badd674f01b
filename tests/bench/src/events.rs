//! What Lambda hands over: batches of Spot warnings, each about an instance that was never heard of before.

use bytes::Bytes;
use serde_json::json;

/// Makes batches.
#[derive(Default)]
pub struct Events {
    next: u64,
}

impl Events {
    /// So many batches of so many events.
    pub fn batches(&mut self, count: usize, size: usize) -> Vec<Bytes> {
        (0..count).map(|_| self.batch(size)).collect()
    }

    fn batch(&mut self, size: usize) -> Bytes {
        let records: Vec<_> = (0..size)
            .map(|_| {
                self.next += 1;
                let number = self.next;
                let instance = format!("i-{number:017x}");
                let body = json!({
                    "version": "0",
                    "id": format!("1e5527d7-bb36-4607-3370-{number:012x}"),
                    "detail-type": "EC2 Spot Instance Interruption Warning",
                    "source": "aws.ec2",
                    "account": "111122223333",
                    "time": "2026-11-20T14:02:31Z",
                    "region": "us-west-2",
                    "resources": [format!("arn:aws:ec2:us-west-2b:instance/{instance}")],
                    "detail": {"instance-id": instance, "instance-action": "terminate"},
                });
                json!({
                    "messageId": format!("059f36b4-87a3-44ab-83d2-{number:012x}"),
                    "receiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a".repeat(4),
                    "body": body.to_string(),
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
