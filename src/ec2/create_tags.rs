//! `CreateTags`: adds tags to resources, or replaces those with the same keys.

use super::{Client, Ec2Error, Params};
use crate::model::tags::Tags;

/// Adds these tags to each of these resources.
///
/// # Errors
/// When EC2 refuses or does not answer.
pub async fn create_tags(client: &Client, ids: &[&str], tags: &Tags) -> Result<(), Ec2Error> {
    let params = Params::new()
        .with_list("ResourceId", ids.iter().copied())
        .with_tags("Tag", tags);
    client.call("CreateTags", &params).await.map(|_| ())
}
