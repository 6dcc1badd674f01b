//! Errors, warnings and messages as text.

use super::Style;
use super::escape::escape;
use super::fold::fold;
use super::plan::NARROW;
use crate::error::{Error, Hint};

/// What failed, why, the current state, and the next step. Each command has its own line.
#[must_use]
pub fn error(error: &Error, style: Style) -> String {
    let mut lines = titled(&style.paint.red("error:"), &error.message, style);
    for note in &error.notes {
        lines.extend(note.lines().flat_map(|line| below(line, style)));
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

/// A warning. Indented lines are commands and are not folded.
#[must_use]
pub fn warning(text: &str, style: Style) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        if lines.is_empty() {
            lines = titled(&style.paint.yellow("warning:"), line, style);
        } else if line.starts_with(' ') {
            lines.push(escape(line).into_owned());
        } else {
            lines.extend(below(line, style));
        }
    }
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
