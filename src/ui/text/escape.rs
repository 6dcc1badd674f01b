//! Text from outside, made harmless: a name or a tag may hold what moves the cursor or turns the line around.

use std::borrow::Cow;

/// The same text with every character that a terminal would obey rather than show as its escape, like `\u{1b}`.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if obeyed(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// Control characters, and what changes the direction of text or hides in it (Unicode Standard Annex 9).
fn obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
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
