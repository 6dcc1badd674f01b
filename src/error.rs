//! The one error that reaches a person: what kind it is, what happened, and what to do next.
//!
//! Modules keep errors of their own as data; they become an [`Error`] once, at the edge, where the
//! words are chosen. Nothing here prints: `ui` turns an error into text or JSON.

use std::fmt;

/// What family an error belongs to; each has its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Something was tried and did not work, or something could not be read.
    Failed,
    /// A check found that the world differs from what it should be.
    Differences,
    /// The plan was shown, and nobody said yes.
    NotConfirmed,
    /// Kibus will not do this: not ours, or a plan that a check forbids.
    Refused,
    /// The command line, a name or a file cannot be understood.
    Usage,
    /// Ended by Ctrl-C.
    Interrupted,
    /// Ended by SIGTERM.
    Terminated,
}

impl ErrorKind {
    /// The exit code of the process when this is how it ends.
    #[must_use]
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

    /// The word that JSON output uses for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Differences => "differences",
            Self::NotConfirmed => "not-confirmed",
            Self::Refused => "refused",
            Self::Usage => "usage",
            Self::Interrupted => "interrupted",
            Self::Terminated => "terminated",
        }
    }
}

/// A command for a person to copy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invocation {
    /// A kibus subcommand with its arguments. The command layer adds the global options that reach the same bus.
    Kibus(String),
    /// A complete command line.
    Shell(String),
}

impl Invocation {
    /// A kibus subcommand with its arguments, without global options: `add-cluster base`.
    #[must_use]
    pub fn kibus(arguments: impl Into<String>) -> Self {
        Self::Kibus(arguments.into())
    }

    /// The command line, with the global options that a kibus command needs to reach the same bus; `options` is empty
    /// or begins with a space.
    #[must_use]
    pub fn line(&self, options: &str) -> String {
        match self {
            Self::Kibus(arguments) => format!("kibus {arguments}{options}"),
            Self::Shell(line) => line.clone(),
        }
    }
}

impl<T: Into<String>> From<T> for Invocation {
    fn from(line: T) -> Self {
        Self::Shell(line.into())
    }
}

/// A word as a shell takes it.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A next step: a sentence, and the command that it ends in, if there is one to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Why, or when, to take this step.
    pub text: String,
    /// The command, to stand alone on its line.
    pub command: Option<Invocation>,
}

impl Hint {
    /// A next step in words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            command: None,
        }
    }

    /// A next step that ends in a command.
    #[must_use]
    pub fn command(text: impl Into<String>, command: impl Into<Invocation>) -> Self {
        Self {
            text: text.into(),
            command: Some(command.into()),
        }
    }
}

/// How far an apply came before it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Changes that are made.
    pub done: usize,
    /// Changes that were tried and did not succeed.
    pub failed: usize,
    /// Changes that were never begun.
    pub not_tried: usize,
}

/// What a person is told when a command does not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The family, which decides the exit code.
    pub kind: ErrorKind,
    /// What happened, in one lower-case line without a full stop.
    pub message: String,
    /// Why, and what state things are in; a line each.
    pub notes: Vec<String>,
    /// What to do next.
    pub hints: Vec<Hint>,
    /// How far an apply came, if one had begun.
    pub progress: Option<Progress>,
}

impl Error {
    /// An error of this kind with this message and nothing else yet.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            notes: Vec::new(),
            hints: Vec::new(),
            progress: None,
        }
    }

    /// Something was tried and did not work.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// Kibus will not do this.
    #[must_use]
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// The input cannot be understood.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// Adds a line that says why, or what state things are in.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a next step in words.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hints.push(Hint::text(text));
        self
    }

    /// Adds a next step that ends in a command.
    #[must_use]
    pub fn hint_command(mut self, text: impl Into<String>, command: impl Into<Invocation>) -> Self {
        self.hints.push(Hint::command(text, command));
        self
    }

    /// Completes every kibus command among the next steps with the global options that reach the same bus.
    #[must_use]
    pub fn with_global_options(mut self, options: &str) -> Self {
        for hint in &mut self.hints {
            if let Some(command) = &mut hint.command {
                *command = Invocation::Shell(command.line(options));
            }
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
