//! How an option is saved in a tag and read from it.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::model::tags::{OPTION, Tags};

/// A saved option that cannot be understood: someone edited the tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tag `{OPTION}{flag}` holds `{}`, which is not a value of --{flag}", .value.escape_debug())]
pub struct BadSavedOption {
    /// The option's flag.
    pub flag: &'static str,
    /// The value of the tag.
    pub value: String,
}

impl From<BadSavedOption> for Error {
    fn from(e: BadSavedOption) -> Self {
        Self::refused(e.to_string())
            .note("the tag saves this option; kibus did not write this value")
            .hint(format!("choose again by giving --{}, or fix the tag", e.flag))
    }
}

/// The tag that saves an option, if it is set.
pub(super) fn memo(flag: &'static str, value: Option<impl fmt::Display>) -> Option<(String, String)> {
    value.map(|value| (format!("{OPTION}{flag}"), value.to_string()))
}

/// The option that a tag saves.
pub(super) fn recall<T: FromStr>(tags: &Tags, flag: &'static str) -> Result<Option<T>, BadSavedOption> {
    tags.option(flag)
        .map(|value| {
            value.parse().map_err(|_| BadSavedOption {
                flag,
                value: value.to_owned(),
            })
        })
        .transpose()
}
