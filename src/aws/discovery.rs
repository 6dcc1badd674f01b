//! Finds queues and roles whose names are not known.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_resourcegroupstagging::types::TagFilter;

use super::AwsCloud;
use super::error::OrFault;
use crate::cloud::{Fault, FaultKind};
use crate::model::name::{BusName, QueueName, QueuePrefix, RoleName};
use crate::model::tags;

/// The queues that may be cluster queues: by tag, united with all whose names begin with the prefix. The tagging API
/// is late with new and with deleted queues; the list has only names.
///
/// Where the tagging API is denied, the list is enough, unless the prefix is empty.
pub(super) async fn cluster_queues(cloud: &AwsCloud, prefix: &QueuePrefix) -> Result<BTreeSet<QueueName>, Fault> {
    let (tagged, listed) = tokio::join!(tagged_queues(cloud), queues(cloud, prefix.as_str()));
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
        // A name that kibus does not accept, like that of a FIFO queue, is not a cluster queue's.
        queues.extend(arn.rsplit(':').next().and_then(|name| name.parse().ok()));
    }
    Ok(queues)
}

/// The buses that queues are tagged with.
pub(super) async fn buses(cloud: &AwsCloud) -> Result<BTreeSet<BusName>, Fault> {
    let call = cloud
        .tagging
        .get_resources()
        .resource_type_filters("sqs")
        .tag_filters(TagFilter::builder().key(tags::BUS).build());
    let mut answers = call.into_paginator().items().send();
    let mut buses = BTreeSet::new();
    while let Some(resource) = answers.next().await {
        let found = resource.or_fault("tag:GetResources")?.tags.unwrap_or_default();
        let bus = found.iter().find(|tag| tag.key() == tags::BUS);
        buses.extend(bus.and_then(|tag| tag.value().parse().ok()));
    }
    Ok(buses)
}

/// The queues whose names begin with this.
pub(super) async fn queues(cloud: &AwsCloud, prefix: &str) -> Result<BTreeSet<QueueName>, Fault> {
    let prefix = Some(prefix.to_owned()).filter(|prefix| !prefix.is_empty());
    // Without a page size SQS returns one page and no token for the next.
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

/// All roles in the account, with their ARNs.
pub(super) async fn role_arns(cloud: &AwsCloud) -> Result<BTreeMap<RoleName, String>, Fault> {
    let mut answers = cloud.iam.list_roles().max_items(1000).into_paginator().items().send();
    let mut roles = BTreeMap::new();
    while let Some(role) = answers.next().await {
        let role = role.or_fault("iam:ListRoles")?;
        roles.extend(role.role_name.parse().map(|name| (name, role.arn)));
    }
    Ok(roles)
}
