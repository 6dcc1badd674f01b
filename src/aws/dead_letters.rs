//! Dead letters: received, released, routed and deleted, and the router's log about them.

use crate::model::resource::calls::sqs;
use aws_sdk_sqs::operation::receive_message::builders::ReceiveMessageFluentBuilder;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName as Attribute};

use super::error::rejected;
use super::invoke::{INVOKE, Invoked, invoke_once};
use super::log_lines::lines;
use super::{AwsCloud, signed};
use crate::cloud::Fault;
use crate::dead_letters::{DeadLetter, DeadLetterCause, DeadLetters, RouterAnswer, batch_event};
use crate::model::name::{FunctionName, LogGroupName, QueueName};

/// The lines of the router about messages that it returned to their queue.
const RETRIES: &str = "{ $.message = \"retried\" }";
/// How many calls a search of the log takes at most. Each searches about a megabyte.
const LOG_CALLS: usize = 50;

impl DeadLetters for AwsCloud {
    async fn receive(&self, queue: &QueueName, hidden: u32) -> Result<Vec<DeadLetter>, Fault> {
        let options = |call: ReceiveMessageFluentBuilder| {
            call.visibility_timeout(signed(hidden))
                .message_system_attribute_names(Attribute::All)
                .message_attribute_names("All")
        };
        let messages = self.received(queue, 1, options).await?;
        Ok(messages.into_iter().filter_map(received).collect())
    }

    async fn release(&self, queue: &QueueName, receipt: &str) -> Result<(), Fault> {
        let call = self.sqs.change_message_visibility().queue_url(self.queue_url(queue));
        let call = call.receipt_handle(receipt).visibility_timeout(0);
        let answer = self.call(sqs::CHANGE_MESSAGE_VISIBILITY, || call.clone().send());
        answer.await.map(drop)
    }

    async fn delete(&self, queue: &QueueName, receipt: &str) -> Result<(), Fault> {
        let call = self.sqs.delete_message().queue_url(self.queue_url(queue));
        let call = call.receipt_handle(receipt);
        self.call(sqs::DELETE_MESSAGE, || call.clone().send()).await.map(drop)
    }

    async fn route(
        &self,
        function: &FunctionName,
        alias: &str,
        letters: Vec<&DeadLetter>,
    ) -> Result<RouterAnswer, Fault> {
        let ids: Vec<&str> = letters.iter().map(|letter| letter.id.as_str()).collect();
        match invoke_once(self, function, alias, &batch_event(&letters)).await? {
            Invoked::Answered(answer) => Ok(RouterAnswer::read(&answer, &ids)),
            Invoked::Failed(message) => Err(rejected(INVOKE, format!("the router failed: {message}"))),
        }
    }

    async fn retry_lines(&self, group: &LogGroupName, since: i64) -> Result<(Vec<String>, bool), Fault> {
        lines(self, group, Some(RETRIES), Some(since), LOG_CALLS).await
    }
}

fn received(message: Message) -> Option<DeadLetter> {
    let system = |name| message.attributes()?.get(&name).map(String::as_str);
    let attribute = |name: &str| message.message_attributes()?.get(name)?.string_value();
    let cause = DeadLetterCause::of(attribute, system(Attribute::DeadLetterQueueSourceArn));
    let number = |name| system(name).and_then(|text| text.parse::<i64>().ok());
    let receives = number(Attribute::ApproximateReceiveCount).and_then(|count| u32::try_from(count).ok());
    Some(DeadLetter {
        id: message.message_id()?.to_owned(),
        sent: number(Attribute::SentTimestamp).unwrap_or_default(),
        receives: receives.unwrap_or_default(),
        cause,
        body: message.body().unwrap_or_default().to_owned(),
        receipt: message.receipt_handle()?.to_owned(),
    })
}
