//! The hub queue of the stand-in for SQS, from which the router receives more messages in a storm. It hides what is
//! received, counts the receives, and knows each receive by its receipt handle.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The hub queue.
#[derive(Default)]
pub struct Hub {
    waiting: VecDeque<HubMessage>,
    hidden: HashMap<String, (Instant, HubMessage)>,
}

struct HubMessage {
    number: usize,
    body: String,
    receives: u32,
}

impl Hub {
    /// Puts messages into the queue.
    pub fn put(&mut self, bodies: Vec<String>) {
        self.waiting.extend(bodies.into_iter().enumerate().map(|(number, body)| HubMessage {
            number,
            body,
            receives: 0,
        }));
    }

    /// How many messages are left, hidden or not.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.hidden.len()
    }

    /// Answers `ReceiveMessage`.
    pub fn receive(&mut self, input: &Value) -> Value {
        let now = Instant::now();
        let back: Vec<String> =
            self.hidden.iter().filter(|(_, (until, _))| *until <= now).map(|(receipt, _)| receipt.clone()).collect();
        let back = back.iter().filter_map(|receipt| self.hidden.remove(receipt));
        self.waiting.extend(back.map(|(_, message)| message));
        let number = |member: &str| input[member].as_u64().expect("a number");
        let most = usize::try_from(number("MaxNumberOfMessages")).expect("at most ten");
        let until = now + Duration::from_secs(number("VisibilityTimeout"));
        let taken = self.waiting.drain(..most.min(self.waiting.len()));
        let mut messages = Vec::with_capacity(most);
        for mut message in taken {
            message.receives += 1;
            let receipt = format!("{}-{}", message.number, message.receives);
            messages.push(json!({
                "MessageId": message.number.to_string(),
                "ReceiptHandle": receipt,
                "Body": message.body,
                "MD5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
                "Attributes": {
                    "ApproximateReceiveCount": message.receives.to_string(),
                    "SentTimestamp": "1795183351183",
                },
            }));
            self.hidden.insert(receipt, (until, message));
        }
        json!({ "Messages": messages })
    }

    /// Answers `DeleteMessageBatch`.
    pub fn delete(&mut self, input: &Value) -> Value {
        let entries = input["Entries"].as_array().expect("entries");
        let (mut successful, mut failed) = (Vec::new(), Vec::new());
        for entry in entries {
            let receipt = entry["ReceiptHandle"].as_str().expect("a receipt");
            match self.hidden.remove(receipt) {
                Some(_) => successful.push(json!({"Id": entry["Id"]})),
                None => failed.push(json!({"Id": entry["Id"], "Code": "ReceiptHandleIsInvalid", "SenderFault": true})),
            }
        }
        json!({"Successful": successful, "Failed": failed})
    }
}
