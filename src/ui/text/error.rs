//! Errors, warnings and messages as text.

use super::Style;
use super::escape::escape;
use super::fold::fold;
use crate::error::{Error, Hint};

/// What failed, why, the current state, and the next step. Each command has its own line. Nothing else has: text from
/// outside could otherwise look like one.
pub(in crate::ui) fn error(error: &Error, style: Style) -> String {
    let mut lines = vec![titled(&style.paint.red("error:"), &error.message, style)];
    let below = |text: &str| format!("  {}", folded(&escape(text), style));
    lines.extend(error.notes.iter().map(|note| below(note)));
    for Hint { text, command } in &error.hints {
        let end = match command {
            Some(_) if !text.ends_with([':', '.']) => ":",
            _ => "",
        };
        if !text.is_empty() {
            lines.push(below(&format!("{text}{end}")));
        }
        let command = command.as_deref().unwrap_or_default();
        let command = command
            .lines()
            .map(|line| format!("      {}", style.paint.bold(&escape(line))));
        lines.extend(command);
    }
    lines.join("\n")
}

/// A warning, and the command to copy, if any.
pub(in crate::ui) fn warning(Hint { text, command }: &Hint, style: Style) -> String {
    let title = titled(&style.paint.yellow("warning:"), text, style);
    let command = command.iter().flat_map(|command| command.lines());
    let command = command.map(|line| format!("    {}", escape(line)));
    std::iter::once(title).chain(command).collect::<Vec<_>>().join("\n")
}

/// A hint: the sentence, and below it the command to copy, if any.
pub(in crate::ui) fn hint(hint: &Hint) -> String {
    let text = escape(&hint.text);
    match &hint.command {
        None => text.into_owned(),
        Some(command) => format!("{text}\n{}", indented(command)),
    }
}

/// Text indented, as a document or command to copy.
pub(super) fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("    {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Messages. Indented lines are for copying and are not folded.
pub fn sentences(text: &str, style: Style) -> String {
    let lines = text.lines().flat_map(|line| match line.starts_with(' ') {
        true => vec![line.to_owned()],
        false => fold(line, style.room(0)),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Messages as [`sentences`] has them, as a block that is indented by two.
pub fn block(text: &str, style: Style) -> String {
    let width = style.width.map(|width| width.saturating_sub(2));
    let lines = sentences(text, Style { width, ..style });
    lines
        .lines()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn titled(title: &str, text: &str, style: Style) -> String {
    folded(&format!("{title} {}", escape(text)), style)
}

/// Text whose continuation lines are indented.
fn folded(text: &str, style: Style) -> String {
    fold(text, style.room(2)).join("\n  ")
}

#[cfg(test)]
mod tests;
