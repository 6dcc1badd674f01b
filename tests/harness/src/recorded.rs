//! Answers of AWS in files: the real-account test records them, and the AWS-like proxy plays them back. The format is
//! described in `docs/real-account.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The version of the format.
const FORMAT: u32 = 1;

/// The headers of an answer that say what it means.
pub const HEADERS: [&str; 4] = ["content-type", "x-amz-function-error", "x-amzn-errortype", "x-amzn-query-error"];

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
    /// What was seen, a line for each row.
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
    /// The headers in [`HEADERS`] that the answer has.
    pub headers: BTreeMap<String, String>,
    /// The body, without account ids and secrets.
    pub body: String,
}

impl Recording {
    /// A recording whose texts are cleaned of what nobody else should see.
    pub fn new(
        rows: &[&str],
        place: String,
        seen: Vec<String>,
        mut answers: Vec<RecordedAnswer>,
        clean: impl Fn(&str) -> String,
    ) -> Self {
        for answer in &mut answers {
            answer.body = clean(&answer.body);
        }
        Self {
            format: FORMAT,
            rows: rows.iter().map(|row| (*row).to_owned()).collect(),
            place,
            seen: seen.iter().map(|line| clean(line)).collect(),
            answers,
        }
    }

    /// Writes the file of this recording into a directory, and gives its path.
    pub fn write(&self, directory: &Path) -> PathBuf {
        std::fs::create_dir_all(directory).unwrap();
        let path = directory.join(format!("{}.json", self.rows.join("-")));
        std::fs::write(&path, format!("{}\n", serde_json::to_string_pretty(self).unwrap())).unwrap();
        path
    }

    /// Reads a file.
    ///
    /// # Panics
    /// When it has another format.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let recording: Self = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(recording.format, FORMAT, "{}", path.display());
        recording
    }
}
