//! `CreateTags` of EC2, which only the tests call.

use kibus::model::tags::Tags;
use kibus::wire::ec2::{Client, Ec2Error, Params};

/// Adds tags to a resource.
pub(crate) async fn create_tags(client: &Client, id: &str, tags: &Tags) -> Result<(), Ec2Error> {
    let params = Params::new().with_list("ResourceId", [id]).with_tags("Tag", tags);
    client.call("CreateTags", &params, |_| Ok(())).await
}
