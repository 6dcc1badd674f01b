//! Field values as text with units. Different values never have the same text.

use crate::model::resource::{Code, FieldName, FieldValue, LogGroupField};

use super::escape::escape;

/// The value of the field at `path`, on one line. [`super::document`] shows the lines of a document.
pub(super) fn value(path: &str, value: &FieldValue) -> String {
    match value {
        FieldValue::Unset if path == LogGroupField::RetentionDays.path() => "unlimited".to_owned(),
        FieldValue::Unset => "not set".to_owned(),
        FieldValue::Text(text) if text.is_empty() => "empty".to_owned(),
        FieldValue::Text(text) => escape(text).into_owned(),
        FieldValue::Number(number, unit) => unit.text(*number),
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

fn code_of(code: &Code) -> String {
    let first_digits: String = code.sha256.chars().take(12).collect();
    let (version, sha256) = (escape(&code.version), escape(&first_digits));
    match (version.is_empty(), sha256.is_empty()) {
        (true, true) => "unknown".to_owned(),
        (true, false) => format!("sha256 {sha256}"),
        (false, true) => version.into_owned(),
        (false, false) => format!("{version} (sha256 {sha256})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::resource::Unit;

    #[test]
    fn other_values_are_words() {
        let list = |items: &[&str]| FieldValue::List(items.iter().map(|item| (*item).to_owned()).collect());
        for (path, given, shown) in [
            ("permissions_boundary", FieldValue::Unset, "not set"),
            ("retention_days", FieldValue::Unset, "unlimited"),
            ("retention", FieldValue::Number(90, Unit::Seconds), "90s"),
            ("max_message_size", FieldValue::Number(262_144, Unit::Bytes), "256 KiB"),
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
