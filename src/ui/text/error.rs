//! An error as text.

use super::Look;
use super::escape::escape;
use crate::error::{Error, Hint};

/// What happened, why, what state things are in, and what to do next; every command alone on its line.
#[must_use]
pub fn error(error: &Error, look: Look) -> String {
    let mut lines = vec![format!("{} {}", look.paint.red("error:"), escape(&error.message))];
    for note in &error.notes {
        lines.extend(note.lines().map(|line| format!("  {}", escape(line))));
    }
    for Hint { text, command } in &error.hints {
        let end = match command {
            Some(_) if !text.ends_with([':', '.']) => ":",
            _ => "",
        };
        if !text.is_empty() {
            lines.push(format!("  {}{end}", escape(text)));
        }
        let command = command.iter().flat_map(|command| command.lines());
        lines.extend(command.map(|line| format!("      {}", look.paint.bold(&escape(line)))));
    }
    lines.join("\n")
}
