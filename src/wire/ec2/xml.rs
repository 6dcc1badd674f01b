//! Reading EC2's XML.

use aws_smithy_types::error::metadata::ErrorMetadata;
use aws_smithy_xml::decode::{Document, ScopedDecoder, XmlDecodeError, try_data};

use super::Ec2Error;

impl From<XmlDecodeError> for Ec2Error {
    fn from(e: XmlDecodeError) -> Self {
        Self::Unreadable(e.to_string())
    }
}

/// Checks that a text is one complete document with this root. The decoder itself ends silently where a text is cut
/// off, and half a list of tags must not look complete.
pub(super) fn whole(xml: &str, root: &str) -> Result<(), Ec2Error> {
    let mut last = None;
    for token in Document::new(xml) {
        last = Some(token?.1);
    }
    let mut document = Document::new(xml);
    match document.next_start_element() {
        Some(element) if element.local() == root && last == Some(0) => Ok(()),
        Some(element) if last == Some(0) => Err(Ec2Error::Unreadable(format!(
            "`{}` where `{root}` was expected",
            element.local()
        ))),
        _ => Err(Ec2Error::Unreadable("the document is cut off".to_owned())),
    }
}

/// The text of an element.
pub(super) fn text(element: &mut ScopedDecoder<'_, '_>) -> Result<String, Ec2Error> {
    Ok(try_data(element)?.into_owned())
}

/// The code and the message of an error document: `<Response><Errors><Error><Code/><Message/>`, the first of
/// each in the document.
pub(super) fn error(xml: &str) -> ErrorMetadata {
    let mut metadata = ErrorMetadata::builder();
    let (mut code, mut message) = (false, false);
    let mut document = Document::new(xml);
    while let Some(element) = document.next_start_element() {
        let is_code = element.matches("Code") && !code;
        let is_message = element.matches("Message") && !message;
        if !is_code && !is_message {
            continue;
        }
        let Ok(text) = try_data(&mut document.scoped_to(element)) else {
            continue;
        };
        if is_code {
            code = true;
            metadata = metadata.code(text);
        } else {
            message = true;
            metadata = metadata.message(text);
        }
    }
    metadata.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_document_is_an_error() {
        for (xml, ok) in [
            ("<A><b>x</b></A>", true),
            ("<?xml version=\"1.0\"?>\n<A/>\n", true),
            ("<A><b>x</b>", false),
            ("<A><b>x</b></A", false),
            ("<B/>", false),
            ("", false),
            ("{\"not\": \"XML\"}", false),
        ] {
            assert_eq!(whole(xml, "A").is_ok(), ok, "{xml}");
        }
    }

    #[test]
    fn an_error_document_has_a_code_and_a_message() {
        let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error>\
                   <Code>RequestLimitExceeded</Code><Message>Request limit &lt;exceeded&gt;.</Message></Error>\
                   </Errors><RequestID>x</RequestID></Response>";
        let metadata = error(xml);
        assert_eq!(metadata.code(), Some("RequestLimitExceeded"));
        assert_eq!(metadata.message(), Some("Request limit <exceeded>."));
        for none in ["", "<html><body>503</body></html>", "no XML", "<Response><Code"] {
            assert_eq!(error(none).code(), None, "{none}");
        }
    }
}
