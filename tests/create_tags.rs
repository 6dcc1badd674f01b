//! `CreateTags` of EC2, which only the tests call.

use kibus::ec2::{Client, Ec2Error, Params};
use kibus::model::tags::Tags;

/// Adds tags to a resource.
pub(crate) async fn create_tags(client: &Client, id: &str, tags: &Tags) -> Result<(), Ec2Error> {
    let params = Params::new().with_list("ResourceId", [id]).with_tags("Tag", tags);
    client.call("CreateTags", &params).await.map(|_| ())
}
