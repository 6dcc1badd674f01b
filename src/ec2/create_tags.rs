//! `CreateTags`: puts tags on resources, over those of the same keys.

use super::{Client, Error, Params};
use crate::model::tags::Tags;

/// Puts these tags on each of these resources.
///
/// # Errors
/// When EC2 refuses or does not answer.
pub async fn create_tags(client: &Client, ids: &[&str], tags: &Tags) -> Result<(), Error> {
    let params = Params::new()
        .with_list("ResourceId", ids.iter().copied())
        .with_tags("Tag", tags);
    client.call("CreateTags", &params).await.map(|_| ())
}
