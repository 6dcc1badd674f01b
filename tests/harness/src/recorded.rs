//! AWS answers in files: `tests/real_account` records them, and the AWS-like proxy plays them back. The format is
//! described in `docs/real-account.md`.

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
    /// The rows of `docs/reliability.md` that were observed.
    pub rows: Vec<String>,
    /// Where: a Region of AWS, or an emulator.
    pub place: String,
    /// The observations, one line per row.
    pub seen: Vec<String>,
    /// The answers.
    pub answers: Vec<RecordedAnswer>,
}

/// The answer of one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedAnswer {
    /// The time since the start of the observation, in milliseconds.
    pub at_ms: u64,
    /// The call, like `sqs:CreateQueue` or `lambda:POST functions/*/invocations`.
    pub operation: String,
    /// The HTTP status.
    pub status: u16,
    /// The headers that define the meaning of the answer.
    pub headers: BTreeMap<String, String>,
    /// The body, without account ids and secrets.
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
