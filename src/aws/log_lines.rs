//! The lines in a log group.

use super::AwsCloud;
use super::error::{OrFault, if_present};
use crate::cloud::Fault;
use crate::model::name::LogGroupName;

impl AwsCloud {
    /// The lines in a log group; none if the group does not exist.
    ///
    /// # Errors
    /// When the call is refused or not answered.
    pub async fn log_lines(&self, group: &LogGroupName) -> Result<Vec<String>, Fault> {
        let mut lines = Vec::new();
        let mut token = None;
        loop {
            let call = self
                .logs
                .filter_log_events()
                .log_group_name(group.as_str())
                .set_next_token(token);
            let Some(answer) = if_present(call.send().await.or_fault("logs:FilterLogEvents"))? else {
                return Ok(lines);
            };
            lines.extend(
                answer
                    .events
                    .unwrap_or_default()
                    .into_iter()
                    .filter_map(|event| event.message),
            );
            token = answer.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(lines);
            }
        }
    }
}
