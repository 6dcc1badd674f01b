//! What no output may have.

/// How much a command writes about one failure, in bytes.
const LONGEST: usize = 12_000;

/// Checks that a text is short, is for people, controls no terminal, and has none of these texts.
pub(super) fn check(case: &str, text: &str, hidden: &[&str]) {
    let dumps = [
        "panicked",
        "RUST_BACKTRACE",
        "SdkError",
        "ServiceError",
        "Response {",
        "Error {",
        "Some(",
    ];
    for found in dumps.iter().chain(hidden).filter(|found| text.contains(**found)) {
        panic!(
            "{case}: `{found}` in\n{}",
            text.chars().take(LONGEST).collect::<String>()
        );
    }
    assert!(text.len() < LONGEST, "{case}: {} bytes", text.len());
    let control = text.chars().find(|c| {
        c.is_control() && *c != '\n' || ('\u{202a}'..='\u{202e}').contains(c) || ('\u{2066}'..='\u{2069}').contains(c)
    });
    assert_eq!(control, None, "{case}: {text:?}");
}
