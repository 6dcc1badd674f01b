//! Policies and patterns as lines, and the difference between two of them.

use similar::{ChangeTag, DiffTag, TextDiff};

use super::escape::escape;
use crate::model::document::Document;
use crate::ui::paint::Paint;

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;

/// The lines of a whole document, each after the same sign.
pub(super) fn whole(document: &Document, sign: char, paint: Paint) -> Vec<String> {
    let lines = document.pretty();
    lines.lines().map(|line| signed(sign, line, paint)).collect()
}

/// The lines of a whole document, for copying.
pub(super) fn plain(document: &Document) -> Vec<String> {
    let lines = document.pretty();
    lines.lines().map(|line| escape(line).into_owned()).collect()
}

/// The lines that differ between two documents, with [`CONTEXT`] lines around them, or all lines if `full`.
pub(super) fn diff(from: &Document, to: &Document, full: bool, paint: Paint) -> Vec<String> {
    let (from, to) = (from.pretty() + "\n", to.pretty() + "\n");
    let diff = TextDiff::from_lines(from.as_str(), to.as_str());
    let context = if full { usize::MAX / 4 } else { CONTEXT };
    let mut lines = Vec::new();
    for ops in diff.grouped_ops(context) {
        // In a long policy the context lines do not show which statement a change is in.
        let hidden = ops.first().map_or(0, |op| op.new_range().start) > 0;
        let changed = ops.iter().find(|op| op.tag() != DiffTag::Equal);
        if hidden && let Some(first) = changed.map(|op| op.new_range().start) {
            let header = format!("... {}", escape(&place(&to, first)));
            lines.push(paint.dim(header.trim_end()));
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

/// The path to a line of a document: keys from the outside in, and the `Sid` of a statement.
fn place(text: &str, line: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let depth = |at: usize| lines[at].len() - lines[at].trim_start().len();
    let mut keys = Vec::new();
    let mut inside = depth(line);
    for at in (0..line).rev() {
        if depth(at) >= inside {
            continue;
        }
        inside = depth(at);
        let opening = lines[at].trim();
        if opening == "{" {
            let members = (at + 1..lines.len()).take_while(|member| depth(*member) > inside);
            let mut own = members.filter(|member| depth(*member) == inside + 2);
            keys.extend(own.find_map(|member| member_text(lines[member], "Sid")));
        } else if let Some((key, _)) = opening.split_once("\": ") {
            keys.push(key.trim_start_matches('"').to_owned());
        }
    }
    keys.reverse();
    keys.join(" / ")
}

/// The text value of this key, if the line holds it.
fn member_text(line: &str, key: &str) -> Option<String> {
    let value = line.trim().strip_prefix(&format!("\"{key}\": "))?;
    serde_json::from_str(value.trim_end_matches(',')).ok()
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
        diff(&Document::new(from), &Document::new(to), full, Paint::default()).join("\n")
    }

    #[test]
    fn order_of_keys_and_items_is_no_difference() {
        let from = json!({"Action": ["b", "a"], "Effect": "Allow"});
        let to = json!({"Effect": "Allow", "Action": ["a", "c"]});
        assert_eq!(
            lines(from, to, false),
            "  {\n    \"Action\": [\n      \"a\",\n-     \"b\"\n+     \"c\"\n    ],\n    \"Effect\": \"Allow\"\n  }"
        );
    }

    #[test]
    fn distant_changes_are_separated_and_full_shows_all_lines() {
        let document = |first: u32, last: u32| json!({"a": first, "b": 0, "c": 0, "d": 0, "e": 0, "f": 0, "g": 0, "h": 0, "i": last});
        let short = lines(document(1, 1), document(2, 2), false);
        assert!(short.contains("\n...\n") && !short.contains("\"e\""), "{short}");
        let full = lines(document(1, 1), document(2, 2), true);
        assert!(!full.contains("...") && full.contains("\"e\""), "{full}");
    }
}
