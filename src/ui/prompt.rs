//! Questions to a person, on stderr.

use std::fmt;
use std::io::ErrorKind;

use console::Term;
use dialoguer::Input;
use dialoguer::theme::Theme;

use super::text::escape;
use crate::error::Error;

/// Asks a question that only `y` or `yes` answers with yes. Ctrl-C is no, and so is a terminal that goes away.
pub(super) fn confirm(question: &str) -> Result<bool, Error> {
    let answer = ask(&format!("{} [y/N]", escape(question)))?;
    Ok(is_yes(&answer))
}

/// Asks a question that only this word answers with yes. Ctrl-C is no, and so is a terminal that goes away.
pub(super) fn confirm_typed(question: &str, word: &str) -> Result<bool, Error> {
    let answer = ask(&format!("{}:", escape(question)))?;
    Ok(answer.trim() == word)
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// A line that the person types. It reads key by key, so that Ctrl-C ends the question, whoever else listens for
/// the signal that it also sends.
fn ask(prompt: &str) -> Result<String, Error> {
    let answer = Input::<String>::with_theme(&Plain)
        .with_prompt(prompt)
        .allow_empty(true)
        .interact_text_on(&Term::stderr());
    match answer {
        Ok(answer) => Ok(answer),
        Err(dialoguer::Error::IO(e)) if is_end(e.kind()) => {
            // The next line does not belong behind the question; a terminal that is gone needs no line.
            let _ = Term::stderr().write_line("");
            Ok(String::new())
        }
        Err(dialoguer::Error::IO(e)) => Err(Error::failed("the answer could not be read").note(e.to_string())),
    }
}

fn is_end(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Interrupted | ErrorKind::UnexpectedEof | ErrorKind::NotConnected
    )
}

/// The prompt as it was given, and the answer after it.
struct Plain;

impl Theme for Plain {
    fn format_input_prompt(&self, f: &mut dyn fmt::Write, prompt: &str, _default: Option<&str>) -> fmt::Result {
        write!(f, "{prompt} ")
    }

    fn format_input_prompt_selection(&self, f: &mut dyn fmt::Write, prompt: &str, answer: &str) -> fmt::Result {
        write!(f, "{prompt} {}", escape(answer))
    }
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
}
