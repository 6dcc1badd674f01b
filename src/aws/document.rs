//! Documents as AWS returns them.

use serde_json::Value;

use crate::model::Document;

/// Parses a document. Text that is not JSON becomes a JSON string, so that it differs from every document.
pub(super) fn read(text: &str) -> Document {
    Document::parse(text).unwrap_or_else(|_| Document::new(Value::String(text.to_owned())))
}

/// Parses a document of IAM, which percent-encodes its documents (RFC 3986).
pub(super) fn read_encoded(text: &str) -> Document {
    read(&decoded(text))
}

pub(super) fn decoded(text: &str) -> String {
    String::from_utf8_lossy(&urlencoding::decode_binary(text.as_bytes())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_decoded_once() {
        for (encoded, text) in [
            ("%7B%22a%22%3A%20%22b%22%7D", r#"{"a": "b"}"#),
            ("%22%C3%BC%22", "\"ü\""),
            ("%22100%2525%22", "\"100%25\""),
            ("\"a+b\"", "\"a+b\""),
            ("\"%zz%\"", "\"%zz%\""),
            ("%", "%"),
        ] {
            assert_eq!(decoded(encoded), text);
        }
    }

    #[test]
    fn invalid_json_is_kept_as_text() {
        assert_eq!(read("{"), Document::new(Value::String("{".to_owned())));
        assert_ne!(read("{"), read("{}"));
    }
}
