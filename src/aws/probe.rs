//! Probes: events that kibus sends through the bus or the router, and looks for in queues.

use crate::model::resource::calls::{events, sqs};
use std::collections::BTreeMap;
use std::time::SystemTime;

use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use aws_sdk_sqs::types::{Message, QueueAttributeName as Attribute};
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::AwsCloud;
use super::error::{if_present, rejected};
use super::invoke::{Invoked, invoke_once};
use super::queue::depth;
use crate::cloud::{Fault, Probe};
use crate::model::name::{FunctionName, QueueName};
use crate::model::router_batch::{RouterAnswer, RouterDecision, SqsEvent};
use crate::model::router_function::{self, LiveTest};
use crate::model::signal::PROBE_SOURCE;
use crate::model::status::Depth;
use crate::model::status::Look;

/// How long a receive hides what it shows, in seconds. With none, one answer may hold the same message ten times (S28).
const HIDES: i32 = 1;

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

    async fn look(&self, queue: &QueueName) -> Result<Look, Fault> {
        let messages = self.received(queue, 2, |call| call.visibility_timeout(HIDES)).await?;
        Ok(Look(by_id(&messages, |event| event["source"] == PROBE_SOURCE)))
    }

    async fn take_probe(&self, queue: &QueueName, probe: &str) -> Result<u32, Fault> {
        let url = self.queue_url(queue);
        let messages = self.received(queue, 2, |call| call.visibility_timeout(HIDES)).await?;
        let is_this = by_id(&messages, |event| event["detail"]["probe"] == probe);
        let arrived = is_this.into_values().filter(|is_this| *is_this).count();
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

    async fn self_test(&self, function: &FunctionName, alias: &str) -> Result<Option<LiveTest>, Fault> {
        super::self_test::live(self, function, alias).await
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

/// Each message once, by its id, and whether it is one of these.
fn by_id(messages: &[Message], is_one: impl Fn(&Value) -> bool) -> BTreeMap<String, bool> {
    let each = messages.iter().filter_map(|message| {
        let id = message.message_id()?.to_owned();
        Some((id, is_one(&event(message.body()))))
    });
    each.collect()
}

/// The event in a message; null if it has none.
fn event(body: Option<&str>) -> Value {
    body.and_then(|body| serde_json::from_str(body).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S28: one answer may hold the same message ten times.
    #[test]
    fn s28_copies_of_a_message_count_once() {
        let message = |id: &str, body: &str| Message::builder().message_id(id).body(body).build();
        let probe = r#"{"source": "kibus.probe"}"#;
        let messages = [
            message("1", probe),
            message("1", probe),
            message("2", "{}"),
            message("1", probe),
        ];
        let found = by_id(&messages, |event| event["source"] == PROBE_SOURCE);
        assert_eq!(found, BTreeMap::from([("1".to_owned(), true), ("2".to_owned(), false)]));
    }
}
