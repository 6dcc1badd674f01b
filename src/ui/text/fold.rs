//! Folds long lines.

use console::measure_text_width;

/// Breaks text at spaces into lines of at most `width` columns. A longer word has a line of its own.
pub(super) fn fold(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in text.split(' ') {
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
        ] {
            assert_eq!(fold(text, width), lines, "`{text}` at {width}");
        }
    }
}
