//! The tagging API: queues by their tags.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{AwsCloud, pages};
use crate::cloud::Fault;
use crate::model::resource::calls::tag;

/// A page of `GetResources`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    resource_tag_mapping_list: Option<Vec<TaggedQueue>>,
    pagination_token: Option<String>,
}

/// A queue.
#[derive(Debug, Deserialize)]
pub(super) struct TaggedQueue {
    #[serde(rename = "ResourceARN")]
    pub(super) arn: Option<String>,
}

/// The queues that have all of these tags. A tag without a value stands for every value.
pub(super) async fn queues(cloud: &AwsCloud, tags: &[(&str, Option<&str>)]) -> Result<Vec<TaggedQueue>, Fault> {
    let filters: Vec<Value> = tags
        .iter()
        .map(|(key, value)| match value {
            Some(value) => json!({ "Key": key, "Values": [value] }),
            None => json!({ "Key": key }),
        })
        .collect();
    let page = |token: Option<String>| {
        let input = json!({ "ResourceTypeFilters": ["sqs"], "TagFilters": filters, "PaginationToken": token });
        async {
            let page = cloud.tagging.call::<Page>("GetResources", input).await;
            page.map(|page| (page.resource_tag_mapping_list, page.pagination_token))
        }
    };
    pages::all(cloud, tag::GET_RESOURCES, page).await
}
