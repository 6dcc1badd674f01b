//! Errors, warnings and messages as text.

use super::Style;
use super::columns::NARROW;
use super::escape::escape;
use super::fold::fold;
use crate::error::{Error, Hint};

/// What failed, why, the current state, and the next step. Each command has its own line. Nothing else has: text from
/// outside could otherwise look like one.
#[must_use]
pub fn error(error: &Error, style: Style) -> String {
    let mut lines = titled(&style.paint.red("error:"), &error.message, style);
    for note in &error.notes {
        lines.extend(below(note, style));
    }
    for Hint { text, command } in &error.hints {
        let end = match command {
            Some(_) if !text.ends_with([':', '.']) => ":",
            _ => "",
        };
        if !text.is_empty() {
            lines.extend(below(&format!("{text}{end}"), style));
        }
        let command = command.as_ref().map(|command| command.line("")).unwrap_or_default();
        let command = command
            .lines()
            .map(|line| format!("      {}", style.paint.bold(&escape(line))));
        lines.extend(command);
    }
    lines.join("\n")
}

/// A warning, and the command to copy, if any.
#[must_use]
pub fn warning(text: &str, command: Option<&str>, style: Style) -> String {
    let mut lines = titled(&style.paint.yellow("warning:"), text, style);
    let command = command.into_iter().flat_map(str::lines);
    lines.extend(command.map(|line| format!("    {}", escape(line))));
    lines.join("\n")
}

/// Messages. Indented lines are for copying and are not folded.
#[must_use]
pub fn sentences(text: &str, style: Style) -> String {
    let width = style.width.map_or(usize::MAX, |width| width.max(NARROW));
    let lines = text.lines().flat_map(|line| match line.starts_with(' ') {
        true => vec![line.to_owned()],
        false => fold(line, width),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A title and text. Continuation lines are indented.
fn titled(title: &str, text: &str, style: Style) -> Vec<String> {
    let mut lines = fold(&format!("{title} {}", escape(text)), room(style));
    for line in lines.iter_mut().skip(1) {
        line.insert_str(0, "  ");
    }
    lines
}

fn below(text: &str, style: Style) -> Vec<String> {
    let lines = fold(&escape(text), room(style));
    lines.iter().map(|line| format!("  {line}")).collect()
}

fn room(style: Style) -> usize {
    style
        .width
        .map_or(usize::MAX, |width| width.saturating_sub(2).max(NARROW))
}
