//! The hub queue of the local server in place of SQS.

use serde_json::{Value, json};

/// How the hub queue answers a receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Receives {
    /// With the messages that wait.
    #[default]
    Given,
    /// It throttles the call.
    Throttled,
    /// It hands out the messages, and the answer never arrives.
    Lost,
}

/// The hub queue, beyond what is passed in payloads. A message has its number as id, and its receipt after an `r`.
#[derive(Default)]
pub(super) struct Hub {
    pub(super) bodies: Vec<String>,
    /// How many of them were handed out.
    pub(super) handed_out: usize,
    pub(super) receives: Receives,
    /// The last entry of each call that deletes is refused.
    pub(super) refuses_deletes: bool,
    /// The input of each receive.
    pub(super) received: Vec<Value>,
    /// The receipts that were deleted.
    pub(super) deleted: Vec<String>,
    /// The receipts that were hidden, and for how many seconds.
    pub(super) hidden: Vec<(String, u64)>,
}

/// An answer of the hub queue.
pub(super) enum HubAnswer {
    /// With this status.
    Given(u16, Value),
    /// No answer.
    Never,
}

impl Hub {
    /// A queue in which these messages wait.
    pub(super) fn of(bodies: Vec<String>) -> Self {
        Self { bodies, ..Self::default() }
    }

    /// The answer to a call, if it is one to the hub queue only.
    pub(super) fn answer(&mut self, target: &str, input: &Value) -> Option<HubAnswer> {
        let entries = input["Entries"].as_array().into_iter().flatten();
        let receipt = |entry: &Value| entry["ReceiptHandle"].as_str().unwrap().to_owned();
        let answer = match target.strip_prefix("AmazonSQS.")? {
            "ReceiveMessage" => return Some(self.receive(input)),
            "DeleteMessageBatch" => {
                let mut receipts: Vec<(&Value, String)> = entries.map(|entry| (&entry["Id"], receipt(entry))).collect();
                let refused = if self.refuses_deletes { receipts.pop() } else { None };
                let failed =
                    refused.iter().map(|(id, _)| json!({"Id": id, "Code": "InternalError", "SenderFault": false}));
                let failed: Vec<Value> = failed.collect();
                let successful: Vec<Value> = receipts.iter().map(|(id, _)| json!({"Id": id})).collect();
                self.deleted.extend(receipts.into_iter().map(|(_, receipt)| receipt));
                json!({"Successful": successful, "Failed": failed})
            }
            "ChangeMessageVisibilityBatch" => {
                let hidden = entries.map(|entry| (receipt(entry), entry["VisibilityTimeout"].as_u64().unwrap()));
                self.hidden.extend(hidden);
                json!({"Successful": [], "Failed": []})
            }
            _ => return None,
        };
        Some(HubAnswer::Given(200, answer))
    }

    fn receive(&mut self, input: &Value) -> HubAnswer {
        self.received.push(input.clone());
        if self.receives == Receives::Throttled {
            let refusal = json!({"__type": "com.amazonaws.sqs#RequestThrottled", "message": "not now"});
            return HubAnswer::Given(400, refusal);
        }
        let until = self.bodies.len().min(self.handed_out + 10);
        let numbers = self.handed_out..until;
        self.handed_out = until;
        if self.receives == Receives::Lost {
            return HubAnswer::Never;
        }
        let message = |number: usize| {
            json!({
                "MessageId": number.to_string(), "ReceiptHandle": format!("r{number}"), "Body": self.bodies[number],
                "Attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1795183351183"},
            })
        };
        HubAnswer::Given(200, json!({"Messages": numbers.map(message).collect::<Vec<_>>()}))
    }
}
