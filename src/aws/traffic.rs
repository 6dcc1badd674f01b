//! What flows through a bus: messages in queues, events on the event bus, and what the router says about them.

use std::time::SystemTime;

use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde_json::Value;

use super::AwsCloud;
use super::error::{Answer, if_present, rejected};
use super::invoke::{Invoked, invoke};
use crate::cloud::{Fault, Probe};
use crate::model::name::{FunctionName, LogGroupName, QueueName};
use crate::model::status::Depth;

/// How many messages one receive gives at most.
const LOOK: i32 = 10;

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

impl Probe for AwsCloud {
    async fn put_event(&self, event: &Value) -> Result<(), Fault> {
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

    async fn find_probe(&self, queue: &QueueName, probe: &str) -> Result<Option<bool>, Fault> {
        let call = self.sqs.receive_message().queue_url(self.queue_url(queue));
        // A long receive asks all of a queue's servers, a short one only some.
        let call = call
            .max_number_of_messages(LOOK)
            .wait_time_seconds(2)
            .visibility_timeout(0);
        let messages = call.send().await.answer("sqs:ReceiveMessage")?.messages;
        let messages = messages.unwrap_or_default();
        let there = messages.iter().any(|message| is_probe(message.body(), probe));
        Ok((there || messages.is_empty()).then_some(there))
    }

    async fn take_probe(&self, queue: &QueueName, probe: &str) -> Result<bool, Fault> {
        let url = self.queue_url(queue);
        let call = self.sqs.receive_message().queue_url(&url);
        let call = call
            .max_number_of_messages(LOOK)
            .wait_time_seconds(2)
            .visibility_timeout(1);
        let messages = call.send().await.answer("sqs:ReceiveMessage")?.messages;
        for message in messages.unwrap_or_default() {
            if let Some(receipt) = message
                .receipt_handle
                .as_ref()
                .filter(|_| is_probe(message.body(), probe))
            {
                let call = self.sqs.delete_message().queue_url(&url).receipt_handle(receipt);
                // It is here; one that stays behind expires.
                let _ = call.send().await;
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn route_probe(
        &self,
        function: &FunctionName,
        alias: &str,
        probe: &Value,
    ) -> Result<Result<Value, String>, Fault> {
        let mut event = probe.clone();
        event["id"] = probe["detail"]["probe"].clone();
        event["account"] = self.scope.account.as_str().into();
        event["region"] = self.scope.region.as_str().into();
        let now = DateTime::from(SystemTime::now()).fmt(Format::DateTime);
        event["time"] = now.unwrap_or_default().into();
        Ok(match invoke(self, function, alias, &event, &|_| {}).await? {
            Invoked::Answered(payload) => Ok(serde_json::from_slice(&payload).unwrap_or_default()),
            Invoked::Failed(words) => Err(words),
        })
    }

    async fn depth(&self, queue: &QueueName) -> Result<Option<Depth>, Fault> {
        self.queue_depth(queue).await
    }
}

/// Whether a message is this probe.
fn is_probe(body: Option<&str>, probe: &str) -> bool {
    let event: Value = body
        .and_then(|body| serde_json::from_str(body).ok())
        .unwrap_or_default();
    event["detail"]["probe"] == probe
}
