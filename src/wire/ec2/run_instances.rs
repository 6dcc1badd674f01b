//! `RunInstances`: launches instances with their tags.

use roxmltree::Node;

use super::{Client, Ec2Error, Params, xml};
use crate::model::tags::Tags;

/// What to launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The image, like `ami-12345678`.
    pub image: String,
    /// The type, like `m5.large`.
    pub instance_type: String,
    /// How many; EC2 launches all of them or none.
    pub count: u32,
    pub tags: Tags,
}

/// Launches instances and gives their ids. It sends no client token, so a retry after a lost answer launches twice.
pub async fn run_instances(client: &Client, launch: &Launch) -> Result<Vec<String>, Ec2Error> {
    let Launch {
        image,
        instance_type,
        count,
        tags,
    } = launch;
    let mut params = Params::new()
        .with("ImageId", image)
        .with("InstanceType", instance_type)
        .with("MinCount", count.to_string())
        .with("MaxCount", count.to_string());
    if !tags.0.is_empty() {
        params = params
            .with("TagSpecification.1.ResourceType", "instance")
            .with_tags("TagSpecification.1.Tag", tags);
    }
    client.call("RunInstances", &params, read).await
}

fn read(answer: Node<'_, '_>) -> Result<Vec<String>, Ec2Error> {
    let ids = xml::items(answer, "instancesSet").filter_map(|instance| xml::text(instance, "instanceId"));
    Ok(ids.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_instances_only() {
        let answer = "<RunInstancesResponse><reservationId>r-1</reservationId><instancesSet>\
                      <item><instanceId>i-1</instanceId><monitoring><instanceId>no</instanceId></monitoring></item>\
                      <item><instanceId>i-2</instanceId></item></instancesSet></RunInstancesResponse>";
        assert_eq!(
            xml::read(answer, "RunInstancesResponse", read),
            Ok(vec!["i-1".to_owned(), "i-2".to_owned()])
        );
    }
}
