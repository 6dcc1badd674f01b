//! Escapes text from outside: a name or a tag may contain characters that control the terminal.

use std::borrow::Cow;

use serde_json::Value;

/// Replaces every character that would control the terminal with its escape, like `\u{1b}`.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_control(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// The escape sequences of [`Paint`](crate::ui::paint::Paint).
const COLORS: [&str; 6] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
];

/// Whole text on its way to a stream: every character that would control the terminal is escaped, except newlines, tabs and,
/// if `colors`, the colors of kibus. Text from outside is escaped where it becomes part of a text, newlines included; this
/// holds where that was forgotten.
pub(in crate::ui) fn at_the_edge(text: &str, colors: bool) -> Cow<'_, str> {
    let stays = |c| !is_control(c) || matches!(c, '\n' | '\t');
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let color = COLORS.iter().find(|color| colors && rest.starts_with(**color));
        let taken = color.map_or(c.len_utf8(), |color| color.len());
        if color.is_some() || stays(c) {
            safe.push_str(&rest[..taken]);
        } else {
            safe.extend(c.escape_default());
        }
        rest = &rest[taken..];
    }
    Cow::Owned(safe)
}

/// A JSON document as text. Characters that control a terminal are escaped as JSON has it, so its values stay the same.
pub(in crate::ui) fn json_text(document: &Value) -> String {
    let text = format!("{document:#}");
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && is_control(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Control and format characters, which are invisible or change the direction of text (Unicode Annex 9), separators of lines
/// and paragraphs, and what Unicode has not assigned: all that the `Debug` of a text escapes, except spaces.
fn is_control(c: char) -> bool {
    if c.is_ascii() {
        return c.is_control();
    }
    // Not at the beginning of the text, where `Debug` escapes combining marks too.
    let is_escaped = String::from_iter(['a', c]).escape_debug().nth(1) == Some('\\');
    let is_space = c.is_whitespace() && !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}');
    is_escaped && !is_space
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ui::paint::Paint;

    #[test]
    fn control_characters_are_escaped() {
        for (text, shown) in [
            ("kibus-hub → ü 漢", "kibus-hub → ü 漢"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("a\u{9b}b\u{7f}", "a\\u{9b}b\\u{7f}"),
            ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
            ("a\u{61c}b", "a\\u{61c}b"),
            ("a\u{301}\u{a0}\u{3000}b", "a\u{301}\u{a0}\u{3000}b"),
        ] {
            assert_eq!(escape(text), shown);
        }
    }

    /// The characters of the categories Cc, Cf, Zl and Zp (Unicode Character Database, `DerivedGeneralCategory.txt`).
    #[test]
    fn characters_that_only_control_are_escaped() {
        for range in [
            '\0'..='\u{1f}',
            '\u{7f}'..='\u{9f}',
            '\u{ad}'..='\u{ad}',
            '\u{600}'..='\u{605}',
            '\u{61c}'..='\u{61c}',
            '\u{6dd}'..='\u{6dd}',
            '\u{70f}'..='\u{70f}',
            '\u{890}'..='\u{891}',
            '\u{8e2}'..='\u{8e2}',
            '\u{180e}'..='\u{180e}',
            '\u{200b}'..='\u{200f}',
            '\u{2028}'..='\u{202e}',
            '\u{2060}'..='\u{2064}',
            '\u{2066}'..='\u{206f}',
            '\u{feff}'..='\u{feff}',
            '\u{fff9}'..='\u{fffb}',
            '\u{110bd}'..='\u{110bd}',
            '\u{110cd}'..='\u{110cd}',
            '\u{13430}'..='\u{1343f}',
            '\u{1bca0}'..='\u{1bca3}',
            '\u{1d173}'..='\u{1d17a}',
            '\u{e0001}'..='\u{e0001}',
            '\u{e0020}'..='\u{e007f}',
        ] {
            for c in range {
                let text = format!("x{c}");
                assert_ne!(escape(&text), text, "{c:?}");
            }
        }
    }

    #[test]
    fn only_lines_and_the_colors_of_kibus_pass_the_edge() {
        let paint = Paint::new(true);
        let painted: Vec<String> = [Paint::green, Paint::yellow, Paint::red, Paint::bold, Paint::dim]
            .iter()
            .map(|color| color(paint, "x"))
            .collect();
        let painted = painted.join("\n\t");
        assert_eq!(at_the_edge(&painted, true), painted);
        assert!(!at_the_edge(&painted, false).contains('\u{1b}'));
        for (text, shown) in [
            ("a\u{1b}]0;b\u{7}", "a\\u{1b}]0;b\\u{7}"),
            ("\u{1b}[5m\u{1b}[2J", "\\u{1b}[5m\\u{1b}[2J"),
            ("a\rb\u{9b}2J\u{202e}", "a\\rb\\u{9b}2J\\u{202e}"),
        ] {
            assert_eq!(at_the_edge(text, true), shown);
        }
    }

    #[test]
    fn a_document_shows_no_control_character_and_stays_the_same() {
        let hostile: String = ('\0'..=char::MAX).collect();
        let document = json!({ hostile.clone(): [hostile] });
        let text = json_text(&document);
        assert!(!text.contains(|c| c != '\n' && is_control(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    }
}
