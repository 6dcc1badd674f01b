//! Behaviors of the tagging API.

use serde_json::Value;

use super::At;
use super::Behavior::T1;
use super::reply::Reply;

/// The answer without new queues, and with deleted ones.
pub(super) fn after(at: &At<'_>, reply: &mut Reply) {
    if at.call.operation != "GetResources" || !at.is_on(T1) || !reply.status.is_success() {
        return;
    }
    let mut body = reply.json();
    let Some(list) = body["ResourceTagMappingList"].as_array_mut() else {
        return;
    };
    let sqs = &at.like.0.sqs;
    list.retain(|found| {
        let arn = found["ResourceARN"].as_str().unwrap_or_default();
        let queue = arn.rsplit(':').next().unwrap_or_default();
        !(arn.contains(":sqs:") && at.strikes_since(T1, sqs.created(&at.call.key(queue))))
    });
    let kinds = at.call.json["ResourceTypeFilters"].as_array();
    let has_queues =
        kinds.is_none_or(|kinds| kinds.iter().any(|kind| kind.as_str().is_some_and(|kind| kind.starts_with("sqs"))));
    for deleted in sqs.deleted_mappings(at) {
        let is_new = !list.iter().any(|found| found["ResourceARN"] == deleted["ResourceARN"]);
        if has_queues && is_new && matches(&deleted, &at.call.json["TagFilters"]) {
            at.strike(T1);
            list.push(deleted);
        }
    }
    reply.set_json(&body);
}

fn matches(resource: &Value, filters: &Value) -> bool {
    let has = |filter: &Value| {
        let values = filter["Values"].as_array().filter(|values| !values.is_empty());
        let tags = resource["Tags"].as_array().into_iter().flatten();
        tags.clone()
            .any(|tag| tag["Key"] == filter["Key"] && values.is_none_or(|values| values.contains(&tag["Value"])))
    };
    filters.as_array().into_iter().flatten().all(has)
}
