//! The errors of the sandbox as data, with their messages.

use std::path::PathBuf;

use crate::error::{Error, quoted};

/// Why an operation on the sandbox failed.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("there is no directory for the sandbox: none of `KIBUS_SANDBOX_HOME`, `XDG_DATA_HOME` and `HOME` is set")]
    NoHome,
    #[error("the sandbox needs Python 3.10 or newer; no `python3` was found in PATH")]
    NoPython,
    #[error("the sandbox needs Python 3.10 or newer; `{program}` is version {version}")]
    OldPython { program: String, version: String },
    /// Debian and Ubuntu ship Python without `venv` and `ensurepip`.
    #[error("`{program}` {version} cannot create virtual environments: its modules `venv` and `ensurepip` are missing")]
    NoVenv { program: String, version: String },
    /// Creating the virtual environment, or installing into it, failed.
    #[error("{what} failed")]
    Install {
        what: &'static str,
        /// Its last lines.
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
            SandboxError::NoPython | SandboxError::OldPython { .. } => {
                let error = error.note("the sandbox runs a local AWS emulator that is written in Python");
                if cfg!(target_os = "macos") {
                    error.hint_command("install it and run the command again:", "brew install python3")
                } else {
                    error
                        .hint_command(
                            "on Debian and Ubuntu:",
                            "apt-get install python3 python3-venv",
                        )
                        .hint_command("on Fedora and Amazon Linux:", "dnf install python3.12")
                }
            }
            SandboxError::NoVenv { .. } => error.hint_command(
                "on Debian and Ubuntu, install them with:",
                "apt-get install python3-venv",
            ),
            SandboxError::Install { output, .. } => with_lines(error, &output)
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
    lines
        .lines()
        .filter(|line| !line.trim().is_empty())
        .fold(error, Error::note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_with_a_known_fix_names_the_command() {
        let (program, version) = ("python3".to_owned(), "3.9".to_owned());
        let table = [
            (SandboxError::NotRunning, "kibus sandbox up"),
            (SandboxError::Unresponsive { pid: 1, port: 1 }, "kibus sandbox down"),
            (
                SandboxError::NoVenv { program, version },
                "apt-get install python3-venv",
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
