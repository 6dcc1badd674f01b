//! The error that a person sees: its kind, what failed, and the next steps.
//!
//! Modules keep their own errors as data. The command layer turns them into an [`Error`], and `ui` prints it as text or
//! JSON.

pub(crate) mod shell;

use std::{fmt, iter};

use serde::Serialize;

pub use shell::quoted;

/// The kind of an error, which has its own exit code.
// A later kind is worse, for the reason that `Ending` has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ErrorKind {
    /// A check has findings.
    Differences,
    /// The plan was shown and not confirmed.
    NotConfirmed,
    /// A check refused the plan, for example because kibus does not manage a resource.
    Refused,
    /// The command line, a name or a file cannot be understood.
    Usage,
    /// A call failed, or a resource could not be read.
    Failed,
    /// Ended by SIGTERM.
    Terminated,
    /// Ended by Ctrl-C.
    Interrupted,
}

/// How a command ends. A command about several hubs ends with the worst of their endings, which is the greatest: one exit
/// code must be that which leaves most unknown. After a signal it is unknown what the rest would have been; after a
/// failure, changes may be made. Invalid input, a refusal, and a plan that nobody confirmed changed nothing; differences are
/// a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Done, or nothing to do.
    Done,
    /// Otherwise.
    With(ErrorKind),
}

impl Ending {
    /// The exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::With(kind) => kind.exit_code(),
        }
    }
}

impl ErrorKind {
    /// The exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Differences => 2,
            Self::NotConfirmed => 3,
            Self::Refused => 4,
            Self::Usage => 64,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

/// Text from outside for an error message: one line, cut after `most` characters.
pub fn excerpt(text: &str, most: usize) -> String {
    let words = text.split_whitespace();
    let mut rest = words.flat_map(|word| iter::once(' ').chain(word.chars())).skip(1);
    let mut line: String = rest.by_ref().take(most).collect();
    if rest.next().is_some() {
        line.push('…');
    }
    line
}

/// Names for a message: each in backquotes, with commas between.
pub fn listed(names: impl IntoIterator<Item: fmt::Display>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// A next step: a sentence, and the command to copy, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The reason or the condition for this step.
    pub text: String,
    /// The command, whole, which has its own line.
    pub command: Option<String>,
}

impl Hint {
    /// A next step in words.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { text, command: None }
    }

    /// A next step with a command.
    pub fn command(text: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            command: Some(command.into()),
        }
    }
}

/// The counts of changes after an apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Applied changes.
    pub done: usize,
    /// Failed changes.
    pub failed: usize,
    /// Changes that were in flight when the command was stopped: AWS may have applied them.
    pub unknown: usize,
    /// Changes of which nothing was applied.
    pub not_tried: usize,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            done,
            failed,
            unknown,
            not_tried,
        } = *self;
        write!(f, "{done} of {} changes applied", done + failed + unknown + not_tried)?;
        for (count, word) in [(failed, "failed"), (unknown, "unknown")] {
            if count > 0 {
                write!(f, ", {count} {word}")?;
            }
        }
        write!(f, ", {not_tried} not tried")
    }
}

/// The error that a command ends with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The kind, which decides the exit code.
    pub kind: ErrorKind,
    /// What failed, in one lower-case line without a full stop.
    pub message: String,
    /// The cause and the current state; a line each.
    pub notes: Vec<String>,
    /// The next steps.
    pub hints: Vec<Hint>,
    /// The counts of changes, if an apply started.
    pub progress: Option<Progress>,
}

impl Error {
    /// An error of this kind with this message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            notes: Vec::new(),
            hints: Vec::new(),
            progress: None,
        }
    }

    /// A failure.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// A refusal.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// Invalid input.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// A signal, or Ctrl-C at a question, came before any change.
    pub fn interrupted(kind: ErrorKind) -> Self {
        Self::new(kind, "interrupted; nothing was changed")
    }

    /// Adds a line about the cause or the current state.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a next step in words.
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hints.push(Hint::text(text));
        self
    }

    /// Adds a next step with a command.
    pub fn hint_command(mut self, text: impl Into<String>, command: impl Into<String>) -> Self {
        self.hints.push(Hint::command(text, command));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_ending_of_several_hubs_counts() {
        let with = |kinds: &[ErrorKind]| kinds.iter().map(|kind| Ending::With(*kind)).collect::<Vec<_>>();
        use ErrorKind::{Differences, Failed, Interrupted, NotConfirmed, Refused, Terminated, Usage};
        for (endings, code) in [
            (vec![Ending::Done, Ending::Done], 0),
            (vec![Ending::With(Differences), Ending::Done], 2),
            (with(&[Differences, NotConfirmed]), 3),
            (with(&[Refused, NotConfirmed]), 4),
            (with(&[Refused, Usage]), 64),
            (with(&[Failed, Refused, Usage]), 1),
            (with(&[Failed, Terminated]), 143),
            (with(&[Interrupted, Failed, Differences]), 130),
        ] {
            assert_eq!(endings.iter().max().unwrap().exit_code(), code, "{endings:?}");
        }
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        for (text, most, line) in [
            ("", 3, ""),
            ("a b", 3, "a b"),
            (" a\n\tb ", 3, "a b"),
            ("a bc", 3, "a b…"),
            ("äöüß", 3, "äöü…"),
        ] {
            assert_eq!(excerpt(text, most), line, "{text:?}");
        }
        assert_eq!(excerpt(&"a ".repeat(5_000_000), 10).chars().count(), 11);
    }
}
