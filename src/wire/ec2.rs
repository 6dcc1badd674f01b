//! The calls to EC2 that kibus needs (API version 2016-11-15). The SDK's EC2 crate is not used: it can only be built as
//! a whole, which needs more memory than many machines have.

use std::collections::HashMap;

#[cfg(feature = "cli")]
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
use aws_types::SdkConfig;
use roxmltree::Node;

use super::query::{self, Param, QueryError, items, list, params, text};
#[cfg(feature = "cli")]
use super::query::{Unanswered, read_document};
use super::signed_call::{self, Service};
#[cfg(feature = "cli")]
use crate::model::Instance;
use crate::model::Tags;

const VERSION: &str = "2016-11-15";

const EC2: Service = Service::of("EC2", "ec2");

/// The maximum number of values in a filter (EC2 API reference, `DescribeTags`).
pub const MAX_IDS: usize = 200;

const PAGE: &str = "1000";

#[derive(Clone, Debug)]
pub struct Client(query::Client);

impl Client {
    /// A client of a configuration. Without a retry configuration it retries as the SDK's standard mode does.
    pub fn new(config: &SdkConfig) -> Self {
        Self(query::Client::of(config, EC2, VERSION))
    }

    /// A client for [`describe_instances`], with further interceptors and retry classifiers.
    #[cfg(feature = "cli")]
    pub fn of_instances(config: &SdkConfig, further: impl RuntimePlugin + 'static) -> Self {
        Self(query::Client::named(config, EC2, VERSION, "DescribeInstances", further))
    }

    /// Makes a call and reads the root element of the answer.
    pub async fn call<T>(
        &self,
        action: &str,
        params: &[Param],
        read: impl FnOnce(Node<'_, '_>) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        self.0.call(action, params, read).await
    }
}

pub fn endpoint(config: &SdkConfig) -> String {
    signed_call::endpoint(config, EC2)
}

/// The tags of at most [`MAX_IDS`] resources, from all pages; resources without tags are left out. `on_call` runs
/// before the request for each page, because every page counts as a call. An id that does not exist has no tags, which
/// is not an error. If a page cannot be read, there is no result at all.
pub async fn describe_tags(
    client: &Client,
    ids: &[&str],
    mut on_call: impl FnMut(),
) -> Result<HashMap<String, Tags>, QueryError> {
    let mut params = params(&[("Filter.1.Name", "resource-id"), ("MaxResults", PAGE)]);
    params.extend(list("Filter.1.Value", ids.iter().copied()));
    let first_page = params.len();
    let mut found = HashMap::new();
    loop {
        on_call();
        let read = |page: Node<'_, '_>| read_tags(page, &mut found);
        let Some(token) = client.call("DescribeTags", &params, read).await? else {
            return Ok(found);
        };
        params.truncate(first_page);
        params.push(("NextToken".to_owned(), token));
    }
}

/// The answer about the instances that this filter selects, which [`instances`] reads. `token` is the token of the page.
#[cfg(feature = "cli")]
pub async fn describe_instances(
    client: &Client,
    (filter, value): (&str, &str),
    token: Option<&str>,
) -> Result<String, Unanswered> {
    let mut params = params(&[("Filter.1.Name", filter), ("Filter.1.Value.1", value), ("MaxResults", PAGE)]);
    params.extend(token.map(|token| ("NextToken".to_owned(), token.to_owned())));
    client.0.send("DescribeInstances", &params).await
}

/// The instances in an answer, and the token of the next page.
#[cfg(feature = "cli")]
pub fn instances(answer: &str) -> Result<(Vec<Instance>, Option<String>), QueryError> {
    read_document(answer, "DescribeInstancesResponse", |page| {
        let all = items(page, "reservationSet").flat_map(|reservation| items(reservation, "instancesSet"));
        let token = text(page, "nextToken").map(str::to_owned);
        Ok((all.filter_map(instance).collect(), token))
    })
}

#[cfg(feature = "cli")]
fn instance(item: Node<'_, '_>) -> Option<Instance> {
    let of = |name: &str| text(item, name).unwrap_or_default().to_owned();
    let within = |element: &str, name: &str| {
        let found = items(item, element).find(|child| child.has_tag_name(name));
        found.and_then(|child| child.text()).unwrap_or_default().to_owned()
    };
    let tag = |tag| Some((text(tag, "key")?.to_owned(), text(tag, "value")?.to_owned()));
    Some(Instance {
        id: text(item, "instanceId")?.parse().ok()?,
        host: of("privateDnsName"),
        instance_type: of("instanceType"),
        zone: within("placement", "availabilityZone"),
        state: within("instanceState", "name"),
        is_spot: of("instanceLifecycle") == "spot",
        launched: of("launchTime"),
        tags: items(item, "tagSet").filter_map(tag).collect(),
    })
}

/// Adds the tags of a page, and gives the token of the next page if there is one.
fn read_tags(answer: Node<'_, '_>, found: &mut HashMap<String, Tags>) -> Result<Option<String>, QueryError> {
    for item in items(answer, "tagSet") {
        let (Some(id), Some(key)) = (text(item, "resourceId"), text(item, "key")) else {
            return Err(QueryError::Unreadable("a tag without a resource or a key".to_owned()));
        };
        let value = text(item, "value").unwrap_or_default();
        let tags = found.entry(id.to_owned()).or_default();
        tags.0.insert(key.to_owned(), value.to_owned());
    }
    let token = text(answer, "nextToken").filter(|token| !token.is_empty());
    Ok(token.map(str::to_owned))
}

#[cfg(test)]
mod tests;
