//! Answers of AWS in files: `tests/real_account` records them, and the AWS-like proxy plays them back.
//!
//! A file has the answers of one observation and is named by its rows, such as `P7-P12-S14-S15-S16.json`. Requests are not recorded.
//! Account ids become `111122223333`, and the name of the bus becomes `kibus-rt-00000000`. These are removed: credentials, receipt
//! handles, unique ids of users, roles and keys, and the names of users and sessions.
//!
//! To play a file back, put it into `tests/recorded` and pass it to `AwsLike::play`: the n-th call of an operation receives the n-th
//! recorded answer of this operation, and after the last the emulator answers. `tests/recorded/S2.json` is an example from the emulator.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The version of the format.
const FORMAT: u32 = 1;

/// The answers of one observation, in the order in which they came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The version of the format.
    format: u32,
    /// The rows of `tests/aws-behavior.md` that were observed.
    pub rows: Vec<String>,
    /// Where: `AWS` and the Region, or `an emulator`.
    pub place: String,
    /// The lines that the program printed for these rows.
    pub seen: Vec<String>,
    /// The answers. Retries of the SDK have answers of their own.
    pub answers: Vec<RecordedAnswer>,
}

/// The answer of one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedAnswer {
    /// The time since the start of the observation, in milliseconds.
    pub at_ms: u64,
    /// The call, such as `sqs:CreateQueue`. For Lambda, the method and the path with `*` for names: `lambda:POST functions/*/invocations`.
    pub operation: String,
    /// The HTTP status.
    pub status: u16,
    /// The headers that name the type of the content and of an error.
    pub headers: BTreeMap<String, String>,
    /// The body; an error has its code and message there.
    pub body: String,
}

impl Recording {
    /// Reads a file.
    ///
    /// # Panics
    /// If it has another format.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let recording: Self = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(recording.format, FORMAT, "{}", path.display());
        recording
    }
}
