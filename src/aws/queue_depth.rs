//! How many messages a queue holds.

use aws_sdk_sqs::types::QueueAttributeName as Attribute;

use super::AwsCloud;
use super::error::{OrFault, if_present, rejected};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::QueueName;
use crate::model::status::Depth;

const GET: &str = "sqs:GetQueueAttributes";

impl AwsCloud {
    /// How many messages a queue holds, approximately; `None` if it does not exist.
    ///
    /// # Errors
    /// When the call is refused or not answered.
    pub async fn depth(&self, queue: &QueueName) -> Result<Option<Depth>, Fault> {
        let call = self
            .sqs
            .get_queue_attributes()
            .queue_url(self.queue_url(queue))
            .attribute_names(Attribute::ApproximateNumberOfMessages)
            .attribute_names(Attribute::ApproximateNumberOfMessagesNotVisible);
        let Some(answer) = if_present(call.send().await.or_fault(GET))? else {
            return Ok(None);
        };
        let attributes = answer.attributes.unwrap_or_default();
        let number = |attribute| attributes.get(&attribute).and_then(|text| text.parse().ok());
        Ok(Some(Depth {
            waiting: number(Attribute::ApproximateNumberOfMessages).unwrap_or_default(),
            in_flight: number(Attribute::ApproximateNumberOfMessagesNotVisible).unwrap_or_default(),
        }))
    }

    /// How many messages of a queue wait, and how many are in flight; both approximate and up to a minute late.
    ///
    /// # Errors
    /// When the call is refused or not answered, or the queue does not exist.
    pub async fn message_counts(&self, queue: &QueueName) -> Result<(u64, u64), Fault> {
        match self.depth(queue).await? {
            Some(depth) => Ok((depth.waiting, depth.in_flight)),
            None => Err(Fault {
                kind: FaultKind::Gone,
                ..rejected(GET, format!("queue `{queue}` does not exist"))
            }),
        }
    }
}
