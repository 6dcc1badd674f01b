//! The lines in a log group.

use crate::model::resource::calls::logs;
use serde::Deserialize;
use serde_json::json;

use super::AwsCloud;
use super::error::if_present;
use crate::cloud::{Fault, Read};
use crate::model::name::LogGroupName;
use crate::model::status::{DroppedClusters, REASONS};

/// A page of `FilterLogEvents`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    events: Option<Vec<Event>>,
    next_token: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Event {
    message: Option<String>,
}

/// How far back drops are read, in seconds.
const DAY: u64 = 24 * 60 * 60;
/// How many calls a search for drops takes at most.
const CALLS: usize = 10;

/// The clusters whose events the router dropped in the last day.
pub(super) async fn dropped(cloud: &AwsCloud) -> Result<DroppedClusters, Fault> {
    let reasons = REASONS.map(|reason| format!("$.reason = \"{reason}\"")).join(" || ");
    let pattern = format!("{{ $.message = \"dropped\" && ({reasons}) }}");
    let since = i64::try_from(cloud.now().saturating_sub(DAY) * 1000).unwrap_or_default();
    let (lines, complete) = lines(
        cloud,
        &cloud.scope.router_log_group(),
        Some(&pattern),
        Some(since),
        CALLS,
    )
    .await?;
    Ok(DroppedClusters::read(lines.iter().map(String::as_str), complete))
}

impl AwsCloud {
    /// The lines in a log group; none if the group does not exist.
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
    let mut token = None::<String>;
    for _ in 0..calls {
        let input = json!({
            "logGroupName": group.as_str(), "filterPattern": pattern, "startTime": since, "nextToken": token,
        });
        let send = || cloud.logs.call::<Page>("FilterLogEvents", input.clone());
        let Some(answer) = if_present(cloud.call(logs::FILTER_LOG_EVENTS, send).await)? else {
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
