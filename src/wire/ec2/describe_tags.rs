//! `DescribeTags`: the tags of resources. An id that does not exist has no tags; it is not an error.

use std::collections::HashMap;

use roxmltree::Node;

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
        token = client
            .call("DescribeTags", &params, |page| read(page, &mut found))
            .await?;
        if token.is_none() {
            return Ok(found);
        }
    }
}

/// Adds the tags of a page, and gives the token of the next page if there is one.
fn read(answer: Node<'_, '_>, found: &mut HashMap<String, Tags>) -> Result<Option<String>, Ec2Error> {
    for item in xml::items(answer, "tagSet") {
        let (Some(id), Some(key)) = (xml::text(item, "resourceId"), xml::text(item, "key")) else {
            return Err(Ec2Error::Unreadable("a tag without a resource or a key".to_owned()));
        };
        let value = xml::text(item, "value").unwrap_or_default();
        let tags = found.entry(id.to_owned()).or_default();
        tags.0.insert(key.to_owned(), value.to_owned());
    }
    let token = xml::text(answer, "nextToken").filter(|token| !token.is_empty());
    Ok(token.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_page(inside: &str, found: &mut HashMap<String, Tags>) -> Result<Option<String>, Ec2Error> {
        let xmlns = "http://ec2.amazonaws.com/doc/2016-11-15/";
        let page = format!("<Answer xmlns=\"{xmlns}\"><requestId>x</requestId>{inside}</Answer>");
        xml::read(&page, "Answer", |page| read(page, found))
    }

    fn item(id: &str, key: &str, value: &str) -> String {
        format!(
            "<item><resourceId>{id}</resourceId><resourceType>instance</resourceType><key>{key}</key>{value}</item>"
        )
    }

    #[test]
    fn pages_add_up() {
        let mut found = HashMap::new();
        let first = format!(
            "<tagSet>{}{}</tagSet><nextToken>more</nextToken>",
            item("i-1", "a", "<value>1</value>"),
            item("i-2", "b&amp;c", "<value/>")
        );
        assert_eq!(read_page(&first, &mut found), Ok(Some("more".to_owned())));
        let last = format!("<tagSet>{}</tagSet><nextToken/>", item("i-1", "d", ""));
        assert_eq!(read_page(&last, &mut found), Ok(None));
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
            assert_eq!(read_page(inside, &mut found), Ok(None), "{inside}");
            assert!(found.is_empty());
        }
    }

    #[test]
    fn a_tag_without_a_resource_is_an_error() {
        let broken = "<tagSet><item><key>a</key></item></tagSet>";
        assert!(read_page(broken, &mut HashMap::new()).is_err());
    }
}
