//! Sentences as text: those of an error, a warning, or what a command has to say.

use super::Look;
use super::escape::escape;
use super::fold::fold;
use super::plan::NARROW;
use crate::error::{Error, Hint};

/// What happened, why, what state things are in, and what to do next; every command alone on its line.
#[must_use]
pub fn error(error: &Error, look: Look) -> String {
    let mut lines = titled(&look.paint.red("error:"), &error.message, look);
    for note in &error.notes {
        lines.extend(note.lines().flat_map(|line| below(line, look)));
    }
    for Hint { text, command } in &error.hints {
        let end = match command {
            Some(_) if !text.ends_with([':', '.']) => ":",
            _ => "",
        };
        if !text.is_empty() {
            lines.extend(below(&format!("{text}{end}"), look));
        }
        let command = command.as_ref().map(|command| command.line("")).unwrap_or_default();
        let command = command
            .lines()
            .map(|line| format!("      {}", look.paint.bold(&escape(line))));
        lines.extend(command);
    }
    lines.join("\n")
}

/// What deserves a look and stops nothing. Lines that are set in from the margin are commands and stay whole.
#[must_use]
pub fn warning(text: &str, look: Look) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        if lines.is_empty() {
            lines = titled(&look.paint.yellow("warning:"), line, look);
        } else if line.starts_with(' ') {
            lines.push(escape(line).into_owned());
        } else {
            lines.extend(below(line, look));
        }
    }
    lines.join("\n")
}

/// What a command has to say. Lines that are set in from the margin are to be copied and stay whole.
#[must_use]
pub fn sentences(text: &str, look: Look) -> String {
    let width = look.width.map_or(usize::MAX, |width| width.max(NARROW));
    let lines = text.lines().flat_map(|line| match line.starts_with(' ') {
        true => vec![line.to_owned()],
        false => fold(line, width),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Text after its title; where it is too long for the terminal, it goes on as what is below it.
fn titled(title: &str, text: &str, look: Look) -> Vec<String> {
    let mut lines = fold(&format!("{title} {}", escape(text)), room(look));
    for line in lines.iter_mut().skip(1) {
        line.insert_str(0, "  ");
    }
    lines
}

fn below(text: &str, look: Look) -> Vec<String> {
    let lines = fold(&escape(text), room(look));
    lines.iter().map(|line| format!("  {line}")).collect()
}

fn room(look: Look) -> usize {
    look.width
        .map_or(usize::MAX, |width| width.saturating_sub(2).max(NARROW))
}
