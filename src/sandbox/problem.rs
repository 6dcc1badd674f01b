//! What can go wrong with the sandbox, as data, and the words for it.

use std::path::PathBuf;

use super::python::Version;
use crate::error::Error;

/// Why the sandbox could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// There is no home directory to keep the sandbox in.
    #[error("there is no place to keep the sandbox: none of `KIBUS_SANDBOX_HOME`, `XDG_DATA_HOME` and `HOME` is set")]
    NoHome,
    /// No Python was found in `PATH`.
    #[error("the sandbox needs Python 3.10 or newer, and there is no `python3`")]
    NoPython,
    /// The newest Python in `PATH` is too old.
    #[error("the sandbox needs Python 3.10 or newer, and `{program}` is {version}")]
    OldPython {
        /// How it was called.
        program: String,
        /// What it says it is.
        version: Version,
    },
    /// Debian and Ubuntu ship Python without `venv` and `ensurepip`.
    #[error("`{program}` {version} cannot make virtual environments: its modules `venv` and `ensurepip` are missing")]
    NoVenv {
        /// How it was called.
        program: String,
        /// What it says it is.
        version: Version,
    },
    /// Making the virtual environment or installing into it failed.
    #[error("{what} failed")]
    Install {
        /// What was being done.
        what: &'static str,
        /// The last lines that the program wrote.
        output: String,
    },
    /// The server ended, or did not answer in time.
    #[error("the sandbox's server did not start: {reason}")]
    NotStarted {
        /// What was seen.
        reason: String,
        /// The last lines of its log.
        log: String,
    },
    /// A command needs a running sandbox.
    #[error("the sandbox is not running")]
    NotRunning,
    /// The process that is recorded lives but does not answer.
    #[error("the sandbox's server (process {pid}) does not answer on port {port}")]
    Silent {
        /// Its process id.
        pid: u32,
        /// The port it should listen on.
        port: u16,
    },
    /// The server outlived both signals.
    #[error("the sandbox's server (process {pid}) does not end")]
    NotEnded {
        /// Its process id.
        pid: u32,
    },
    /// A file or a process could not be handled.
    #[error("cannot {what} `{path}`: {source}")]
    Io {
        /// A verb, for the sentence.
        what: &'static str,
        /// The file or program.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Problem {
    /// For `map_err`: an input or output error with what was done to which file.
    pub(super) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { what, path, source }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        let error = Self::failed(problem.to_string());
        match problem {
            Problem::NoHome => error.hint("set `KIBUS_SANDBOX_HOME` to a directory of your own"),
            Problem::NoPython | Problem::OldPython { .. } => {
                let error = error.note("the sandbox runs a local AWS emulator that is written in Python");
                if cfg!(target_os = "macos") {
                    error.hint_command("install it, and try again:", "brew install python3")
                } else {
                    error
                        .hint_command(
                            "on Debian and Ubuntu:",
                            "apt-get install python3 python3-venv",
                        )
                        .hint_command("on Fedora and Amazon Linux:", "dnf install python3.12")
                }
            }
            Problem::NoVenv { .. } => error.hint_command(
                "on Debian and Ubuntu they are a package of their own:",
                "apt-get install python3-venv",
            ),
            Problem::Install { output, .. } => with_lines(error, &output)
                .note("nothing half-made is used; the next run begins again")
                .hint("the emulator comes from the package index that `pip` is set up for (`PIP_INDEX_URL`, proxy and certificate settings are respected)"),
            Problem::NotStarted { log, .. } => with_lines(error, &log),
            Problem::NotRunning => error.hint_command("start it:", "kibus sandbox up"),
            Problem::Silent { .. } | Problem::NotEnded { .. } => {
                error.hint_command("end it, and start again:", "kibus sandbox down")
            }
            Problem::Io { .. } => error,
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
    fn every_problem_that_a_person_can_solve_names_the_command() {
        let version = Version { major: 3, minor: 9 };
        let program = "python3".to_owned();
        let table = [
            (Problem::NotRunning, "kibus sandbox up"),
            (Problem::Silent { pid: 1, port: 1 }, "kibus sandbox down"),
            (Problem::NoVenv { program, version }, "apt-get install python3-venv"),
        ];
        for (problem, command) in table {
            let said = problem.to_string();
            let error = Error::from(problem);
            assert!(
                error.hints.iter().any(|hint| hint.command == Some((*command).into())),
                "{said}: {error:?}"
            );
        }
    }

    #[test]
    fn output_of_a_failed_program_becomes_notes_without_blank_lines() {
        let error = Error::from(Problem::NotStarted {
            reason: "it ended".into(),
            log: "one\n\n two\n".into(),
        });
        assert_eq!(error.notes, ["one", " two"]);
    }
}
