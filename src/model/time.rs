//! Points in time as text.

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;

/// Milliseconds of the Unix epoch as a time in UTC, without fractions of a second.
pub fn time_text(millis: i64) -> String {
    let time = DateTime::from_secs(millis.div_euclid(1000)).fmt(Format::DateTime);
    time.unwrap_or_else(|_| "unknown".to_owned())
}
