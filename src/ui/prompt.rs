//! Questions to a person, on stderr.

use std::fmt;
use std::io::{self, ErrorKind, Write};

use console::{Key, Term};
use dialoguer::theme::{SimpleTheme, Theme};

use super::text::escape;
use crate::error::{self, Error};

/// Asks a question. Only `y` and `yes` mean yes. Ctrl-D and a closed terminal mean no; Ctrl-C interrupts the command.
pub(super) fn confirm(question: &str) -> Result<bool, Error> {
    let answer = ask(|theme, prompt| theme.format_confirm_prompt(prompt, &escape(question), Some(false)))?;
    Ok(answer.is_some_and(|answer| is_yes(&answer)))
}

/// Asks a question. Only this word means yes. Ctrl-D and a closed terminal mean no; Ctrl-C interrupts the command.
pub(super) fn confirm_typed(question: &str, word: &str) -> Result<bool, Error> {
    let answer = ask(|theme, prompt| theme.format_input_prompt(prompt, &escape(question), None))?;
    Ok(answer.is_some_and(|answer| answer.trim() == word))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Shows a prompt and reads a line from the terminal; `None` if the person cancels.
fn ask(prompt: impl FnOnce(&SimpleTheme, &mut String) -> fmt::Result) -> Result<Option<String>, Error> {
    let mut term = Term::stderr();
    if !term.is_term() {
        return Ok(None);
    }
    let mut text = String::new();
    // Formatting into a string does not fail.
    let _ = prompt(&SimpleTheme, &mut text);
    let keys = term.clone();
    write!(term, "{} ", text.trim_end())
        .and_then(|()| read_line(|| keys.read_key_raw(), &mut term))
        .map_err(|e| not_read(&e))
}

fn not_read(e: &io::Error) -> Error {
    match e.kind() {
        ErrorKind::Interrupted => Error::interrupted(error::ErrorKind::Interrupted),
        _ => Error::failed("the answer could not be read").note(e.to_string()),
    }
}

/// Reads a line key by key; Ctrl-C is the error [`ErrorKind::Interrupted`]. In raw mode Ctrl-C and Ctrl-D are keys, so they end the question even while a signal handler
/// is installed. Dialoguer's own input ignores Ctrl-D.
fn read_line(mut key: impl FnMut() -> io::Result<Key>, echo: &mut impl Write) -> io::Result<Option<String>> {
    const CTRL_D: char = '\u{4}';
    let mut line = String::new();
    let answer = loop {
        match key() {
            Ok(Key::Enter) => break Some(line),
            Ok(Key::CtrlC) => {
                let _ = writeln!(echo);
                return Err(ErrorKind::Interrupted.into());
            }
            Ok(Key::Char(CTRL_D)) => break None,
            Ok(Key::Backspace) => {
                if let Some(removed) = line.pop() {
                    let width = console::measure_text_width(removed.encode_utf8(&mut [0; 4]));
                    write!(echo, "{0}{1}{0}", "\u{8}".repeat(width), " ".repeat(width))?;
                }
            }
            Ok(Key::Char(c)) if escape(c.encode_utf8(&mut [0; 4])).len() == c.len_utf8() => {
                line.push(c);
                write!(echo, "{c}")?;
            }
            Ok(_) => {}
            Err(e) if is_closed(e.kind()) => break None,
            Err(e) => return Err(e),
        }
        echo.flush()?;
    };
    // The next output starts on its own line. A closed terminal needs no newline.
    let _ = writeln!(echo);
    Ok(answer)
}

fn is_closed(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::NotConnected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (answer, yes) in [
            ("y", true),
            ("Y", true),
            ("yes", true),
            (" YES ", true),
            ("", false),
            ("n", false),
            ("yeah", false),
            ("ja", false),
        ] {
            assert_eq!(is_yes(answer), yes, "`{answer}`");
        }
    }

    #[test]
    fn enter_submits_the_line_ctrl_d_cancels_and_ctrl_c_interrupts() {
        let typed = |text: &str| text.chars().map(Key::Char).collect::<Vec<_>>();
        for (keys, end, answer, echo) in [
            (typed("yes"), Ok(Key::Enter), Some("yes"), "yes\n"),
            (typed(""), Ok(Key::Enter), Some(""), "\n"),
            (typed("yes"), Ok(Key::Char('\u{4}')), None, "yes\n"),
            (typed("a\u{7}\u{202e}"), Ok(Key::Enter), Some("a"), "a\n"),
            (
                vec![Key::Backspace, Key::Char('漢'), Key::Backspace, Key::ArrowUp],
                Ok(Key::Enter),
                Some(""),
                "漢\u{8}\u{8}  \u{8}\u{8}\n",
            ),
            (typed("y"), Err(ErrorKind::UnexpectedEof), None, "y\n"),
        ] {
            let mut keys = keys.into_iter().map(Ok).chain([end.map_err(io::Error::from)]);
            let mut shown = Vec::new();
            let read = read_line(|| keys.next().unwrap(), &mut shown).unwrap();
            assert_eq!((read.as_deref(), String::from_utf8(shown).unwrap().as_str()), (answer, echo));
        }
        let mut keys = typed("yes").into_iter().chain([Key::CtrlC]).map(Ok);
        let mut shown = Vec::new();
        let interrupted = read_line(|| keys.next().unwrap(), &mut shown).unwrap_err();
        assert_eq!(not_read(&interrupted).kind.exit_code(), 130);
        assert_eq!(String::from_utf8(shown).unwrap(), "yes\n");
    }
}
