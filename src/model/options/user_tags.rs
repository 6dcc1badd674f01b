//! The user's own tags, for all resources that take tags.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use super::OrNone;
use crate::model::name::NameError;
use crate::model::tags::{NAMESPACE, Tags};

/// A tag as one types it: `KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserTag {
    pub key: String,
    pub value: String,
}

impl FromStr for UserTag {
    type Err = NameError;

    /// Refuses a tag without `=`, with a reserved prefix, or with a character that some service rejects.
    fn from_str(tag: &str) -> Result<Self, NameError> {
        let refuse = || {
            let expected = "`KEY=VALUE` of letters, digits and `_.:/=+-@`, the value also with spaces; the key is up to \
                            128 long and does not begin with `kibus:` or `aws:`, the value up to 256";
            NameError::new("tag", tag, expected)
        };
        let valid = |text: &str, others: &str| text.chars().all(|c| c.is_alphanumeric() || others.contains(c));
        let (key, value) = tag.split_once('=').ok_or_else(refuse)?;
        let reserved = key.to_lowercase().starts_with("aws:") || key.starts_with(NAMESPACE);
        let fits = !key.is_empty() && key.chars().count() <= 128 && value.chars().count() <= 256;
        if !fits || reserved || !valid(key, "_.:/+-@") || !valid(value, "_.:/=+-@ ") {
            return Err(refuse());
        }
        let (key, value) = (key.to_owned(), value.to_owned());
        Ok(Self { key, value })
    }
}

impl fmt::Display for UserTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// The user's own tags, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserTags(pub BTreeMap<String, String>);

impl UserTags {
    /// The tags that were typed. `none` adds none, and the last of a key counts.
    pub fn of(given: &[OrNone<UserTag>]) -> Self {
        let tags = given.iter().filter_map(|tag| tag.0.clone());
        Self(tags.map(|tag| (tag.key, tag.value)).collect())
    }

    /// The tags for a resource.
    pub fn tags(&self) -> Tags {
        self.0.clone().into_iter().collect()
    }

    /// As the option that gives these tags.
    pub fn given(&self) -> Vec<OrNone<UserTag>> {
        let tag = |(key, value): (&String, &String)| UserTag {
            key: key.clone(),
            value: value.clone(),
        };
        match self.0.is_empty() {
            true => vec![OrNone(None)],
            false => self.0.iter().map(|pair| OrNone(Some(tag(pair)))).collect(),
        }
    }
}

/// The tags as a map; `none` is an empty one.
pub(super) fn serialize<S: Serializer>(given: &Option<Vec<OrNone<UserTag>>>, to: S) -> Result<S::Ok, S::Error> {
    UserTags::of(given.as_deref().unwrap_or_default()).0.serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<OrNone<UserTag>>>, D::Error> {
    let tags = BTreeMap::<String, String>::deserialize(from)?;
    for (key, value) in &tags {
        format!("{key}={value}").parse::<UserTag>().map_err(D::Error::custom)?;
    }
    Ok(Some(UserTags(tags).given()))
}
