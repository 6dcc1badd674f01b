//! How values are written in human-readable text: durations like `90s` and `1d`, points in time, counts, and long lists.

use std::cmp::Ordering;
use std::fmt::Display;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde::Serializer;

/// The units of a duration, longest first, and their seconds.
const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

/// The seconds of a duration with a unit, such as `90s` or `1d`.
pub fn parse_duration(text: &str) -> Option<u64> {
    UNITS.iter().find_map(|(unit, seconds)| {
        let number = text.strip_suffix(unit)?;
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse::<u64>().ok().filter(|_| digits)?.checked_mul(*seconds)
    })
}

/// Seconds in the longest unit that divides them.
pub fn duration_text(seconds: u64) -> String {
    let divides = |(_, unit): &&(&str, u64)| seconds > 0 && seconds.is_multiple_of(*unit);
    match UNITS.iter().find(divides) {
        Some((unit, length)) => format!("{}{unit}", seconds / length),
        None => "0s".to_owned(),
    }
}

/// The time of the local clock, in milliseconds of the Unix epoch.
pub fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// Milliseconds of the Unix epoch as a time in UTC, without fractions of a second.
pub fn time_text(millis: i64) -> String {
    let time = DateTime::from_secs(millis.div_euclid(1000)).fmt(Format::DateTime);
    time.unwrap_or_else(|_| "unknown".to_owned())
}

/// Writes milliseconds of the Unix epoch as [`time_text`] does.
pub fn as_time<S: Serializer>(millis: &i64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&time_text(*millis))
}

/// The milliseconds of the Unix epoch of a date in UTC, or of a time with its offset: `2026-11-24`, `2026-11-24T03:00:00Z`.
pub fn parse_time(text: &str) -> Option<i64> {
    let whole = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        _ => text.to_owned(),
    };
    DateTime::from_str(&whole, Format::DateTimeWithOffset).ok()?.to_millis().ok()
}

/// A count with its noun: `1 queue`, `2 queues`.
pub fn counted(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// The first few items of a list, and how many more there are: `a, b and 3 more`.
pub fn first_of(items: impl IntoIterator<Item: Display>, most: usize) -> String {
    let mut items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    let more = items.len().saturating_sub(most);
    items.truncate(most);
    match more {
        0 => items.join(", "),
        _ => format!("{} and {more} more", items.join(", ")),
    }
}

/// The natural order of two names: `tenant-2` before `tenant-10`.
pub fn by_count(a: &str, b: &str) -> Ordering {
    count_key(a).cmp(&count_key(b))
}

/// A name split into text and the number after it, so that names sort naturally; the name itself decides between `a-1` and `a-01`.
pub fn count_key(name: &str) -> (Vec<(&str, u64)>, &str) {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let (text, after) = rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
        let (number, after) = after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len()));
        parts.push((text, number.parse().unwrap_or(0)));
        rest = after;
    }
    (parts, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_people_count() {
        let mut names = ["t-10", "t-2", "base", "t-1", "t-1-b", "t", "t-01"];
        names.sort_by(|a, b| by_count(a, b));
        assert_eq!(names, ["base", "t", "t-01", "t-1", "t-1-b", "t-2", "t-10"]);
    }

    #[test]
    fn durations_are_read_as_they_are_written() {
        for (text, seconds) in
            [("0s", 0), ("90s", 90), ("5m", 300), ("2h", 7_200), ("1d", 86_400), ("14d", 1_209_600), ("86401s", 86_401)]
        {
            assert_eq!(parse_duration(text), Some(seconds), "{text}");
            assert_eq!(duration_text(seconds), text);
        }
        assert_eq!(parse_duration("24h"), Some(86_400));
        for text in ["", "s", "90", "-1s", "+1s", "1.5h", "1 d", "1d2h", "1w", "1D", "99999999999999999999d"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        assert_eq!(parse_duration("18446744073709551615d"), None);
    }

    #[test]
    fn counts_and_lists_are_short() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "queue")), ["0 queues", "1 queue", "2 queues"]);
        for (items, expected) in
            [(&["a"][..], "a"), (&["a", "b"], "a, b"), (&["a", "b", "c", "d"], "a, b and 2 more"), (&[], "")]
        {
            assert_eq!(first_of(items, 2), expected);
        }
    }
}
