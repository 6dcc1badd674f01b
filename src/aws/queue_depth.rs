//! How many messages a queue holds.

use aws_sdk_sqs::types::QueueAttributeName as Attribute;

use super::AwsCloud;
use super::error::if_present;
use crate::cloud::Fault;
use crate::model::name::QueueName;
use crate::model::status::Depth;

/// The approximate counts; `None` if the queue does not exist.
pub(super) async fn read(cloud: &AwsCloud, queue: &QueueName) -> Result<Option<Depth>, Fault> {
    let call = cloud
        .sqs
        .get_queue_attributes()
        .queue_url(cloud.queue_url(queue))
        .attribute_names(Attribute::ApproximateNumberOfMessages)
        .attribute_names(Attribute::ApproximateNumberOfMessagesNotVisible);
    let Some(answer) = if_present(cloud.call("sqs:GetQueueAttributes", || call.clone().send()).await)? else {
        return Ok(None);
    };
    let attributes = answer.attributes.unwrap_or_default();
    let number = |attribute| attributes.get(&attribute).and_then(|text| text.parse().ok());
    Ok(Some(Depth {
        waiting: number(Attribute::ApproximateNumberOfMessages).unwrap_or_default(),
        in_flight: number(Attribute::ApproximateNumberOfMessagesNotVisible).unwrap_or_default(),
    }))
}
