//! `RunInstances`: launches instances with their tags.

use aws_smithy_xml::decode::Document;

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
    /// Their tags.
    pub tags: Tags,
}

/// Launches instances and gives their ids. It sends no client token, so a retry after a lost answer launches twice.
///
/// # Errors
/// When EC2 refuses or does not answer.
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
    read(&client.call("RunInstances", &params).await?)
}

fn read(answer: &str) -> Result<Vec<String>, Ec2Error> {
    let mut ids = Vec::new();
    let mut document = Document::new(answer);
    let mut root = document.root_element()?;
    while let Some(mut element) = root.next_tag() {
        if !element.start_el().matches("instancesSet") {
            continue;
        }
        while let Some(mut instance) = element.next_tag() {
            while let Some(mut field) = instance.next_tag() {
                if field.start_el().matches("instanceId") {
                    ids.push(xml::text(&mut field)?);
                }
            }
        }
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_instances_only() {
        let answer = "<RunInstancesResponse><reservationId>r-1</reservationId><instancesSet>\
                      <item><instanceId>i-1</instanceId><monitoring><instanceId>no</instanceId></monitoring></item>\
                      <item><instanceId>i-2</instanceId></item></instancesSet></RunInstancesResponse>";
        assert_eq!(read(answer), Ok(vec!["i-1".to_owned(), "i-2".to_owned()]));
    }
}
