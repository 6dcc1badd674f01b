//! CloudWatch log groups.

use crate::model::resource::calls::logs;
use std::collections::BTreeMap;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::changes::{Changes, Update};
use super::error::if_present;
use super::wait::Waiting;
use super::{AwsCloud, pages};
use crate::cloud::Fault;
use crate::model::name::LogGroupName;
use crate::model::resource::{LogGroup, LogGroupField};
use crate::wire::aws_json::ErrorResponse;

/// The answer of `ListTagsForResource`.
#[derive(Debug, Deserialize)]
struct Listed {
    tags: Option<BTreeMap<String, String>>,
}

/// A page of `DescribeLogGroups`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    log_groups: Option<Vec<Described>>,
    next_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Described {
    log_group_name: Option<String>,
    retention_in_days: Option<u32>,
}

pub(super) async fn read(cloud: &AwsCloud, name: &LogGroupName) -> Result<Option<LogGroup>, Fault> {
    let tags = async {
        let input = json!({ "resourceArn": cloud.scope.log_group_arn(name) });
        let send = || cloud.logs.call::<Listed>("ListTagsForResource", input.clone());
        if_present(cloud.call(logs::LIST_TAGS_FOR_RESOURCE, send).await)
    };
    let (Some(group), Some(tags)) = tokio::try_join!(described(cloud, name), tags)? else {
        return Ok(None);
    };
    Ok(Some(LogGroup {
        name: name.clone(),
        retention_days: group.retention_in_days,
        tags: tags.tags.unwrap_or_default().into_iter().collect(),
    }))
}

/// The log group of this name, among those whose names begin with it.
async fn described(cloud: &AwsCloud, name: &LogGroupName) -> Result<Option<Described>, Fault> {
    let page = |token: Option<String>| {
        let input = json!({ "logGroupNamePrefix": name.as_str(), "nextToken": token });
        async {
            let page = cloud.logs.call::<Page>("DescribeLogGroups", input).await;
            page.map(|page| (page.log_groups, page.next_token))
        }
    };
    let groups = pages::all(cloud, logs::DESCRIBE_LOG_GROUPS, page).await?;
    let mut groups = groups.into_iter();
    Ok(groups.find(|group| group.log_group_name.as_deref() == Some(name.as_str())))
}

pub(super) async fn create(cloud: &AwsCloud, group: &LogGroup, waiting: Waiting<'_>) -> Result<(), Fault> {
    let LogGroup {
        name,
        retention_days,
        tags,
    } = group;
    let input = json!({ "logGroupName": name.as_str(), "tags": tags.0 });
    let send = || send(cloud, "CreateLogGroup", &input);
    cloud.accepted(logs::CREATE_LOG_GROUP, waiting, send).await?;
    // A denial of the second call is not retried: it can pass only where a permission depends on the tags of the group, and
    // the operator policy does not.
    match retention_days {
        Some(_) => retain(cloud, group, waiting).await,
        None => Ok(()),
    }
}

pub(super) async fn update(
    cloud: &AwsCloud,
    Update { to: group, fields, .. }: Update<'_, LogGroup>,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    let Changes { fields, tags } = Changes::among(logs::PUT_RETENTION_POLICY, fields)?;
    for field in fields {
        match field {
            LogGroupField::RetentionDays => retain(cloud, group, waiting).await?,
        }
    }
    let arn = cloud.scope.log_group_arn(&group.name);
    if !tags.remove.is_empty() {
        let input = json!({ "resourceArn": arn, "tagKeys": tags.remove });
        let send = || send(cloud, "UntagResource", &input);
        cloud.call(logs::UNTAG_RESOURCE, send).await?;
    }
    if !tags.set.0.is_empty() {
        let input = json!({ "resourceArn": arn, "tags": tags.set.0 });
        let send = || send(cloud, "TagResource", &input);
        cloud.call(logs::TAG_RESOURCE, send).await?;
    }
    Ok(())
}

pub(super) async fn delete(cloud: &AwsCloud, name: &LogGroupName, waiting: Waiting<'_>) -> Result<(), Fault> {
    let input = json!({ "logGroupName": name.as_str() });
    let send = || send(cloud, "DeleteLogGroup", &input);
    if_present(cloud.accepted(logs::DELETE_LOG_GROUP, waiting, send).await).map(drop)
}

/// Sets how long log events are retained.
async fn retain(cloud: &AwsCloud, group: &LogGroup, waiting: Waiting<'_>) -> Result<(), Fault> {
    let name = group.name.as_str();
    match group.retention_days {
        Some(days) => {
            let input = json!({ "logGroupName": name, "retentionInDays": days });
            let send = || send(cloud, "PutRetentionPolicy", &input);
            cloud.accepted(logs::PUT_RETENTION_POLICY, waiting, send).await
        }
        None => {
            let input = json!({ "logGroupName": name });
            let send = || send(cloud, "DeleteRetentionPolicy", &input);
            cloud.call(logs::DELETE_RETENTION_POLICY, send).await
        }
    }
}

/// Makes a call whose answer has no members.
async fn send(
    cloud: &AwsCloud,
    operation: &'static str,
    input: &Value,
) -> Result<(), SdkError<ErrorResponse, HttpResponse>> {
    let answer = cloud.logs.call::<IgnoredAny>(operation, input.clone());
    answer.await.map(drop)
}
