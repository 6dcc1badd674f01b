//! The user's own tags for all resources that have tags.

use std::collections::BTreeMap;

use super::saved::memo;
use crate::model::name::NameError;
use crate::model::tags::{NAMESPACE, Tags};

/// The longest value of a tag, in bytes.
const MEMORY: usize = 256;

/// The user's own tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserTags(BTreeMap<String, String>);

impl UserTags {
    /// Checks the tags of repeated `--tag K=V`; `none` alone means no tags.
    ///
    /// # Errors
    /// When one has no `=`, begins with a reserved prefix, or has a character that a service does not accept; and when
    /// there are more keys than one tag can save.
    pub fn parse(given: &[String]) -> Result<Self, NameError> {
        if let [none] = given
            && none == "none"
        {
            return Ok(Self::default());
        }
        let refuse = |value: &str| NameError {
            kind: "tag",
            value: value.to_owned(),
            expected: "`KEY=VALUE` of letters, digits and `_.:/=+-@`, the value also with spaces; the key is up to 128 \
                       long and does not begin with `kibus:` or `aws:`, the value up to 256",
        };
        let valid = |text: &str, others: &str| text.chars().all(|c| c.is_alphanumeric() || others.contains(c));
        given
            .iter()
            .map(|tag| {
                let (key, value) = tag.split_once('=').ok_or_else(|| refuse(tag))?;
                let reserved = key.to_lowercase().starts_with("aws:") || key.starts_with(NAMESPACE);
                let fits = !key.is_empty() && key.chars().count() <= 128 && value.chars().count() <= 256;
                if fits && !reserved && valid(key, "_.:/+-@") && valid(value, "_.:/=+-@ ") {
                    Ok((key.to_owned(), value.to_owned()))
                } else {
                    Err(refuse(tag))
                }
            })
            .collect::<Result<_, _>>()
            .map(Self)
            .and_then(|tags| match tags.keys() {
                keys if keys.len() <= MEMORY => Ok(tags),
                keys => Err(NameError {
                    kind: "set of tags",
                    value: keys,
                    expected: "fewer or shorter keys: all of them together, with a space between, up to 256 long",
                }),
            })
    }

    /// These, as tags to put on a resource.
    #[must_use]
    pub fn tags(&self) -> Tags {
        self.0.clone().into_iter().collect()
    }

    /// The keys, as a tag saves them, separated by spaces. A key has no space.
    pub(super) fn keys(&self) -> String {
        self.0.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// The tag that saves which tags of a resource are the user's, so that they can be removed later.
    #[must_use]
    pub fn memory(&self) -> Tags {
        memo("tag", Some(self.keys())).into_iter().collect()
    }
    pub(super) fn saved(keys: &str, tags: &Tags) -> Self {
        let tag = |key: &str| tags.get(key).map(|value| (key.to_owned(), value.to_owned()));
        Self(keys.split_whitespace().filter_map(tag).collect())
    }
}
