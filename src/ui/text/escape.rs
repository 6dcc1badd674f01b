//! Escapes text from outside: a name or a tag may contain characters that control the terminal.

use std::borrow::Cow;

/// Replaces every character that would control the terminal with its escape, like `\u{1b}`.
#[must_use]
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

/// Control characters, invisible characters, and characters that change the direction of text (Unicode Annex 9).
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        for (text, shown) in [
            ("kibus-hub → ü 漢", "kibus-hub → ü 漢"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("a\u{9b}b\u{7f}", "a\\u{9b}b\\u{7f}"),
            ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
        ] {
            assert_eq!(escape(text), shown);
        }
    }
}
