//! Folds long lines.

use console::measure_text_width;

/// Breaks text at spaces into lines of at most `width` columns. A longer word has a line of its own. What backticks
/// enclose is for copying, and is not broken if it fits on a line.
pub(super) fn fold(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in words(text, width) {
        let columns = measure_text_width(word);
        match lines.last_mut() {
            Some(line) if used + 1 + columns <= width => {
                line.push(' ');
                line.push_str(word);
                used += 1 + columns;
            }
            _ => {
                lines.push(word.to_owned());
                used = columns;
            }
        }
    }
    lines
}

/// The parts between which text may be broken.
fn words(text: &str, width: usize) -> Vec<&str> {
    let (mut words, mut start, mut open, mut quoted) = (Vec::new(), 0, false, false);
    for (at, char) in text.char_indices() {
        match char {
            '`' => {
                open = !open;
                let end = text[at + 1..].find('`').filter(|_| open);
                quoted = end.is_some_and(|end| measure_text_width(&text[at..=at + end]) < width);
            }
            ' ' if !quoted => {
                words.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_lose_nothing() {
        for (text, width, lines) in [
            ("a b c", 10, vec!["a b c"]),
            ("aa bb cc", 5, vec!["aa bb", "cc"]),
            ("aa bbbbbbbb cc", 5, vec!["aa", "bbbbbbbb", "cc"]),
            ("ää öö üü", 5, vec!["ää öö", "üü"]),
            ("", 5, vec![""]),
            ("run `a b c` now", 10, vec!["run", "`a b c`", "now"]),
            ("run `a b c` now", 6, vec!["run `a", "b c`", "now"]),
            ("a ` b c", 3, vec!["a `", "b c"]),
        ] {
            assert_eq!(fold(text, width), lines, "`{text}` at {width}");
        }
    }
}
