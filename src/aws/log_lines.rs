//! The lines in a log group.

use super::AwsCloud;
use super::error::if_present;
use crate::cloud::Fault;
use crate::model::name::LogGroupName;

impl AwsCloud {
    /// The lines in a log group; none if the group does not exist.
    ///
    /// # Errors
    /// When the call is refused or not answered.
    pub async fn log_lines(&self, group: &LogGroupName) -> Result<Vec<String>, Fault> {
        let (lines, _) = lines(self, group, None, None, usize::MAX).await?;
        Ok(lines)
    }
}

/// The lines in a log group that match a pattern, since a time in milliseconds of the Unix epoch; and whether these are
/// all, within this many calls.
pub(super) async fn lines(
    cloud: &AwsCloud,
    group: &LogGroupName,
    pattern: Option<&str>,
    since: Option<i64>,
    calls: usize,
) -> Result<(Vec<String>, bool), Fault> {
    let mut lines = Vec::new();
    let mut token = None;
    for _ in 0..calls {
        let call = cloud
            .logs
            .filter_log_events()
            .log_group_name(group.as_str())
            .set_filter_pattern(pattern.map(str::to_owned))
            .set_start_time(since)
            .set_next_token(token);
        let Some(answer) = if_present(cloud.call("logs:FilterLogEvents", || call.clone().send()).await)? else {
            return Ok((lines, true));
        };
        let events = answer.events.unwrap_or_default().into_iter();
        lines.extend(events.filter_map(|event| event.message));
        token = answer.next_token.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok((lines, true));
        }
    }
    Ok((lines, false))
}
