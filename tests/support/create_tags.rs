//! `CreateTags` of EC2, which only the tests call.

use kibus::model::Tags;
use kibus::wire::ec2::{Client, list_of_tags};
use kibus::wire::query::{QueryError, list};

/// Adds tags to a resource.
pub(crate) async fn create_tags(client: &Client, id: &str, tags: &Tags) -> Result<(), QueryError> {
    let params: Vec<_> = list("ResourceId", [id]).chain(list_of_tags("Tag", tags)).collect();
    client.call("CreateTags", &params, |_| Ok(())).await
}
