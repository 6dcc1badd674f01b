//! CloudWatch log groups, and the lines in them.

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::AwsCloud;
use super::error::if_present;
use super::write::{Changes, Update, Writing};
use crate::cloud::{Fault, Read};
use crate::events::{LogPage, RouterLog};
use crate::model::{DroppedClusters, LastEvents, LogGroup, LogGroupField, LogGroupName, calls::logs, status::REASONS};

pub(super) async fn read(cloud: &AwsCloud, name: &LogGroupName) -> Result<Option<LogGroup>, Fault> {
    let tags = async {
        let input = json!({ "resourceArn": cloud.scope.log_group_arn(name) });
        let answer = cloud.json::<Value>(&cloud.logs, logs::LIST_TAGS_FOR_RESOURCE, input);
        if_present(answer.await)
    };
    let (Some(group), Some(tags)) = tokio::try_join!(described(cloud, name), tags)? else {
        return Ok(None);
    };
    let tags = tags["tags"].as_object();
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    Ok(Some(LogGroup {
        name: name.clone(),
        retention_days: group["retentionInDays"].as_u64().and_then(|days| days.try_into().ok()),
        account_policy: group["retentionPolicyName"].as_str().map(str::to_owned),
        protected: group["deletionProtectionEnabled"] == true,
        tags: tags.into_iter().flatten().filter_map(text).collect(),
    }))
}

/// The log group of this name, among those whose names begin with it.
async fn described(cloud: &AwsCloud, name: &LogGroupName) -> Result<Option<Value>, Fault> {
    let (input, list) = (json!({ "logGroupNamePrefix": name.as_str() }), ["logGroups", "nextToken"]);
    let mut groups = cloud.json_pages(&cloud.logs, logs::DESCRIBE_LOG_GROUPS, input, list).await?.into_iter();
    Ok(groups.find(|group| group["logGroupName"] == name.as_str()))
}

pub(super) async fn create(cloud: &Writing<'_>, group: &LogGroup) -> Result<(), Fault> {
    let LogGroup { name, retention_days, tags, .. } = group;
    let input = json!({ "logGroupName": name.as_str(), "tags": tags.0 });
    accepted(cloud, logs::CREATE_LOG_GROUP, &input).await?;
    // A denial of the second call is not retried: it could succeed only if a permission depended on the tags of the
    // group, and the operator policy has none.
    match retention_days {
        Some(_) => retain(cloud, group).await,
        None => Ok(()),
    }
}

pub(super) async fn update(cloud: &Writing<'_>, update: Update<'_, LogGroup>) -> Result<(), Fault> {
    let group = update.to;
    let Changes { fields, tags } = Changes::among(logs::PUT_RETENTION_POLICY, update.fields)?;
    for field in fields {
        match field {
            LogGroupField::RetentionDays => retain(cloud, group).await?,
        }
    }
    let arn = cloud.scope.log_group_arn(&group.name);
    let untag = json!({ "resourceArn": arn, "tagKeys": tags.remove });
    let tag = json!({ "resourceArn": arn, "tags": tags.set.0 });
    tags.write(
        cloud.json::<IgnoredAny>(&cloud.logs, logs::UNTAG_RESOURCE, untag),
        cloud.json::<IgnoredAny>(&cloud.logs, logs::TAG_RESOURCE, tag),
    )
    .await
}

pub(super) async fn delete(cloud: &Writing<'_>, name: &LogGroupName) -> Result<(), Fault> {
    let input = json!({ "logGroupName": name.as_str() });
    if_present(accepted(cloud, logs::DELETE_LOG_GROUP, &input).await).map(drop)
}

async fn retain(cloud: &Writing<'_>, group: &LogGroup) -> Result<(), Fault> {
    let input = json!({ "logGroupName": group.name.as_str(), "retentionInDays": group.retention_days });
    let action = match group.retention_days {
        Some(_) => logs::PUT_RETENTION_POLICY,
        None => logs::DELETE_RETENTION_POLICY,
    };
    accepted(cloud, action, &input).await
}

/// Makes a call whose answer has no members, and repeats it while another change is in progress.
async fn accepted(cloud: &Writing<'_>, action: &'static str, input: &Value) -> Result<(), Fault> {
    let send = || cloud.json::<IgnoredAny>(&cloud.logs, action, input.clone());
    cloud.until_seen(action, &[], send).await.map(drop)
}

/// How far back the search for drops reads, in seconds.
const DAY: u64 = 24 * 60 * 60;
/// How many calls a search for drops takes at most.
const CALLS: usize = 10;

pub(super) async fn dropped(cloud: &AwsCloud) -> Result<DroppedClusters, Fault> {
    let reasons = REASONS.map(|reason| format!("$.reason = \"{reason}\"")).join(" || ");
    let pattern = format!("{{ $.message = \"dropped\" && ({reasons}) }}");
    let since = i64::try_from(cloud.now().saturating_sub(DAY) * 1000).unwrap_or_default();
    let group = cloud.scope.router_log_group();
    let (lines, complete) = lines(cloud, &group, Some(&pattern), Some(since), CALLS).await?;
    Ok(DroppedClusters::read(lines.iter().map(String::as_str), complete))
}

/// The newest events of the last day that are about instances: at most one page.
pub(super) async fn last_events(cloud: &AwsCloud) -> Result<LastEvents, Fault> {
    let pattern =
        r#"{ ($.message = "delivered" || $.message = "dropped") && $.signal != "heartbeat" && $.signal != "probe" }"#;
    let since = cloud.now().saturating_sub(DAY) * 1000;
    let input = json!({
        "logGroupName": cloud.scope.router_log_group().as_str(), "filterPattern": pattern, "startTime": since, "startFromHead": false,
    });
    let page =
        if_present(cloud.json::<LogPage>(&cloud.logs, logs::FILTER_LOG_EVENTS, input).await)?.unwrap_or_default();
    let lines = page.events.iter().map(|event| (event.logged, event.text.as_str()));
    Ok(LastEvents::read(lines, page.next_token.is_none_or(|token| token.is_empty())))
}

impl RouterLog for AwsCloud {
    async fn page(
        &self,
        group: &LogGroupName,
        pattern: &str,
        (start, end): (i64, Option<i64>),
        token: Option<&str>,
    ) -> Result<LogPage, Fault> {
        page(self, group, Some(pattern), (Some(start), end), token).await
    }
}

/// A page of the lines in a log group; an empty one if the group does not exist.
async fn page(
    cloud: &AwsCloud,
    group: &LogGroupName,
    pattern: Option<&str>,
    (start, end): (Option<i64>, Option<i64>),
    token: Option<&str>,
) -> Result<LogPage, Fault> {
    let input = json!({
        "logGroupName": group.as_str(), "filterPattern": pattern, "startTime": start, "endTime": end, "nextToken": token,
    });
    let page = if_present(cloud.json(&cloud.logs, logs::FILTER_LOG_EVENTS, input).await)?;
    Ok(page.unwrap_or_default())
}

/// The lines in a log group that match a pattern, since a time in milliseconds of the Unix epoch; and whether the list
/// is complete, within this many calls.
pub(super) async fn lines(
    cloud: &AwsCloud,
    group: &LogGroupName,
    pattern: Option<&str>,
    since: Option<i64>,
    calls: usize,
) -> Result<(Vec<String>, bool), Fault> {
    let (mut lines, mut token) = (Vec::new(), None::<String>);
    for _ in 0..calls {
        let page = page(cloud, group, pattern, (since, None), token.as_deref()).await?;
        lines.extend(page.events.into_iter().map(|event| event.text));
        token = page.next_token.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok((lines, true));
        }
    }
    Ok((lines, false))
}
