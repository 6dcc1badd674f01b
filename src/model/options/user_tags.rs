//! The user's own tags, for all resources that take tags.

use std::collections::BTreeMap;

use super::define::{BadValue, Value};
use super::witness::or_none;
use crate::model::name::NameError;
use crate::model::tags::{NAMESPACE, OPTION, Tags};

/// Maximum length of a tag value.
const MEMORY: usize = 256;

/// The user's own tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserTags(BTreeMap<String, String>);

impl UserTags {
    /// Parses repeated `--tag KEY=VALUE`. `none` alone is an empty set.
    ///
    /// # Errors
    /// When a tag has no `=`, has a reserved prefix, or has a character that some service rejects; and when the keys do
    /// not fit into the tag that saves them.
    pub fn parse(given: &[String]) -> Result<Self, NameError> {
        if let [none] = given
            && none == "none"
        {
            return Ok(Self::default());
        }
        let refuse = |tag: &str| {
            let expected = "`KEY=VALUE` of letters, digits and `_.:/=+-@`, the value also with spaces; the key is up to \
                            128 long and does not begin with `kibus:` or `aws:`, the value up to 256";
            NameError::new("tag", tag, expected)
        };
        let valid = |text: &str, others: &str| text.chars().all(|c| c.is_alphanumeric() || others.contains(c));
        let mut tags = Self::default();
        for tag in given {
            let (key, value) = tag.split_once('=').ok_or_else(|| refuse(tag))?;
            let reserved = key.to_lowercase().starts_with("aws:") || key.starts_with(NAMESPACE);
            let fits = !key.is_empty() && key.chars().count() <= 128 && value.chars().count() <= 256;
            if !fits || reserved || !valid(key, "_.:/+-@") || !valid(value, "_.:/=+-@ ") {
                return Err(refuse(tag));
            }
            tags.0.insert(key.to_owned(), value.to_owned());
        }
        let keys = tags.memo();
        if keys.len() > MEMORY {
            let expected = "fewer or shorter keys: all of them together, with a space between, up to 256 long";
            return Err(NameError::new("set of tags", &keys, expected));
        }
        Ok(tags)
    }

    /// The tags for a resource.
    #[must_use]
    pub fn tags(&self) -> Tags {
        self.0.clone().into_iter().collect()
    }

    /// The tag that saves which tags are the user's, so that they can be removed later.
    #[must_use]
    pub fn memory(&self) -> Tags {
        Tags::default().with(format!("{OPTION}tag"), self.memo())
    }
}

impl Value for UserTags {
    fn given(words: &[String]) -> Result<Self, BadValue> {
        Ok(Self::parse(words)?)
    }

    fn words(&self) -> Vec<String> {
        or_none(self.0.iter().map(|(key, value)| format!("{key}={value}")))
    }

    fn recall(keys: &str, tags: &Tags) -> Result<Self, BadValue> {
        let tag = |key: &str| tags.get(key).map(|value| (key.to_owned(), value.to_owned()));
        Ok(Self(keys.split_whitespace().filter_map(tag).collect()))
    }

    /// The keys, separated by spaces. A key contains no space, and the values are in the tags themselves.
    fn memo(&self) -> String {
        self.0.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}
