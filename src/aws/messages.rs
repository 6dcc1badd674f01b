//! Messages that kibus sends and receives itself: dead letters and probes; and invocations of the router in place of a
//! message in the hub queue.

use std::collections::BTreeSet;
use std::time::SystemTime;

use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use aws_sdk_sqs::operation::receive_message::builders::ReceiveMessageFluentBuilder;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName as System, QueueAttributeName as Attribute};
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::error::{if_present, rejected};
use super::invoke::{INVOKE, Invoked, invoke_once};
use super::log_group::lines;
use super::queue::depth;
use super::{AwsCloud, signed};
use crate::cloud::{Fault, Probe};
use crate::dead_letters::{DeadLetter, DeadLetters};
use crate::model::{
    Depth, FunctionName, LogGroupName, QueueName, RouterAnswer, RouterDecision, SqsEvent,
    calls::{events, sqs},
    router_function,
};

/// The lines of the router about messages that it returned to their queue.
const RETRIES: &str = "{ $.message = \"retried\" }";
/// How many calls a search of the log takes at most. Each call searches about a megabyte.
const LOG_CALLS: usize = 50;
/// How long a receive hides what it shows, in seconds. Without it, one answer could contain the same message ten times (S28).
const HIDES: i32 = 1;

impl AwsCloud {
    /// Receives as many messages as one call returns, and waits these seconds for the first: long polling queries all of a
    /// queue's servers, short polling only some. `options` sets the other parameters.
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

impl DeadLetters for AwsCloud {
    async fn receive(&self, queue: &QueueName, hidden: u32) -> Result<Vec<DeadLetter>, Fault> {
        let options = |call: ReceiveMessageFluentBuilder| {
            call.visibility_timeout(signed(hidden))
                .message_system_attribute_names(System::All)
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
        let call = self.sqs.delete_message().queue_url(self.queue_url(queue)).receipt_handle(receipt);
        self.call(sqs::DELETE_MESSAGE, || call.clone().send()).await.map(drop)
    }

    async fn route(&self, function: &FunctionName, alias: &str, batch: &Value) -> Result<Vec<u8>, Fault> {
        match invoke_once(self, function, alias, batch).await? {
            Invoked::Answered(answer) => Ok(answer),
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
    let number = |name| system(name).and_then(|text| text.parse::<i64>().ok());
    let receives = number(System::ApproximateReceiveCount).and_then(|count| u32::try_from(count).ok());
    let letter = DeadLetter {
        id: message.message_id()?.to_owned(),
        sent: number(System::SentTimestamp).unwrap_or_default(),
        receives: receives.unwrap_or_default(),
        body: message.body().unwrap_or_default().to_owned(),
        receipt: message.receipt_handle()?.to_owned(),
        ..DeadLetter::default()
    };
    Some(letter.with_cause(attribute, system(System::DeadLetterQueueSourceArn).is_some()))
}

impl Probe for AwsCloud {
    async fn put_event(&self, event: &Value) -> Result<(), Fault> {
        let action = events::PUT_EVENTS;
        let text = |member: &str| event[member].as_str().unwrap_or_default();
        let entry = PutEventsRequestEntry::builder()
            .source(text("source"))
            .detail_type(text("detail-type"))
            .detail(event["detail"].to_string())
            .build();
        let call = self.events.put_events().entries(entry);
        let answer = self.call(action, || call.clone().send()).await?;
        let refused = answer.entries().iter().find_map(|entry| entry.error_message());
        refused.map_or(Ok(()), |message| Err(rejected(action, message)))
    }

    async fn look(&self, queue: &QueueName) -> Result<BTreeSet<String>, Fault> {
        let messages = self.received(queue, 2, |call| call.visibility_timeout(HIDES)).await?;
        Ok(ids(&messages))
    }

    async fn take_probe(&self, queue: &QueueName, probe: &str) -> Result<u32, Fault> {
        let url = self.queue_url(queue);
        let messages = self.received(queue, 2, |call| call.visibility_timeout(HIDES)).await?;
        let is_this = |message: &&Message| event(message.body())["detail"]["probe"] == probe;
        let arrived = ids(messages.iter().filter(is_this)).len();
        let ours = messages
            .iter()
            .map(|message| (message, event(message.body())))
            .filter(|(_, event)| event["detail"]["probe"] == probe || router_function::is_self_test_message(event));
        let deletes = ours.filter_map(|(message, _)| {
            let call = self.sqs.delete_message().queue_url(&url);
            Some(call.receipt_handle(message.receipt_handle()?).send())
        });
        // If a delete fails, the message expires.
        drop(join_all(deletes).await);
        Ok(u32::try_from(arrived).unwrap_or(u32::MAX))
    }

    async fn route_probe(
        &self,
        function: &FunctionName,
        alias: &str,
        probe: &Value,
    ) -> Result<Result<Vec<RouterDecision>, String>, Fault> {
        let mut event = probe.clone();
        event["id"] = probe["detail"]["probe"].clone();
        event["account"] = self.scope.account.as_str().into();
        event["region"] = self.scope.region.as_str().into();
        let now = DateTime::from(SystemTime::now()).fmt(Format::DateTime);
        event["time"] = now.unwrap_or_default().into();
        let batch = json!(SqsEvent::of_invocation("probe", event.to_string()));
        Ok(match invoke_once(self, function, alias, &batch).await? {
            Invoked::Answered(answer) => {
                let mut answer = RouterAnswer::read(&answer, &["probe"]);
                Ok(answer.decisions.remove("probe").unwrap_or_default())
            }
            Invoked::Failed(message) => Err(message),
        })
    }

    async fn depth(&self, queue: &QueueName) -> Result<Option<Depth>, Fault> {
        let call = self.sqs.get_queue_attributes().queue_url(self.queue_url(queue));
        let call = call.attribute_names(Attribute::ApproximateNumberOfMessages);
        let call = call.attribute_names(Attribute::ApproximateNumberOfMessagesNotVisible);
        let answer = if_present(self.call(sqs::GET_QUEUE_ATTRIBUTES, || call.clone().send()).await)?;
        Ok(answer.map(|answer| depth(&answer.attributes.unwrap_or_default())))
    }
}

/// Each message once.
fn ids<'a>(messages: impl IntoIterator<Item = &'a Message>) -> BTreeSet<String> {
    messages.into_iter().filter_map(|message| Some(message.message_id()?.to_owned())).collect()
}

/// The event in a message; null if it has none.
fn event(body: Option<&str>) -> Value {
    body.and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S28: one answer can contain the same message ten times.
    #[test]
    fn s28_copies_of_a_message_count_once() {
        let messages = ["1", "1", "2", "1"].map(|id| Message::builder().message_id(id).build());
        assert_eq!(ids(&messages), ["1", "2"].map(str::to_owned).into());
    }
}
