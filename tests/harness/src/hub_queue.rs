//! The hub queue of a local server that replaces SQS.

use serde_json::{Value, json};

/// The hub queue, except for messages passed in payloads. A message has its number as id, and its receipt after an `r`.
#[derive(Default)]
pub struct Hub {
    pub bodies: Vec<String>,
    /// How many of them were handed out.
    pub handed_out: usize,
    /// It returns the messages, but the answer never arrives.
    pub loses_receives: bool,
    /// The last entry of each delete call is refused.
    pub refuses_deletes: bool,
    pub received: Vec<Value>,
    pub deleted: Vec<String>,
    /// The receipts that were hidden, and for how many seconds.
    pub hidden: Vec<(String, u64)>,
}

impl Hub {
    /// The answer to a call, if it is a call to the hub queue; `None` inside if the answer never arrives.
    pub fn answer(&mut self, target: &str, input: &Value) -> Option<Option<Value>> {
        let entries = input["Entries"].as_array().into_iter().flatten();
        let receipt = |entry: &Value| entry["ReceiptHandle"].as_str().unwrap().to_owned();
        let ids = |entries: &[Value]| entries.iter().map(|entry| json!({"Id": entry["Id"]})).collect::<Vec<_>>();
        let answer = match target.strip_prefix("AmazonSQS.")? {
            "ReceiveMessage" => return Some(self.receive(input).filter(|_| !self.loses_receives)),
            "DeleteMessageBatch" => {
                let mut done: Vec<Value> = entries.cloned().collect();
                let refused = if self.refuses_deletes { done.pop() } else { None };
                let failed = refused.map(|one| json!({"Id": one["Id"], "Code": "InternalError", "SenderFault": false}));
                self.deleted.extend(done.iter().map(receipt));
                json!({"Successful": ids(&done), "Failed": Vec::from_iter(failed)})
            }
            "ChangeMessageVisibilityBatch" => {
                let hidden = entries.map(|entry| (receipt(entry), entry["VisibilityTimeout"].as_u64().unwrap()));
                self.hidden.extend(hidden);
                json!({"Successful": [], "Failed": []})
            }
            _ => return None,
        };
        Some(Some(answer))
    }

    fn receive(&mut self, input: &Value) -> Option<Value> {
        self.received.push(input.clone());
        let until = self.bodies.len().min(self.handed_out + 10);
        let numbers = std::mem::replace(&mut self.handed_out, until)..until;
        let message = |number: usize| {
            json!({
                "MessageId": number.to_string(), "ReceiptHandle": format!("r{number}"), "Body": self.bodies[number],
                "Attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1795183351183"},
            })
        };
        Some(json!({"Messages": numbers.map(message).collect::<Vec<_>>()}))
    }
}
