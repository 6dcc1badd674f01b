//! Finds queues and roles whose names are not known.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_resourcegroupstagging::operation::get_resources::builders::GetResourcesFluentBuilder;
use aws_sdk_resourcegroupstagging::types::{ResourceTagMapping, TagFilter};

use super::AwsCloud;
use super::error::if_present;
use super::pages;
use crate::cloud::Fault;
use crate::model::name::{BusName, QueueName, QueuePrefix, RoleName};
use crate::model::tags;

/// The queues that may be cluster queues: by tag, united with all whose names begin with the prefix. The tagging API
/// is late with new and with deleted queues; the list has only names.
///
/// Without an answer of the tagging API, the list is enough, unless the prefix is empty: the caller may not be allowed to
/// call it, and it has no FIPS host in any partition (botocore, endpoints.json).
pub(super) async fn cluster_queues(cloud: &AwsCloud, prefix: &QueuePrefix) -> Result<BTreeSet<QueueName>, Fault> {
    let (tagged, listed) = tokio::join!(tagged_queues(cloud), queues(cloud, prefix.as_str()));
    let mut queues = listed?;
    match tagged {
        Ok(tagged) => queues.extend(tagged),
        Err(fault) if !prefix.as_str().is_empty() => {
            tracing::debug!("without {}: {}", fault.action, fault.message);
        }
        Err(fault) => {
            return Err(Fault {
                message: format!("{}; with an empty queue prefix, kibus needs this call", fault.message),
                ..fault
            });
        }
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
    let resources = resources(cloud, call).await?;
    let arns = resources.into_iter().filter_map(|resource| resource.resource_arn);
    // A name that kibus does not accept, like that of a FIFO queue, is not a cluster queue's.
    Ok(arns.filter_map(|arn| arn.rsplit(':').next()?.parse().ok()).collect())
}

async fn resources(cloud: &AwsCloud, call: GetResourcesFluentBuilder) -> Result<Vec<ResourceTagMapping>, Fault> {
    let page = |token| {
        let call = call.clone().set_pagination_token(token);
        async {
            let page = call.send().await;
            page.map(|page| (page.resource_tag_mapping_list, page.pagination_token))
        }
    };
    pages::all(cloud, "tag:GetResources", page).await
}

/// The buses that queues are tagged with.
pub(super) async fn buses(cloud: &AwsCloud) -> Result<BTreeSet<BusName>, Fault> {
    let call = cloud
        .tagging
        .get_resources()
        .resource_type_filters("sqs")
        .tag_filters(TagFilter::builder().key(tags::BUS).build());
    let resources = resources(cloud, call).await?;
    let tags = resources.into_iter().filter_map(|resource| resource.tags).flatten();
    let named = tags.filter(|tag| tag.key() == tags::BUS);
    Ok(named.filter_map(|tag| tag.value().parse().ok()).collect())
}

/// The queues whose names begin with this.
pub(super) async fn queues(cloud: &AwsCloud, prefix: &str) -> Result<BTreeSet<QueueName>, Fault> {
    let prefix = Some(prefix.to_owned()).filter(|prefix| !prefix.is_empty());
    // Without a page size SQS returns one page and no token for the next.
    let call = cloud.sqs.list_queues().set_queue_name_prefix(prefix).max_results(1000);
    let page = |token| {
        let call = call.clone().set_next_token(token);
        async { call.send().await.map(|page| (page.queue_urls, page.next_token)) }
    };
    let urls = pages::all(cloud, "sqs:ListQueues", page).await?;
    Ok(names(&urls))
}

/// The queues that have this one as their dead-letter queue; `None` if it does not exist.
pub(super) async fn dead_letter_sources(
    cloud: &AwsCloud,
    queue: &QueueName,
) -> Result<Option<BTreeSet<QueueName>>, Fault> {
    let call = cloud.sqs.list_dead_letter_source_queues();
    let call = call.queue_url(cloud.queue_url(queue)).max_results(1000);
    let page = |token| {
        let call = call.clone().set_next_token(token);
        async { call.send().await.map(|page| (Some(page.queue_urls), page.next_token)) }
    };
    let urls = pages::all(cloud, "sqs:ListDeadLetterSourceQueues", page).await;
    Ok(if_present(urls)?.map(|urls| names(&urls)))
}

fn names(urls: &[String]) -> BTreeSet<QueueName> {
    let names = urls.iter().filter_map(|url| url.rsplit('/').next());
    names.filter_map(|name| name.parse().ok()).collect()
}

/// All roles in the account, with their ARNs.
pub(super) async fn role_arns(cloud: &AwsCloud) -> Result<BTreeMap<RoleName, String>, Fault> {
    let call = cloud.iam.list_roles().max_items(1000);
    let page = |marker| {
        let call = call.clone().set_marker(marker);
        async { call.send().await.map(|page| (Some(page.roles), page.marker)) }
    };
    let roles = pages::all(cloud, "iam:ListRoles", page).await?;
    let named = roles
        .into_iter()
        .filter_map(|role| Some((role.role_name.parse().ok()?, role.arn)));
    Ok(named.collect())
}
