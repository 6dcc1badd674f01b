//! Policies and patterns as lines, and how two of them differ.

use similar::{ChangeTag, TextDiff};

use super::escape::escape;
use crate::model::document::Document;
use crate::ui::paint::Paint;

/// How many unchanged lines stand around a change.
const CONTEXT: usize = 3;

/// A document in full, a line each, every line behind the same sign.
pub(super) fn whole(document: &Document, sign: char, paint: Paint) -> Vec<String> {
    let lines = document.pretty();
    lines.lines().map(|line| signed(sign, line, paint)).collect()
}

/// The lines that differ between two documents, with some around them, or with all when `full`.
pub(super) fn diff(from: &Document, to: &Document, full: bool, paint: Paint) -> Vec<String> {
    let (from, to) = (from.pretty() + "\n", to.pretty() + "\n");
    let diff = TextDiff::from_lines(from.as_str(), to.as_str());
    let context = if full { usize::MAX / 4 } else { CONTEXT };
    let mut lines = Vec::new();
    for (place, ops) in diff.grouped_ops(context).iter().enumerate() {
        if place > 0 {
            lines.push(paint.dim("..."));
        }
        for change in ops.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            lines.push(signed(sign, change.value().trim_end_matches('\n'), paint));
        }
    }
    lines
}

fn signed(sign: char, line: &str, paint: Paint) -> String {
    let line = format!("{sign} {}", escape(line));
    match sign {
        '+' => paint.green(&line),
        '-' => paint.red(&line),
        _ => paint.dim(&line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(from: serde_json::Value, to: serde_json::Value, full: bool) -> String {
        diff(&Document(from), &Document(to), full, Paint::default()).join("\n")
    }

    #[test]
    fn only_lines_that_say_something_else_differ() {
        let from = json!({"Action": ["b", "a"], "Effect": "Allow"});
        let to = json!({"Effect": "Allow", "Action": ["a", "c"]});
        assert_eq!(
            lines(from, to, false),
            "  {\n    \"Action\": [\n      \"a\",\n-     \"b\"\n+     \"c\"\n    ],\n    \"Effect\": \"Allow\"\n  }"
        );
    }

    #[test]
    fn far_changes_are_parted_and_full_shows_all_between() {
        let document =
            |first: u32, last: u32| json!({"a": first, "b": 0, "c": 0, "d": 0, "e": 0, "f": 0, "g": 0, "h": last});
        let short = lines(document(1, 1), document(2, 2), false);
        assert!(short.contains("\n...\n") && !short.contains("\"e\""), "{short}");
        let full = lines(document(1, 1), document(2, 2), true);
        assert!(!full.contains("...") && full.contains("\"e\""), "{full}");
    }
}
