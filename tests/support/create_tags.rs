//! `CreateTags` of EC2, which only the tests call.

use kibus::model::Tags;
use kibus::wire::ec2::Client;
use kibus::wire::query::{QueryError, list};

/// Adds tags to a resource.
pub(crate) async fn create_tags(client: &Client, id: &str, tags: &Tags) -> Result<(), QueryError> {
    let params: Vec<_> = list("ResourceId", [id]).chain(list_of_tags("Tag", tags)).collect();
    client.call("CreateTags", &params, |_| Ok(())).await
}

/// Tags as parameters: `key.1.Key`, `key.1.Value` and so on.
pub(crate) fn list_of_tags(key: &str, tags: &Tags) -> impl Iterator<Item = (String, String)> {
    tags.0.iter().zip(1..).flat_map(move |((name, value), n)| {
        let param = |part: &str, text: &String| (format!("{key}.{n}.{part}"), text.clone());
        [param("Key", name), param("Value", value)]
    })
}
