//! The inline policies of a role, including those that kibus does not manage.

use serde_json::Value;

use crate::model::document::Document;

/// An inline policy as IAM has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinePolicy {
    /// Its name. It may break the rules that kibus has for names.
    pub name: String,
    /// The document, exactly as IAM stores it.
    pub text: String,
}

impl InlinePolicy {
    /// The document, if it can be parsed.
    pub fn document(&self) -> Option<Document> {
        Document::parse(&self.text).ok()
    }

    /// The document; one that cannot be parsed is kept as text, so that it differs from every desired one.
    pub fn document_or_text(&self) -> Document {
        self.document()
            .unwrap_or_else(|| Document::new(Value::String(self.text.clone())))
    }
}

/// The size of a document, in characters, as the quota counts it. IAM does not count white space (IAM user guide,
/// "IAM and STS character quotas").
pub fn space(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_takes_no_space() {
        for (text, taken) in [("", 0), ("{ \"a\":\n\t\"b\" }", 9), ("{\"ü\":1}", 7)] {
            assert_eq!(space(text), taken, "{text:?}");
        }
    }
}
