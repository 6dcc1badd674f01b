//! `CreateTags` of EC2, which only the tests call.

use kibus::model::Tags;
use kibus::wire::ec2::{Client, Ec2Error, list, list_of_tags};

/// Adds tags to a resource.
pub(crate) async fn create_tags(client: &Client, id: &str, tags: &Tags) -> Result<(), Ec2Error> {
    let params: Vec<_> = list("ResourceId", [id]).chain(list_of_tags("Tag", tags)).collect();
    client.call("CreateTags", &params, |_| Ok(())).await
}
