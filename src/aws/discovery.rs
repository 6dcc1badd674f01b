//! What is there, without knowing its name.

use std::collections::BTreeSet;

use aws_sdk_resourcegroupstagging::types::TagFilter;

use super::AwsCloud;
use super::error::OrFault;
use crate::cloud::{Fault, FaultKind};
use crate::model::name::{QueueName, QueuePrefix, RoleName};
use crate::model::tags;

/// The queues that may be clusters': by tag, united with all that begin with the prefix. The tagging API learns
/// late and forgets late; the list knows only names.
///
/// Where the tagging API is denied the list does alone, unless it would be of every queue there is.
pub(super) async fn cluster_queues(cloud: &AwsCloud, prefix: &QueuePrefix) -> Result<BTreeSet<QueueName>, Fault> {
    let (tagged, listed) = tokio::join!(tagged_queues(cloud), listed_queues(cloud, prefix));
    let mut queues = listed?;
    match tagged {
        Ok(tagged) => queues.extend(tagged),
        Err(fault) if matches!(fault.kind, FaultKind::Denied { .. }) && !prefix.as_str().is_empty() => {
            tracing::debug!("without {}: {}", fault.action, fault.message);
        }
        Err(fault) => return Err(fault),
    }
    Ok(queues)
}

async fn tagged_queues(cloud: &AwsCloud) -> Result<BTreeSet<QueueName>, Fault> {
    let call = cloud
        .tagging
        .get_resources()
        .resource_type_filters("sqs")
        .tag_filters(
            TagFilter::builder()
                .key(tags::BUS)
                .values(cloud.scope.bus.as_str())
                .build(),
        )
        .tag_filters(TagFilter::builder().key(tags::CLUSTER).build());
    let mut answers = call.into_paginator().items().send();
    let mut queues = BTreeSet::new();
    while let Some(resource) = answers.next().await {
        let arn = resource.or_fault("tag:GetResources")?.resource_arn.unwrap_or_default();
        // A name that is none of kibus's, like that of a FIFO queue, cannot be a cluster's.
        queues.extend(arn.rsplit(':').next().and_then(|name| name.parse().ok()));
    }
    Ok(queues)
}

async fn listed_queues(cloud: &AwsCloud, prefix: &QueuePrefix) -> Result<BTreeSet<QueueName>, Fault> {
    let prefix = Some(prefix.to_string()).filter(|prefix| !prefix.is_empty());
    // Without a page size SQS gives one page and does not say that there is more.
    let call = cloud.sqs.list_queues().set_queue_name_prefix(prefix).max_results(1000);
    let mut answers = call.into_paginator().items().send();
    let mut queues = BTreeSet::new();
    while let Some(url) = answers.next().await {
        queues.extend(
            url.or_fault("sqs:ListQueues")?
                .rsplit('/')
                .next()
                .and_then(|name| name.parse().ok()),
        );
    }
    Ok(queues)
}

/// The names of all roles of the account.
pub(super) async fn role_names(cloud: &AwsCloud) -> Result<BTreeSet<RoleName>, Fault> {
    let mut answers = cloud.iam.list_roles().max_items(1000).into_paginator().items().send();
    let mut roles = BTreeSet::new();
    while let Some(role) = answers.next().await {
        roles.extend(role.or_fault("iam:ListRoles")?.role_name.parse());
    }
    Ok(roles)
}
