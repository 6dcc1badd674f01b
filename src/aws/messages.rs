//! Sends and receives messages.

use crate::model::resource::calls::sqs;
use aws_sdk_sqs::operation::receive_message::builders::ReceiveMessageFluentBuilder;
use aws_sdk_sqs::types::Message;

use super::AwsCloud;
use crate::cloud::Fault;
use crate::dead_letters::DeadLetters;
use crate::model::name::QueueName;

impl AwsCloud {
    /// Puts a message into a queue, in an emulator: on AWS, the policies of the bus's queues deny it.
    pub async fn send_message(&self, queue: &QueueName, body: &str) -> Result<(), Fault> {
        let call = self.sqs.send_message().queue_url(self.queue_url(queue));
        let call = call.message_body(body);
        self.call(sqs::SEND_MESSAGE, || call.clone().send()).await.map(drop)
    }

    /// Receives all messages that are available in a queue, and deletes them. Returns their bodies.
    pub async fn receive_messages(&self, queue: &QueueName) -> Result<Vec<String>, Fault> {
        let mut bodies = Vec::new();
        loop {
            let messages = self.received(queue, 1, |call| call).await?;
            if messages.is_empty() {
                return Ok(bodies);
            }
            for message in messages {
                if let Some(receipt) = message.receipt_handle {
                    DeadLetters::delete(self, queue, &receipt).await?;
                }
                bodies.extend(message.body);
            }
        }
    }

    /// Receives as many messages as one call returns, and waits these seconds for the first: long polling queries all of a
    /// queue's servers, short polling only some. `options` sets the rest of the call.
    pub(super) async fn received(
        &self,
        queue: &QueueName,
        seconds: i32,
        options: impl FnOnce(ReceiveMessageFluentBuilder) -> ReceiveMessageFluentBuilder,
    ) -> Result<Vec<Message>, Fault> {
        let call = self.sqs.receive_message().queue_url(self.queue_url(queue));
        let call = options(call.max_number_of_messages(10).wait_time_seconds(seconds));
        let answer = self.call(sqs::RECEIVE_MESSAGE, || call.clone().send()).await?;
        Ok(answer.messages.unwrap_or_default())
    }
}
