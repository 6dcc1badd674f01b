//! What output must never contain.

/// The maximum output about one failure, in bytes.
const LONGEST: usize = 12_000;

/// Checks that a text is short, is readable, controls no terminal, and contains none of these texts.
pub(super) fn check(case: &str, text: &str, hidden: &[&str]) {
    let dumps = ["panicked", "RUST_BACKTRACE", "SdkError", "ServiceError", "Response {", "Error {", "Some("];
    let begin: String = text.chars().take(LONGEST).collect();
    let found: Vec<_> = dumps.iter().chain(hidden).filter(|dump| text.contains(**dump)).collect();
    assert!(found.is_empty(), "{case}: {found:?} in\n{begin}");
    assert!(text.len() < LONGEST, "{case}: {} bytes", text.len());
    let control = text.chars().find(|c| {
        c.is_control() && *c != '\n'
            || matches!(*c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
    });
    assert_eq!(control, None, "{case}: {text:?}");
}
