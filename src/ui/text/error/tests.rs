//! Errors and warnings as a person reads them.

use super::*;
use crate::error::Progress;
use crate::ui::text::tests::{assert_snapshot, style};

#[test]
fn an_error_says_what_failed_why_and_what_to_do() {
    let mut refused = Error::failed("not allowed to create role `kibus-router-us-west-2`")
        .note("AWS refused iam:CreateRole for arn:aws:iam::111122223333:user/operator")
        .note("2 of 13 changes are done, this one was refused, 10 were not tried; nothing needs undoing")
        .hint_command("what an operator needs:", "kibus policy operator")
        .hint_command(
            "when the permission is granted, run again",
            "kibus bootstrap-hub \\\n  --yes",
        )
        .hint("or ask an administrator");
    refused.progress = Some(Progress {
        done: 2,
        failed: 1,
        unknown: 0,
        not_tried: 10,
    });
    assert_snapshot("error.txt", &error(&refused, Style::default()));
}

#[test]
fn an_error_escapes_what_a_terminal_would_obey() {
    let hostile = Error::usage("`a\u{1b}]0;x\u{7}\nerror: b` is not a name")
        .note("one\n\u{1b}[2Jtwo")
        .hint_command("do\u{202e}", "kibus \u{1b}[31m");
    assert_eq!(
        error(&hostile, Style::default()),
        "error: `a\\u{1b}]0;x\\u{7}\\nerror: b` is not a name\n  one\\n\\u{1b}[2Jtwo\n  do\\u{202e}:\n      kibus \\u{1b}[31m"
    );
}

#[test]
fn sentences_fold_at_the_terminal_width_and_commands_stay_whole() {
    let narrow = style(0, Some(30));
    let long = Error::failed("a message that is longer than the terminal is wide")
        .note("a note that is longer than the terminal is wide")
        .hint_command(
            "a step that is longer than the terminal",
            "kibus add-cluster a-name-of-some-length",
        );
    assert_eq!(
        error(&long, narrow),
        "error: a message that is\n  longer than the terminal is\n  wide\n  a note that is longer than\n  the terminal is wide\n  \
         a step that is longer than\n  the terminal:\n      kibus add-cluster a-name-of-some-length"
    );
    let (sentence, command) = (
        "a warning that is longer than the terminal",
        "a command that is longer than the terminal",
    );
    let text = &format!("{sentence}\n    {command}");
    assert_eq!(
        warning(&Hint::command(sentence, command), narrow),
        "warning: a warning that is\n  longer than the terminal\n    a command that is longer than the terminal"
    );
    assert_eq!(
        sentences(text, narrow),
        "a warning that is longer than\nthe terminal\n    a command that is longer than the terminal"
    );
    assert_eq!(sentences(text, Style::default()), *text);
}
