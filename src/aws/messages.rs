//! Sends and receives messages.

use super::AwsCloud;
use crate::cloud::Fault;
use crate::model::name::QueueName;

impl AwsCloud {
    /// Puts a message into a queue, in an emulator: on AWS, the policies of the bus's queues deny it.
    ///
    /// # Errors
    /// When the call is refused or not answered.
    pub async fn send_message(&self, queue: &QueueName, body: &str) -> Result<(), Fault> {
        let call = self
            .sqs
            .send_message()
            .queue_url(self.queue_url(queue))
            .message_body(body);
        self.call("sqs:SendMessage", || call.clone().send()).await.map(drop)
    }

    /// Receives all messages that are available in a queue, and deletes them. Returns their bodies.
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
            let answer = self.call("sqs:ReceiveMessage", || call.clone().send()).await?;
            let messages = answer.messages.unwrap_or_default();
            if messages.is_empty() {
                return Ok(bodies);
            }
            for message in messages {
                if let Some(receipt) = message.receipt_handle {
                    let call = self.sqs.delete_message().queue_url(&url).receipt_handle(receipt);
                    self.call("sqs:DeleteMessage", || call.clone().send()).await?;
                }
                bodies.extend(message.body);
            }
        }
    }
}
