//! A resource taken apart into fields, which is what a plan compares and shows.

use std::collections::BTreeSet;

use super::document::Document;
use super::resource::Code;

/// One setting of a resource under a dotted path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where it stands, like `redrive.max_receives`.
    pub path: String,
    /// What it is set to.
    pub value: FieldValue,
}

/// What a field can be set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// Not set at all.
    Unset,
    /// Text.
    Text(String),
    /// A number; the path says of what.
    Number(u64),
    /// On or off.
    Flag(bool),
    /// Several texts without order; none at all is [`FieldValue::Unset`].
    List(BTreeSet<String>),
    /// A policy or a pattern.
    Document(Document),
    /// The function's code.
    Code(Code),
}

impl FieldValue {
    /// Whether the observed value needs no change to be the wanted one.
    #[must_use]
    pub fn satisfied_by(&self, observed: &Self) -> bool {
        match (self, observed) {
            (Self::Code(wanted), Self::Code(observed)) => wanted.satisfied_by(observed),
            _ => self == observed,
        }
    }
}

/// Makes a field; `value` may be an `Option`, where nothing means not set.
pub(super) fn field(path: impl Into<String>, value: impl Into<FieldValue>) -> Field {
    Field {
        path: path.into(),
        value: value.into(),
    }
}

impl From<&str> for FieldValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for FieldValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u32> for FieldValue {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<bool> for FieldValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<Document> for FieldValue {
    fn from(document: Document) -> Self {
        Self::Document(document)
    }
}

impl From<BTreeSet<String>> for FieldValue {
    fn from(list: BTreeSet<String>) -> Self {
        if list.is_empty() { Self::Unset } else { Self::List(list) }
    }
}

impl From<Code> for FieldValue {
    fn from(code: Code) -> Self {
        Self::Code(code)
    }
}

impl<T: Into<Self>> From<Option<T>> for FieldValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unset, Into::into)
    }
}
