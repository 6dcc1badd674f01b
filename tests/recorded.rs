//! Answers of AWS in files: the real-account test records them, and the AWS-like proxy plays them back. The format is
//! described in `docs/real-account.md`.

mod clean;

pub(crate) use clean::Secrets;
pub(crate) use kibus_harness::recorded::{HEADERS, RecordedAnswer, Recording};
