//! The settings of a hub: the content of its parameter in Parameter Store. Nothing else decides what the next
//! `bootstrap-hub` creates. This file also has what all parameter documents share: a format number, and members of a
//! newer kibus, which are kept.

use std::collections::{BTreeMap, BTreeSet};

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::name::KmsKey;
use super::notation::time_text;
use super::options::{HubOptions, tag_option};

/// The number of the form of the documents that this kibus writes and reads. The number increases only for a form that
/// an older kibus would misread, not for new members.
const FORMAT: u64 = 1;

/// The longest value of a parameter of the standard tier, in characters (Systems Manager API reference, `PutParameter`).
pub const LONGEST: usize = 4_096;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Settings {
    pub options: HubOptions,
    /// The version of the function that a rollback keeps live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_version: Option<u64>,
    /// The former keys of the queues, each with the time until which the policies allow it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub old_keys: BTreeMap<KmsKey, Moment>,
    /// When the hub was created, by AWS's clock. An older hub queue was prepared by someone else.
    pub since: Moment,
    /// Members that this kibus does not know. They are kept.
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// A point in time, in seconds of the Unix epoch; a text like `2026-12-08T17:00:00Z` in a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Moment(pub u64);

impl From<Moment> for String {
    fn from(moment: Moment) -> Self {
        time_text(i64::try_from(moment.0).unwrap_or(i64::MAX / 1000).saturating_mul(1000))
    }
}

impl TryFrom<String> for Moment {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let time = DateTime::from_str(&text, Format::DateTime).ok();
        let seconds = time.and_then(|time| u64::try_from(time.secs()).ok());
        seconds.map(Self).ok_or_else(|| format!("`{text}` is not a time"))
    }
}

/// Why the document of a parameter cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDocument {
    #[error("its document has format {0}, and this kibus reads format {FORMAT}")]
    Future(u64),
    #[error("its document is damaged: {0}")]
    Damaged(String),
}

impl BadDocument {
    pub(super) fn damaged(why: &impl ToString) -> Self {
        Self::Damaged(why.to_string().escape_debug().to_string())
    }
}

/// Reads the document of a parameter, without its format number.
pub(super) fn read_document<T: DeserializeOwned>(text: &str) -> Result<T, BadDocument> {
    let mut document: Value = serde_json::from_str(text).map_err(|e| BadDocument::damaged(&e))?;
    let format = document.as_object_mut().and_then(|members| members.remove("format"));
    match format.as_ref().and_then(Value::as_u64) {
        Some(FORMAT) => serde_json::from_value(document).map_err(|e| BadDocument::damaged(&e)),
        Some(future) if future > FORMAT => Err(BadDocument::Future(future)),
        _ => Err(BadDocument::damaged(&"it has no format number of kibus")),
    }
}

/// The document of a parameter as text, with the format number.
pub(super) fn document_text(content: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Formatted<'a, T> {
        format: u64,
        #[serde(flatten)]
        content: &'a T,
    }
    // Keys are text and values are plain, so there is always a document.
    serde_json::to_string(&Formatted { format: FORMAT, content }).unwrap_or_default()
}

impl Settings {
    pub fn from_document(text: &str) -> Result<Self, BadDocument> {
        read_document(text)
    }

    pub fn document(&self) -> String {
        document_text(self)
    }

    /// The names of the members that this kibus does not know.
    pub fn unknown(&self) -> impl Iterator<Item = &String> {
        self.unknown.keys().chain(self.options.unknown.keys())
    }

    /// The keys that the policies still allow besides the key of the queues.
    pub fn old_keys(&self) -> BTreeSet<KmsKey> {
        self.old_keys.keys().cloned().collect()
    }

    /// These settings with the parts that a change removes last: user tags stay until no resource has them, old keys
    /// until no policy allows them, a pinned version until the alias has moved, and an optional part until it is
    /// deleted.
    pub fn while_leaving(&self, before: &Self) -> Self {
        let mut kept = self.clone();
        let tags = self.options.tags();
        let all = before.options.tags().with_all(&tags);
        if all != tags {
            kept.options.tag = Some(tag_option(all));
        }
        kept.options = kept.options.with_parts_of(&before.options);
        kept.pinned_version = self.pinned_version.or(before.pinned_version);
        for (key, until) in &before.old_keys {
            kept.old_keys.entry(key.clone()).or_insert(*until);
        }
        kept
    }
}

impl From<HubOptions> for Settings {
    fn from(options: HubOptions) -> Self {
        Self { options, ..Self::default() }
    }
}

#[cfg(test)]
mod tests;
