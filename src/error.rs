//! The error that the user sees: its kind, what failed, and the next steps.
//!
//! A failure gets its words where it is found, and `ui` prints it as text or JSON. A refusal by AWS stays data until a command reports it.

use std::{fmt, iter};

use serde::Serialize;

/// The kind of an error, which has its own exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ErrorKind {
    /// A check has findings.
    Differences,
    /// The plan was shown and not confirmed.
    NotConfirmed,
    /// A check refused the plan, for example because kibus does not manage a resource.
    Refused,
    /// The command line, a name or a file is invalid.
    Usage,
    /// A call failed, or a resource could not be read.
    Failed,
    /// Ended by SIGTERM.
    Terminated,
    /// Ended by Ctrl-C.
    Interrupted,
}

impl ErrorKind {
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

/// Names for a message: each in backticks, separated by commas.
pub fn listed(names: impl IntoIterator<Item: fmt::Display>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// A word, quoted for a shell if needed.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A next step.
// A sentence with the reason or the condition, and the command to copy, if any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "HintObject"))]
pub struct Hint {
    pub text: String,
    // Whole, on its own line.
    pub command: Option<String>,
}

impl Hint {
    /// Without a command.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { text, command: None }
    }

    /// With a whole command, on its own line.
    pub fn command(text: impl Into<String>, command: impl Into<String>) -> Self {
        Self { text: text.into(), command: Some(command.into()) }
    }
}

/// The counts of changes after an apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Progress {
    /// Number of applied changes.
    pub done: usize,
    /// Number of changes that failed.
    pub failed: usize,
    /// Number of changes that were in flight when the command was stopped: AWS may have applied them.
    pub unknown: usize,
    /// Number of changes that were not applied at all.
    pub not_tried: usize,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { done, failed, unknown, not_tried } = *self;
        write!(f, "{done} of {} changes applied", done + failed + unknown + not_tried)?;
        for (count, word) in [(failed, "failed"), (unknown, "unknown")] {
            if count > 0 {
                write!(f, ", {count} {word}")?;
            }
        }
        write!(f, ", {not_tried} not tried")
    }
}

/// An error.
// It ends the command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "ErrorObject", extend("dependentRequired" = {
    "done": ["failed", "unknown", "not_tried"],
    "failed": ["done", "unknown", "not_tried"],
    "unknown": ["done", "failed", "not_tried"],
    "not_tried": ["done", "failed", "unknown"],
})))]
#[error("{message}")]
pub struct Error {
    pub kind: ErrorKind,
    /// What failed.
    // One lower-case line without a period.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub message: String,
    /// The reason, and the state after the failure.
    // One line each.
    pub notes: Vec<String>,
    /// The next steps.
    pub hints: Vec<Hint>,
    // The counts of changes, if an apply started.
    #[serde(flatten)]
    pub progress: Option<Progress>,
}

impl Error {
    /// Without notes and hints.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), notes: Vec::new(), hints: Vec::new(), progress: None }
    }

    /// Something failed; the exit code is 1.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// The command refuses; the exit code is 4.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// The command line or an input is wrong; the exit code is 64.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// A signal arrived before any change.
    pub fn interrupted(kind: ErrorKind) -> Self {
        Self::new(kind, "interrupted; nothing was changed")
    }

    /// Adds a line about the cause or the current state.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a hint without a command.
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hints.push(Hint::text(text));
        self
    }

    /// Adds a hint with a whole command.
    pub fn hint_command(mut self, text: impl Into<String>, command: impl Into<String>) -> Self {
        self.hints.push(Hint::command(text, command));
        self
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line() {
        for (text, most, line) in
            [("", 3, ""), ("a b", 3, "a b"), (" a\n\tb ", 3, "a b"), ("a bc", 3, "a b…"), ("äöüß", 3, "äöü…")]
        {
            assert_eq!(excerpt(text, most), line, "{text:?}");
        }
        assert_eq!(excerpt(&"a ".repeat(5_000_000), 10).chars().count(), 11);
    }

    /// The words of a command line, split by a shell. Every command in it only prints its words.
    pub(crate) fn shell_words(line: &str) -> Vec<String> {
        let script = format!(
            "for program in kibus aws; do eval \"$program() {{ printf '%s\\0' $program \\\"\\$@\\\"; }}\"; done\n{line}"
        );
        let output = Command::new("sh").args(["-c", &script]).env_clear().output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{line}: {output:?}");
        let words = String::from_utf8(output.stdout).unwrap();
        words.split_terminator('\0').map(str::to_owned).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn a_shell_reads_quoted_words_as_they_were(words in prop::collection::vec(any::<String>(), 1..20)) {
            let words: Vec<String> = words.iter().map(|word| word.replace('\0', "$(kibus)`kibus`\"'\\;&|~*")).collect();
            let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            prop_assert_eq!(&shell_words(&format!("kibus {}", line.join(" ")))[1..], &words[..]);
        }
    }

    /// The lines of the product's code below `src`, without comments, with the path of their file.
    pub(crate) fn code_lines() -> Vec<(PathBuf, String)> {
        let mut paths = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut found = Vec::new();
        while let Some(path) = paths.pop() {
            if path.is_dir() && !path.ends_with("tests") {
                paths.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else if path.extension().is_some_and(|kind| kind == "rs") && !is_of_tests(&path) {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
                let code = code.split("#[cfg(test)]\npub(crate) mod tests {").next().unwrap().lines().map(str::trim);
                found.extend(code.filter(|line| !line.starts_with("//")).map(|line| (path.clone(), line.to_owned())));
            }
        }
        found
    }

    fn is_of_tests(path: &Path) -> bool {
        ["tests.rs", "hostile.rs"].iter().any(|file| path.ends_with(file))
    }

    /// The scope builds every command for a bus, with the global options; no other text spells one out. A sentence
    /// about findings needs no bus.
    #[test]
    fn only_a_scope_makes_a_command_about_a_bus() {
        let commands =
            "add-cluster bootstrap-hub dead-letters list policy remove-cluster rollback status teardown verify";
        let sentence = "no finding has this code; codes are like K203, and `kibus verify` prints them";
        let spells = |line: &str| commands.split(' ').any(|command| line.contains(&format!("kibus {command}")));
        let mut found = code_lines();
        found.retain(|(_, line)| spells(line) && !line.contains(sentence));
        assert_eq!(found, Vec::new());
    }
}
