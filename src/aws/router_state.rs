//! The state of the router's version and of the event source mapping that feeds it.

use aws_sdk_lambda::types::State;

use super::AwsCloud;
use super::error::{OrFault, if_present};
use super::event_source_mapping;
use crate::cloud::Fault;
use crate::model::name::{FunctionName, QueueName};
use crate::model::status::{MappingState, VersionState};

impl AwsCloud {
    /// The state of the mapping of this queue to this alias; `None` if there is none.
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

    /// The state of the version behind an alias; `None` if there is none.
    ///
    /// # Errors
    /// When the call is refused or not answered.
    pub async fn version_state(&self, function: &FunctionName, alias: &str) -> Result<Option<VersionState>, Fault> {
        let call = self
            .lambda
            .get_function()
            .function_name(function.as_str())
            .qualifier(alias);
        let Some(answer) = if_present(call.send().await.or_fault("lambda:GetFunction"))? else {
            return Ok(None);
        };
        Ok(answer.configuration.map(|configuration| VersionState {
            version: configuration.version().and_then(|number| number.parse().ok()),
            state: configuration.state().map(State::as_str).unwrap_or_default().to_owned(),
            reason: configuration.state_reason().map(str::to_owned),
        }))
    }
}
