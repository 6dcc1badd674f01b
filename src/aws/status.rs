//! What is going on at this moment: how many messages wait, and how the router and what feeds it fare.

use aws_sdk_lambda::types::State;
use aws_sdk_sqs::types::QueueAttributeName as Attribute;

use super::AwsCloud;
use super::error::{Answer, if_present};
use super::event_source_mapping;
use crate::cloud::Fault;
use crate::model::name::{FunctionName, QueueName};
use crate::model::status::{Depth, MappingState, VersionState};

impl AwsCloud {
    /// How many messages a queue holds; nothing if it is not there.
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

    /// How the mapping of this queue to this alias fares; nothing if there is none.
    ///
    /// # Errors
    /// When the call is refused or not answered.
    pub async fn mapping_state(
        &self,
        queue: &QueueName,
        function: &FunctionName,
        alias: &str,
    ) -> Result<Option<MappingState>, Fault> {
        let mappings = event_source_mapping::list(self, (queue, function, alias)).await?;
        Ok(mappings.into_iter().next().map(|mapping| MappingState {
            state: mapping.state.unwrap_or_default(),
            last_result: mapping.last_processing_result,
            reason: mapping.state_transition_reason,
        }))
    }

    /// How the version behind an alias fares; nothing if there is none.
    ///
    /// # Errors
    /// When the call is refused or not answered.
    pub async fn version_state(&self, function: &FunctionName, alias: &str) -> Result<Option<VersionState>, Fault> {
        let call = self
            .lambda
            .get_function()
            .function_name(function.as_str())
            .qualifier(alias);
        let Some(answer) = if_present(call.send().await.answer("lambda:GetFunction"))? else {
            return Ok(None);
        };
        Ok(answer.configuration.map(|configuration| VersionState {
            version: configuration.version().and_then(|number| number.parse().ok()),
            state: configuration.state().map(State::as_str).unwrap_or_default().to_owned(),
            reason: configuration.state_reason().map(str::to_owned),
        }))
    }
}
