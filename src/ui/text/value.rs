//! Field values as text with units. Different values never have the same text.

use crate::model::field::FieldValue;
use crate::model::resource::Code;

use super::escape::escape;

/// The value of the field at `path`, on one line. [`super::document`] shows the lines of a document.
#[must_use]
pub fn value(path: &str, value: &FieldValue) -> String {
    match value {
        FieldValue::Unset if path == "retention_days" => "unlimited".to_owned(),
        FieldValue::Unset => "not set".to_owned(),
        FieldValue::Text(text) if text.is_empty() => "empty".to_owned(),
        FieldValue::Text(text) => escape(text).into_owned(),
        FieldValue::Number(number) => number_of(path, *number),
        FieldValue::AtLeast(number) => format!("at least {}", number_of(path, *number)),
        FieldValue::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        FieldValue::List(items) if items.is_empty() => "none".to_owned(),
        FieldValue::List(items) => {
            let items: Vec<_> = items.iter().map(|item| escape(item)).collect();
            items.join(", ")
        }
        FieldValue::Document(_) => "a document".to_owned(),
        FieldValue::Code(code) => code_of(code),
    }
}

fn number_of(path: &str, number: u64) -> String {
    match path {
        "retention" | "visibility" | "delay" | "receive_wait" | "window" | "timeout" | "target.retry_age" => {
            seconds(number)
        }
        "retention_days" => days(number),
        "max_message_size" => bytes(number),
        "memory" => format!("{number} MB"),
        _ => number.to_string(),
    }
}

/// A duration in the largest unit that divides it: `1d`, `2h`, `5m`, `90s`.
#[must_use]
pub fn seconds(seconds: u64) -> String {
    match seconds {
        0 => "0s".to_owned(),
        s if s.is_multiple_of(86_400) => days(s / 86_400),
        s if s.is_multiple_of(3_600) => format!("{}h", s / 3_600),
        s if s.is_multiple_of(60) => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

/// A number of days.
#[must_use]
pub fn days(days: u64) -> String {
    format!("{days}d")
}

/// A size: whole MiB or KiB where it is some, otherwise bytes.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    const KIB: u64 = 1_024;
    match bytes {
        b if b >= KIB * KIB && b.is_multiple_of(KIB * KIB) => format!("{} MiB", b / (KIB * KIB)),
        b if b >= KIB && b.is_multiple_of(KIB) => format!("{} KiB", b / KIB),
        b => format!("{b} bytes"),
    }
}

fn code_of(code: &Code) -> String {
    let (version, sha256) = (escape(&code.version), short(&code.sha256));
    match (version.is_empty(), sha256.is_empty()) {
        (true, true) => "unknown".to_owned(),
        (true, false) => format!("sha256 {sha256}"),
        (false, true) => version.into_owned(),
        (false, false) => format!("{version} (sha256 {sha256})"),
    }
}

/// The first 12 digits of a hash.
fn short(hash: &str) -> String {
    escape(&hash.chars().take(12).collect::<String>()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_unit_of_their_field() {
        for (path, number, shown) in [
            ("retention", 1_209_600, "14d"),
            ("retention", 86_400, "1d"),
            ("retention", 7_200, "2h"),
            ("retention", 300, "5m"),
            ("visibility", 90, "90s"),
            ("retention", 86_401, "86401s"),
            ("delay", 0, "0s"),
            ("retention_days", 14, "14d"),
            ("max_message_size", 1_048_576, "1 MiB"),
            ("max_message_size", 262_144, "256 KiB"),
            ("max_message_size", 1_000, "1000 bytes"),
            ("memory", 256, "256 MB"),
            ("batch_size", 100, "100"),
        ] {
            assert_eq!(value(path, &FieldValue::Number(number)), shown, "{path} {number}");
        }
    }

    #[test]
    fn other_values_are_words() {
        let list = |items: &[&str]| FieldValue::List(items.iter().map(|item| (*item).to_owned()).collect());
        for (path, given, shown) in [
            ("permissions_boundary", FieldValue::Unset, "not set"),
            ("retention_days", FieldValue::Unset, "unlimited"),
            ("max_message_size", FieldValue::AtLeast(262_144), "at least 256 KiB"),
            ("enabled", FieldValue::Flag(false), "no"),
            ("duplicates", list(&[]), "none"),
            ("duplicates", list(&["a", "b"]), "a, b"),
            ("tags.team", "".into(), "empty"),
            ("tags.team", "a\u{1b}[2J".into(), "a\\u{1b}[2J"),
            (
                "code",
                Code::of_archive("0.1.0", "0123456789abcdef").into(),
                "0.1.0 (sha256 0123456789ab)",
            ),
            ("code", Code::of_archive("0.1.0", "").into(), "0.1.0"),
            ("code", Code::of_unknown_version("aa").into(), "sha256 aa"),
            ("code", Code::of_unknown_version("").into(), "unknown"),
        ] {
            assert_eq!(value(path, &given), shown, "{path}");
        }
    }
}
