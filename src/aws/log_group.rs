//! CloudWatch log groups.

use aws_sdk_cloudwatchlogs::types::LogGroup as AwsLogGroup;

use super::changes::{Changes, Update};
use super::error::if_present;
use super::wait::Waiting;
use super::{AwsCloud, pages, signed};
use crate::cloud::Fault;
use crate::model::name::LogGroupName;
use crate::model::resource::{LogGroup, LogGroupField};

pub(super) async fn read(cloud: &AwsCloud, name: &LogGroupName) -> Result<Option<LogGroup>, Fault> {
    let tags = async {
        let arn = cloud.scope.log_group_arn(name);
        let call = cloud.logs.list_tags_for_resource().resource_arn(arn);
        if_present(cloud.call("logs:ListTagsForResource", || call.clone().send()).await)
    };
    let (Some(group), Some(tags)) = tokio::try_join!(described(cloud, name), tags)? else {
        return Ok(None);
    };
    Ok(Some(LogGroup {
        name: name.clone(),
        retention_days: group.retention_in_days.and_then(|days| u32::try_from(days).ok()),
        tags: tags.tags.unwrap_or_default().into_iter().collect(),
    }))
}

/// The log group of this name, among those whose names begin with it.
async fn described(cloud: &AwsCloud, name: &LogGroupName) -> Result<Option<AwsLogGroup>, Fault> {
    let call = cloud.logs.describe_log_groups().log_group_name_prefix(name);
    let page = |token| {
        let call = call.clone().set_next_token(token);
        async { call.send().await.map(|page| (page.log_groups, page.next_token)) }
    };
    let groups = pages::all(cloud, "logs:DescribeLogGroups", page).await?;
    let mut groups = groups.into_iter();
    Ok(groups.find(|group| group.log_group_name() == Some(name.as_str())))
}

pub(super) async fn create(cloud: &AwsCloud, group: &LogGroup, waiting: Waiting<'_>) -> Result<(), Fault> {
    let LogGroup {
        name,
        retention_days,
        tags,
    } = group;
    let call = cloud.logs.create_log_group().log_group_name(name);
    let call = call.set_tags(Some(tags.0.clone().into_iter().collect()));
    let created = cloud.accepted("logs:CreateLogGroup", waiting, || call.clone().send());
    created.await?;
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
    let Changes { fields, tags } = Changes::among("logs:PutRetentionPolicy", fields)?;
    for field in fields {
        match field {
            LogGroupField::RetentionDays => retain(cloud, group, waiting).await?,
        }
    }
    let arn = cloud.scope.log_group_arn(&group.name);
    if !tags.remove.is_empty() {
        let call = cloud.logs.untag_resource().resource_arn(&arn);
        let call = call.set_tag_keys(Some(tags.remove));
        cloud.call("logs:UntagResource", || call.clone().send()).await?;
    }
    if !tags.set.0.is_empty() {
        let call = cloud.logs.tag_resource().resource_arn(&arn);
        let call = call.set_tags(Some(tags.set.0.into_iter().collect()));
        cloud.call("logs:TagResource", || call.clone().send()).await?;
    }
    Ok(())
}

pub(super) async fn delete(cloud: &AwsCloud, name: &LogGroupName, waiting: Waiting<'_>) -> Result<(), Fault> {
    let call = cloud.logs.delete_log_group().log_group_name(name);
    let answer = cloud.accepted("logs:DeleteLogGroup", waiting, || call.clone().send());
    if_present(answer.await).map(drop)
}

/// Sets how long log events are retained.
async fn retain(cloud: &AwsCloud, group: &LogGroup, waiting: Waiting<'_>) -> Result<(), Fault> {
    match group.retention_days {
        Some(days) => {
            let call = cloud.logs.put_retention_policy().log_group_name(&group.name);
            let call = call.retention_in_days(signed(days));
            let answer = cloud.accepted("logs:PutRetentionPolicy", waiting, || call.clone().send());
            answer.await.map(drop)
        }
        None => {
            let call = cloud.logs.delete_retention_policy().log_group_name(&group.name);
            let answer = cloud.call("logs:DeleteRetentionPolicy", || call.clone().send());
            answer.await.map(drop)
        }
    }
}
