//! Points in time as text, and clocks that differ.

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;

use super::duration::duration_text;

/// AWS rejects a request that was signed more than five minutes before or after (IAM user guide, "AWS Signature Version 4 for
/// API requests"). In seconds.
const REJECTED: u64 = 300;

/// Whether AWS rejects the requests of a clock that is so many seconds ahead, or behind if negative.
#[must_use]
pub fn is_skewed(ahead: i64) -> bool {
    ahead.unsigned_abs() >= REJECTED
}

/// How far a clock is ahead or behind, in whole minutes.
#[must_use]
pub fn clock_text(ahead: i64) -> String {
    let minutes = duration_text(ahead.unsigned_abs() / 60 * 60);
    match ahead > 0 {
        true => format!("{minutes} ahead of AWS"),
        false => format!("{minutes} behind AWS"),
    }
}

/// Milliseconds of the Unix epoch as a time in UTC, without fractions of a second.
#[must_use]
pub fn time_text(millis: i64) -> String {
    let time = DateTime::from_secs(millis.div_euclid(1000)).fmt(Format::DateTime);
    time.unwrap_or_else(|_| "unknown".to_owned())
}
