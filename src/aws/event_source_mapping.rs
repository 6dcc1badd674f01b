//! Event source mappings.
//!
//! They have no names. Kibus lists the mappings of the queue; those that point to the alias belong to the bus. The one
//! with the lowest UUID counts, and the others are its duplicates. Kibus does not manage any other mapping of the
//! function.

use std::collections::BTreeSet;

use aws_sdk_lambda::types::{EventSourceMappingConfiguration, FilterCriteria, FunctionResponseType, ScalingConfig};

use super::error::{if_present, rejected};
use super::wait::{WaitReason, retried};
use super::write::{Changes, Update, Writing};
use super::{AwsCloud, signed};
use crate::cloud::{Fault, FaultKind};
use crate::model::{
    EventSourceMapping, FunctionMapping, FunctionName, MappingField, MappingState, QueueName, calls::lambda,
};

const GET: &str = lambda::GET_EVENT_SOURCE_MAPPING;
const LIST: &str = lambda::LIST_EVENT_SOURCE_MAPPINGS;

pub(super) async fn read(
    cloud: &AwsCloud,
    queue: &QueueName,
    function: &FunctionName,
    alias: &str,
) -> Result<Option<(EventSourceMapping, MappingState)>, Fault> {
    let mut mappings = list(cloud, queue, function, alias).await?;
    mappings.retain(|mapping| mapping.state() != Some("Deleting"));
    let Some((first, others)) = mappings.split_first() else {
        return Ok(None);
    };
    let unsigned = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok());
    let state = MappingState {
        state: first.state().unwrap_or_default().to_owned(),
        reason: first.state_transition_reason().map(str::to_owned),
    };
    let mapping = EventSourceMapping {
        queue: queue.clone(),
        function: function.clone(),
        alias: alias.to_owned(),
        batch_size: unsigned(first.batch_size()).unwrap_or_default(),
        window: unsigned(first.maximum_batching_window_in_seconds()).unwrap_or_default(),
        maximum_concurrency: unsigned(first.scaling_config().and_then(ScalingConfig::maximum_concurrency)),
        report_batch_item_failures: first
            .function_response_types()
            .contains(&FunctionResponseType::ReportBatchItemFailures),
        // A mapping that is being set up or updated will be enabled.
        enabled: !matches!(first.state(), Some("Disabled" | "Disabling")),
        filters: filters(first),
        duplicates: others.iter().filter_map(|other| other.uuid().map(str::to_owned)).collect(),
    };
    Ok(Some((mapping, state)))
}

pub(super) async fn create(cloud: &Writing<'_>, mapping: &EventSourceMapping) -> Result<(), Fault> {
    let action = lambda::CREATE_EVENT_SOURCE_MAPPING;
    // Not every server refuses a second mapping, and one that is still being deleted blocks a new one.
    for other in list(cloud, &mapping.queue, &mapping.function, &mapping.alias).await? {
        match (other.state(), other.uuid()) {
            (Some("Deleting"), Some(uuid)) => gone(cloud, uuid).await?,
            _ => {
                let message = "the event source mapping already exists";
                return Err(Fault::new(FaultKind::Exists, action, message));
            }
        }
    }
    let EventSourceMapping {
        queue,
        function,
        alias,
        batch_size,
        window,
        maximum_concurrency,
        report_batch_item_failures: _, // in `response_types`
        enabled,
        filters: _,    // kibus sets none
        duplicates: _, // kibus creates none
    } = mapping;
    let call = cloud
        .lambda
        .create_event_source_mapping()
        .event_source_arn(cloud.scope.queue_arn(queue))
        .function_name(cloud.scope.alias_arn(function, alias))
        .batch_size(signed(*batch_size))
        .maximum_batching_window_in_seconds(signed(*window))
        .set_function_response_types(Some(response_types(mapping)))
        .set_scaling_config(maximum_concurrency.map(|_| scaling(mapping)))
        .enabled(*enabled);
    let made = cloud.seen(action, &[], || call.clone().send()).await?;
    let uuid = made.uuid.ok_or_else(|| rejected(action, "the answer holds no UUID"))?;
    in_force(cloud, &uuid, mapping.enabled).await
}

pub(super) async fn update(
    cloud: &Writing<'_>,
    Update { from, to: mapping, fields }: Update<'_, EventSourceMapping>,
) -> Result<(), Fault> {
    let action = lambda::UPDATE_EVENT_SOURCE_MAPPING;
    let theirs = list(cloud, &mapping.queue, &mapping.function, &mapping.alias).await?;
    let uuid = theirs.iter().filter_map(|found| found.uuid()).find(|uuid| !from.duplicates.iter().any(|d| d == uuid));
    let uuid = uuid.ok_or_else(|| Fault::new(FaultKind::Gone, action, "the event source mapping was deleted"))?;
    let fields = Changes::among(action, fields)?.fields;
    let is_setting = |field: &MappingField| match field {
        MappingField::BatchSize
        | MappingField::Window
        | MappingField::MaximumConcurrency
        | MappingField::ReportBatchItemFailures
        | MappingField::Enabled
        | MappingField::Filters => true,
        MappingField::Duplicates => false,
    };
    if fields.iter().any(is_setting) {
        let call = cloud
            .lambda
            .update_event_source_mapping()
            .uuid(uuid)
            .function_name(cloud.scope.alias_arn(&mapping.function, &mapping.alias))
            .batch_size(signed(mapping.batch_size))
            .maximum_batching_window_in_seconds(signed(mapping.window))
            .set_function_response_types(Some(response_types(mapping)))
            .scaling_config(scaling(mapping))
            // Without filters, every message passes.
            .filter_criteria(FilterCriteria::builder().build())
            .enabled(mapping.enabled);
        cloud.write(action, || call.clone().send()).await?;
        in_force(cloud, uuid, mapping.enabled).await?;
    }
    for duplicate in &from.duplicates {
        remove(cloud, duplicate).await?;
    }
    Ok(())
}

pub(super) async fn delete(
    cloud: &Writing<'_>,
    queue: &QueueName,
    function: &FunctionName,
    alias: &str,
) -> Result<(), Fault> {
    let found = list(cloud, queue, function, alias).await?;
    for uuid in found.iter().filter_map(|mapping| mapping.uuid()) {
        remove(cloud, uuid).await?;
    }
    Ok(())
}

/// All mappings of this queue to this alias, by UUID, with those that are being deleted.
async fn list(
    cloud: &AwsCloud,
    queue: &QueueName,
    function: &FunctionName,
    alias: &str,
) -> Result<Vec<EventSourceMappingConfiguration>, Fault> {
    let mut found = listed(cloud, Some(queue)).await?;
    let alias = cloud.scope.alias_arn(function, alias);
    found.retain(|mapping| mapping.function_arn() == Some(&alias));
    Ok(found)
}

/// All mappings of the router, its aliases and its versions, except those that are being deleted. Whether a list by
/// function name includes aliases and versions is not documented (Lambda API reference, "ListEventSourceMappings"), so
/// this lists all mappings in the Region, 100 per page.
pub(super) async fn of_router(cloud: &AwsCloud) -> Result<BTreeSet<FunctionMapping>, Fault> {
    let unqualified = cloud.scope.function_arn(&cloud.scope.router_function());
    let is_of_function = |target: &str| {
        let rest = target.strip_prefix(&unqualified);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    let mut found = listed(cloud, None).await?;
    found.retain(|mapping| mapping.state() != Some("Deleting") && mapping.function_arn().is_some_and(is_of_function));
    let mappings = found.into_iter().map(|mapping| FunctionMapping {
        source: mapping.event_source_arn.unwrap_or_default(),
        target: mapping.function_arn.unwrap_or_default(),
        uuid: mapping.uuid.unwrap_or_default(),
    });
    Ok(mappings.collect())
}

/// All mappings of a queue, or of the Region, by UUID.
async fn listed(cloud: &AwsCloud, queue: Option<&QueueName>) -> Result<Vec<EventSourceMappingConfiguration>, Fault> {
    let source = queue.map(|queue| cloud.scope.queue_arn(queue));
    let call = cloud.lambda.list_event_source_mappings().set_event_source_arn(source);
    let page = |marker| call.clone().set_marker(marker).send();
    let mut found = cloud.pages(LIST, page, |page| (page.event_source_mappings, page.next_marker)).await?;
    found.sort_by(|a, b| a.uuid().cmp(&b.uuid()));
    Ok(found)
}

async fn remove(cloud: &Writing<'_>, uuid: &str) -> Result<(), Fault> {
    let call = cloud.lambda.delete_event_source_mapping().uuid(uuid);
    let send = || call.clone().send();
    if cloud.remove(lambda::DELETE_EVENT_SOURCE_MAPPING, send).await? { gone(cloud, uuid).await } else { Ok(()) }
}

async fn gone(cloud: &Writing<'_>, uuid: &str) -> Result<(), Fault> {
    let read = || cloud.lambda.get_event_source_mapping().uuid(uuid).send();
    cloud.gone(GET, WaitReason::MappingLeaving, read).await
}

/// Waits until the mapping is in the wanted state; right after the call it may still be in the previous state, and a
/// new mapping may not be found (terraform-provider-aws, lambda/event_source_mapping.go).
async fn in_force(cloud: &Writing<'_>, uuid: &str, enabled: bool) -> Result<(), Fault> {
    let wanted = if enabled { "Enabled" } else { "Disabled" };
    retried(GET, &[], cloud.waiting, || async move {
        let call = cloud.lambda.get_event_source_mapping().uuid(uuid);
        Ok(match if_present(cloud.call(GET, || call.clone().send()).await)? {
            None => Err(WaitReason::MappingUnknown),
            Some(mapping) if mapping.state() == Some(wanted) => Ok(()),
            Some(_) => Err(WaitReason::MappingBusy),
        })
    })
    .await
}

/// The patterns of its filters, or the reason if their key cannot decrypt them.
fn filters(mapping: &EventSourceMappingConfiguration) -> BTreeSet<String> {
    let pattern = |filter: &aws_sdk_lambda::types::Filter| filter.pattern().unwrap_or_default().to_owned();
    let criteria = mapping.filter_criteria().map(FilterCriteria::filters);
    let unread = mapping.filter_criteria_error().map(|e| {
        let why = e.message().or(e.error_code()).unwrap_or("Lambda gives no reason");
        format!("cannot be read: {why}")
    });
    criteria.unwrap_or_default().iter().map(pattern).chain(unread).collect()
}

fn response_types(mapping: &EventSourceMapping) -> Vec<FunctionResponseType> {
    let reports = mapping.report_batch_item_failures;
    reports.then_some(FunctionResponseType::ReportBatchItemFailures).into_iter().collect()
}

/// An empty value removes the limit.
fn scaling(mapping: &EventSourceMapping) -> ScalingConfig {
    ScalingConfig::builder().set_maximum_concurrency(mapping.maximum_concurrency.map(signed)).build()
}
