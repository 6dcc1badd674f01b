//! Reading EC2's XML.

use roxmltree::{Document, Node};

use super::Ec2Error;

/// Reads a document with this root. A text that is cut off is no document: half a list of tags must not look complete.
pub(super) fn read<T>(
    xml: &str,
    root: &str,
    read: impl FnOnce(Node<'_, '_>) -> Result<T, Ec2Error>,
) -> Result<T, Ec2Error> {
    let document = Document::parse(xml).map_err(|e| Ec2Error::Unreadable(e.to_string()))?;
    let element = document.root_element();
    if !element.has_tag_name(root) {
        let name = element.tag_name().name();
        return Err(Ec2Error::Unreadable(format!("`{name}` where `{root}` was expected")));
    }
    read(element)
}

/// The elements of every list of this name in an element.
pub(super) fn items<'a>(element: Node<'a, 'a>, list: &str) -> impl Iterator<Item = Node<'a, 'a>> {
    let lists = element.children().filter(move |child| child.has_tag_name(list));
    lists.flat_map(|list| list.children()).filter(Node::is_element)
}

/// The text of the first element of this name in an element; `None` if there is no such element.
pub(super) fn text<'a>(element: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let child = element.children().find(|child| child.has_tag_name(name))?;
    Some(child.text().unwrap_or_default())
}

/// The code and the message of an error document: `<Response><Errors><Error><Code/><Message/>`, the first of each in the
/// document.
pub(super) fn error(xml: &str) -> [Option<String>; 2] {
    let document = Document::parse(xml).ok();
    ["Code", "Message"].map(|name| {
        let mut elements = document.as_ref()?.descendants();
        let text = elements.find(|element| element.has_tag_name(name))?.text()?;
        Some(text.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_document_is_an_error() {
        for (xml, ok) in [
            ("<A><b>x</b></A>", true),
            ("<?xml version=\"1.0\"?>\n<A/>\n", true),
            ("<A xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"/>", true),
            ("<A><b>x</b>", false),
            ("<A><b>x</b></A", false),
            ("<A/><A/>", false),
            ("<!DOCTYPE A [<!ENTITY x \"x\">]><A>&x;</A>", false),
            ("<B/>", false),
            ("", false),
            ("{\"not\": \"XML\"}", false),
        ] {
            assert_eq!(read(xml, "A", |_| Ok(())).is_ok(), ok, "{xml}");
        }
    }

    #[test]
    fn an_error_document_has_a_code_and_a_message() {
        let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error>\
                   <Code>RequestLimitExceeded</Code><Message>Request limit &lt;exceeded&gt;.</Message></Error>\
                   </Errors><RequestID>x</RequestID></Response>";
        let [code, message] = error(xml);
        assert_eq!(code.as_deref(), Some("RequestLimitExceeded"));
        assert_eq!(message.as_deref(), Some("Request limit <exceeded>."));
        for none in ["", "<html><body>503</body></html>", "no XML", "<Response><Code"] {
            assert_eq!(error(none), [None, None], "{none}");
        }
    }
}
