//! What is going on at this moment: how many messages wait, and how the router and what feeds it fare.

use aws_sdk_sqs::types::QueueAttributeName as Attribute;

use super::AwsCloud;
use super::error::{Answer, if_present};
use crate::cloud::Fault;
use crate::model::name::QueueName;
use crate::model::status::Depth;

impl AwsCloud {
    pub(super) async fn queue_depth(&self, queue: &QueueName) -> Result<Option<Depth>, Fault> {
        let call = self
            .sqs
            .get_queue_attributes()
            .queue_url(self.queue_url(queue))
            .attribute_names(Attribute::ApproximateNumberOfMessages)
            .attribute_names(Attribute::ApproximateNumberOfMessagesNotVisible);
        let Some(answer) = if_present(call.send().await.answer("sqs:GetQueueAttributes"))? else {
            return Ok(None);
        };
        let attributes = answer.attributes.unwrap_or_default();
        let number = |attribute| attributes.get(&attribute).and_then(|text| text.parse().ok());
        Ok(Some(Depth {
            waiting: number(Attribute::ApproximateNumberOfMessages).unwrap_or_default(),
            in_flight: number(Attribute::ApproximateNumberOfMessagesNotVisible).unwrap_or_default(),
        }))
    }
}
