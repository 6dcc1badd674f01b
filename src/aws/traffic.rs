//! What flows through a bus: messages in queues, events on the event bus, and what the router says about them.

use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use serde_json::Value;

use super::AwsCloud;
use super::error::{Answer, if_present, rejected};
use crate::cloud::Fault;
use crate::model::name::{LogGroupName, QueueName};

impl AwsCloud {
    /// Puts a message into a queue.
    ///
    /// # Errors
    /// When the call is refused or not answered.
    pub async fn send_message(&self, queue: &QueueName, body: &str) -> Result<(), Fault> {
        let call = self
            .sqs
            .send_message()
            .queue_url(self.queue_url(queue))
            .message_body(body);
        call.send().await.answer("sqs:SendMessage").map(drop)
    }

    /// Takes all messages that a queue gives at this moment, and deletes them from it. Gives their bodies.
    ///
    /// # Errors
    /// When a call is refused or not answered.
    pub async fn receive_messages(&self, queue: &QueueName) -> Result<Vec<String>, Fault> {
        let url = self.queue_url(queue);
        let mut bodies = Vec::new();
        loop {
            let call = self
                .sqs
                .receive_message()
                .queue_url(&url)
                .max_number_of_messages(10)
                .wait_time_seconds(1);
            let messages = call
                .send()
                .await
                .answer("sqs:ReceiveMessage")?
                .messages
                .unwrap_or_default();
            if messages.is_empty() {
                return Ok(bodies);
            }
            for message in messages {
                if let Some(receipt) = message.receipt_handle {
                    let call = self.sqs.delete_message().queue_url(&url).receipt_handle(receipt);
                    call.send().await.answer("sqs:DeleteMessage")?;
                }
                bodies.extend(message.body);
            }
        }
    }

    /// Puts an event with the source, detail-type, resources and detail of this one on the default event bus, which
    /// gives it its id and time.
    ///
    /// # Errors
    /// When the call is refused or not answered, or the bus does not take the event.
    pub async fn put_event(&self, event: &Value) -> Result<(), Fault> {
        let action = "events:PutEvents";
        let text = |member: &str| event[member].as_str().unwrap_or_default();
        let entry = PutEventsRequestEntry::builder()
            .source(text("source"))
            .detail_type(text("detail-type"))
            .detail(event["detail"].to_string())
            .build();
        let answer = self.events.put_events().entries(entry).send().await.answer(action)?;
        match answer
            .entries
            .unwrap_or_default()
            .into_iter()
            .find_map(|entry| entry.error_message)
        {
            Some(message) => Err(rejected(action, message)),
            None => Ok(()),
        }
    }

    /// The lines that a log group holds; none if the group is not there.
    ///
    /// # Errors
    /// When the call is refused or not answered.
    pub async fn log_lines(&self, group: &LogGroupName) -> Result<Vec<String>, Fault> {
        let mut lines = Vec::new();
        let mut token = None;
        loop {
            let call = self
                .logs
                .filter_log_events()
                .log_group_name(group.as_str())
                .set_next_token(token);
            let Some(answer) = if_present(call.send().await.answer("logs:FilterLogEvents"))? else {
                return Ok(lines);
            };
            lines.extend(
                answer
                    .events
                    .unwrap_or_default()
                    .into_iter()
                    .filter_map(|event| event.message),
            );
            token = answer.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(lines);
            }
        }
    }
}
