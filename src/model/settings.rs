//! The settings of a hub: what its parameter in Parameter Store holds. Nothing else decides what the next `bootstrap-hub`
//! makes.

use std::collections::{BTreeMap, BTreeSet};

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::name::KmsKey;
use super::notation::time_text;
use super::options::{HubOptions, tag_option};

/// The number of the form of the document that this kibus writes and reads.
const FORMAT: u64 = 1;

/// The longest value of a parameter of the standard tier, in characters (Systems Manager API reference, `PutParameter`).
pub const LONGEST: usize = 4_096;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    pub options: HubOptions,
    /// The version of the function that a rollback keeps live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_version: Option<u64>,
    /// The keys that the queues had before, each with the time until which the policies allow it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub old_keys: BTreeMap<KmsKey, Until>,
}

/// A point in time, in seconds of the Unix epoch; a text like `2026-12-08T17:00:00Z` in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Until(pub u64);

impl From<Until> for String {
    fn from(until: Until) -> Self {
        time_text(i64::try_from(until.0).unwrap_or(i64::MAX / 1000).saturating_mul(1000))
    }
}

impl TryFrom<String> for Until {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let time = DateTime::from_str(&text, Format::DateTime).ok();
        let seconds = time.and_then(|time| u64::try_from(time.secs()).ok());
        seconds.map(Self).ok_or_else(|| format!("`{text}` is not a time"))
    }
}

/// Why the document of a parameter has no settings for this kibus.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    #[error("its document has format {0}, and this kibus reads format {FORMAT}")]
    Future(u64),
    #[error("its document holds no settings of a hub: {0}")]
    Damaged(String),
}

impl Settings {
    pub fn read(text: &str) -> Result<Self, BadSettings> {
        let damaged = |why: &dyn ToString| BadSettings::Damaged(why.to_string().escape_debug().to_string());
        let mut document: Value = serde_json::from_str(text).map_err(|e| damaged(&e))?;
        let format = document.as_object_mut().and_then(|members| members.remove("format"));
        match format.as_ref().and_then(Value::as_u64) {
            Some(FORMAT) => serde_json::from_value(document).map_err(|e| damaged(&e)),
            Some(future) if future > FORMAT => Err(BadSettings::Future(future)),
            _ => Err(damaged(&"it has no format number of kibus")),
        }
    }

    pub fn document(&self) -> String {
        #[derive(Serialize)]
        struct Document<'a> {
            format: u64,
            #[serde(flatten)]
            settings: &'a Settings,
        }
        let document = Document { format: FORMAT, settings: self };
        // Keys are text and values are plain, so there is always a document.
        serde_json::to_string(&document).unwrap_or_default()
    }

    /// The keys that the policies still allow besides the key of the queues.
    pub fn old_keys(&self) -> BTreeSet<KmsKey> {
        self.old_keys.keys().cloned().collect()
    }

    /// These settings with what a change takes away last: the user's tags stay until no resource has them, old keys until no
    /// policy allows them, a pinned version until the alias has moved, and a part on request until it is deleted.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsChange {
    pub settings: Result<Settings, BadSettings>,
    /// The ARN of who made it, if the caller may know.
    pub by: Option<String>,
}

impl From<HubOptions> for Settings {
    fn from(options: HubOptions) -> Self {
        Self { options, ..Self::default() }
    }
}

#[cfg(test)]
mod tests;
