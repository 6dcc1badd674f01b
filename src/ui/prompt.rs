//! Questions to the user, on stderr, in dialoguer's style. The terminal edits the line, and turns Ctrl-C into a signal, which ends
//! the command: in the raw mode of dialoguer's own prompts, Ctrl-D is ignored and an interrupted read looks like Ctrl-C.

use std::io::{self, Write};
use std::{mem, thread};

use dialoguer::theme::{SimpleTheme, Theme};
use tokio::sync::oneshot;

use super::text::escape;
use crate::error::Error;

/// Asks a question. Only `word` means yes or, if it is empty, `y` and `yes`. Ctrl-D means no.
pub(super) async fn confirm(question: &str, word: &str) -> Result<bool, Error> {
    let (question, mut prompt) = (escape(question), String::new());
    // Formatting into a string does not fail.
    let _ = match word {
        "" => SimpleTheme.format_confirm_prompt(&mut prompt, &question, Some(false)),
        _ => SimpleTheme.format_input_prompt(&mut prompt, &question, None),
    };
    let not_read = |e: io::Error| Error::failed("the answer could not be read").note(e.to_string());
    let answer = ask(&format!("{} ", prompt.trim_end())).await.map_err(not_read)?;
    Ok(is_yes(&answer, word))
}

fn is_yes(answer: &str, word: &str) -> bool {
    match word {
        "" => ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()),
        word => answer.trim() == word,
    }
}

/// Starts a new line after a question without an answer: after Ctrl-D, and after a signal.
struct OpenLine;

impl Drop for OpenLine {
    fn drop(&mut self) {
        let _ = writeln!(io::stderr());
    }
}

/// Reads a line; empty if the user cancels.
async fn ask(question: &str) -> io::Result<String> {
    write!(io::stderr(), "{question}")?;
    let open = OpenLine;
    let (sender, answer) = oneshot::channel();
    // Not a task of the runtime, which would wait for the line even after a signal.
    thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line).map(|_| line);
        // After a signal, no one receives it.
        let _ = sender.send(read);
    });
    let line = answer.await.map_err(io::Error::other)??;
    if !line.ends_with('\n') {
        return Ok(String::new());
    }
    mem::forget(open);
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_or_the_word_is_yes() {
        for (answers, word, yes) in [
            (&["y\n", "Y\n", " YES \r\n"][..], "", true),
            (&["", "n\n", "yeah\n"], "", false),
            (&["kibus\n"], "kibus", true),
            (&["Kibus\n", "y\n", ""], "kibus", false),
        ] {
            for answer in answers {
                assert_eq!(is_yes(answer, word), yes, "`{answer}`");
            }
        }
    }
}
