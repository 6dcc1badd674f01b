//! The errors of the sandbox as data, with their messages.

use std::path::PathBuf;

use crate::error::{Error, quoted};

#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("there is no directory for the sandbox: none of `KIBUS_SANDBOX_HOME`, `XDG_DATA_HOME` and `HOME` is set")]
    NoHome,
    #[error("the sandbox needs Python 3.10 or newer; no `python3` was found in PATH")]
    NoPython,
    /// `python3` could not create a virtual environment: it is older, or its modules for that are a package of their own.
    #[error("creating a virtual environment with `python3` failed")]
    NoEnvironment {
        /// Its last lines.
        output: String,
    },
    #[error("installing the local AWS emulator failed")]
    NotInstalled {
        /// The last lines of `pip`.
        output: String,
    },
    #[error("the sandbox server did not start: {reason}")]
    NotStarted {
        reason: String,
        /// Its last lines.
        log: String,
    },
    #[error("the sandbox is not running")]
    NotRunning,
    #[error("the sandbox server (process {pid}) does not respond on port {port}")]
    Unresponsive { pid: u32, port: u16 },
    #[error("the sandbox server (process {pid}) could not be stopped")]
    NotStopped { pid: u32 },
    /// Another user could put something into it that kibus or a shell would run.
    #[error("`{path}` belongs to another user, so kibus uses nothing from it")]
    OtherOwner { path: PathBuf },
    /// Another user could have changed it, or read the secret in it.
    #[error("other users have access to `{path}`, so kibus uses nothing from it")]
    OpenToOthers { path: PathBuf },
    #[error("cannot {what} `{path}`: {source}")]
    Io {
        /// A verb.
        what: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
}

impl SandboxError {
    /// For `map_err`: adds the operation and the file to an I/O error.
    pub(super) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { what, path, source }
    }
}

impl From<SandboxError> for Error {
    fn from(failure: SandboxError) -> Self {
        let error = Self::failed(failure.to_string());
        match failure {
            SandboxError::OtherOwner { .. } => {
                error.hint("set `KIBUS_SANDBOX_HOME` to a directory of your own, or delete this one")
            }
            SandboxError::OpenToOthers { path } => {
                let path = path.to_string_lossy();
                error.hint_command("if it is yours, take the access from them:", format!("chmod go= {}", quoted(&path)))
            }
            SandboxError::NoHome => error.hint("set `KIBUS_SANDBOX_HOME` to a directory that you can write to"),
            SandboxError::NoPython => with_python(error),
            SandboxError::NoEnvironment { output } => with_python(with_lines(error, &output)),
            SandboxError::NotInstalled { output } => with_lines(error, &output)
                .note("the emulator needs Python 3.10 or newer; kibus runs the first `python3` in PATH")
                .note("the incomplete installation is not used; the next run starts over")
                .hint("`pip` downloads the emulator from its configured package index; check `PIP_INDEX_URL` and the proxy and certificate settings"),
            SandboxError::NotStarted { log, .. } => with_lines(error, &log),
            SandboxError::NotRunning => error.hint_command("to start it:", "kibus sandbox up"),
            SandboxError::Unresponsive { .. } | SandboxError::NotStopped { .. } => {
                error.hint_command("to stop it:", "kibus sandbox down")
            }
            SandboxError::Io { .. } => error,
        }
    }
}

fn with_lines(error: Error, lines: &str) -> Error {
    let lines = lines.lines().filter(|line| !line.trim().is_empty());
    lines.fold(error, Error::note)
}

/// How to install a Python that can run the emulator.
fn with_python(error: Error) -> Error {
    let error = error.note("the sandbox runs a local AWS emulator that is written in Python");
    if cfg!(target_os = "macos") {
        return error.hint_command("install it and run the command again:", "brew install python3");
    }
    error
        .hint_command("on Debian and Ubuntu:", "apt-get install python3 python3-venv")
        .hint_command("on Fedora:", "dnf install python3")
        .hint("where that is older than 3.10, put a newer `python3` first in PATH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_with_a_known_fix_names_the_command() {
        let output = "ensurepip is not available".to_owned();
        let table = [
            (SandboxError::NotRunning, "kibus sandbox up"),
            (SandboxError::Unresponsive { pid: 1, port: 1 }, "kibus sandbox down"),
            (
                SandboxError::NoEnvironment { output },
                "apt-get install python3 python3-venv",
            ),
        ];
        for (failure, command) in table {
            let message = failure.to_string();
            let error = Error::from(failure);
            assert!(
                error.hints.iter().any(|hint| hint.command == Some((*command).into())),
                "{message}: {error:?}"
            );
        }
    }

    #[test]
    fn output_of_a_failed_program_becomes_notes_without_blank_lines() {
        let error = Error::from(SandboxError::NotStarted {
            reason: "it exited".into(),
            log: "one\n\n two\n".into(),
        });
        assert_eq!(error.notes, ["one", " two"]);
    }
}
