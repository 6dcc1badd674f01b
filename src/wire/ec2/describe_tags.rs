//! `DescribeTags`: the tags of resources. An id that does not exist has no tags; it is not an error.

use std::collections::HashMap;

use aws_smithy_xml::decode::Document;

use super::{Client, Ec2Error, Params, xml};
use crate::model::tags::Tags;

/// How many values a filter takes (EC2 API reference, `DescribeTags`).
pub const MAX_IDS: usize = 200;
/// How many tags a page has at most.
const PAGE: &str = "1000";

/// The tags of those of at most [`MAX_IDS`] resources that have any, from all pages. `on_call` runs before the request of
/// each page, because every page counts as a call.
///
/// # Errors
/// When a page cannot be read; then there is no result at all.
pub async fn describe_tags(
    client: &Client,
    ids: &[&str],
    mut on_call: impl FnMut(),
) -> Result<HashMap<String, Tags>, Ec2Error> {
    let base = Params::new()
        .with("Filter.1.Name", "resource-id")
        .with_list("Filter.1.Value", ids.iter().copied())
        .with("MaxResults", PAGE);
    let mut found = HashMap::new();
    let mut token: Option<String> = None;
    loop {
        let params = match token {
            Some(token) => base.clone().with("NextToken", token),
            None => base.clone(),
        };
        on_call();
        token = read(&client.call("DescribeTags", &params).await?, &mut found)?;
        if token.is_none() {
            return Ok(found);
        }
    }
}

/// Adds the tags of a page, and gives the token of the next page if there is one.
fn read(answer: &str, found: &mut HashMap<String, Tags>) -> Result<Option<String>, Ec2Error> {
    let mut token = None;
    let mut document = Document::new(answer);
    let mut root = document.root_element()?;
    while let Some(mut element) = root.next_tag() {
        if element.start_el().matches("nextToken") {
            token = Some(xml::text(&mut element)?);
        } else if element.start_el().matches("tagSet") {
            while let Some(mut item) = element.next_tag() {
                let (mut id, mut key, mut value) = (None, None, String::new());
                while let Some(mut field) = item.next_tag() {
                    if field.start_el().matches("resourceId") {
                        id = Some(xml::text(&mut field)?);
                    } else if field.start_el().matches("key") {
                        key = Some(xml::text(&mut field)?);
                    } else if field.start_el().matches("value") {
                        value = xml::text(&mut field)?;
                    }
                }
                let (Some(id), Some(key)) = (id, key) else {
                    return Err(Ec2Error::Unreadable("a tag without a resource or a key".to_owned()));
                };
                found.entry(id).or_default().0.insert(key, value);
            }
        }
    }
    Ok(token.filter(|token| !token.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(inside: &str) -> String {
        format!(
            "<DescribeTagsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>x</requestId>{inside}</DescribeTagsResponse>"
        )
    }

    fn item(id: &str, key: &str, value: &str) -> String {
        format!(
            "<item><resourceId>{id}</resourceId><resourceType>instance</resourceType><key>{key}</key>{value}</item>"
        )
    }

    #[test]
    fn pages_add_up() {
        let mut found = HashMap::new();
        let first = page(&format!(
            "<tagSet>{}{}</tagSet><nextToken>more</nextToken>",
            item("i-1", "a", "<value>1</value>"),
            item("i-2", "b&amp;c", "<value/>")
        ));
        assert_eq!(read(&first, &mut found), Ok(Some("more".to_owned())));
        let last = page(&format!("<tagSet>{}</tagSet><nextToken/>", item("i-1", "d", "")));
        assert_eq!(read(&last, &mut found), Ok(None));
        assert_eq!(
            found,
            HashMap::from([
                ("i-1".to_owned(), Tags::default().with("a", "1").with("d", "")),
                ("i-2".to_owned(), Tags::default().with("b&c", "")),
            ])
        );
    }

    #[test]
    fn no_tags_are_not_an_error() {
        for inside in ["<tagSet/>", "<tagSet></tagSet>", ""] {
            let mut found = HashMap::new();
            assert_eq!(read(&page(inside), &mut found), Ok(None), "{inside}");
            assert!(found.is_empty());
        }
    }

    #[test]
    fn a_tag_without_a_resource_is_an_error() {
        let broken = page("<tagSet><item><key>a</key></item></tagSet>");
        assert!(read(&broken, &mut HashMap::new()).is_err());
    }
}
