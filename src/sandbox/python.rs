//! Finding a Python that can run the emulator.

use std::fmt;
use std::process::Stdio;

use tokio::process::Command;

use super::problem::Problem;

/// The oldest Python that the emulator runs on.
const OLDEST: Version = Version { major: 3, minor: 10 };

/// The names that are tried, in this order; a plain `python3` may be older than one with a number.
const PROGRAMS: [&str; 6] = [
    "python3",
    "python3.14",
    "python3.13",
    "python3.12",
    "python3.11",
    "python3.10",
];

/// Says its version, then proves that it can make virtual environments: Debian leaves `ensurepip` out.
const QUESTION: &str =
    "import sys; print('%d.%d' % sys.version_info[:2], flush=True); import venv, ensurepip; print('venv')";

/// A Python's version, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The 3 of 3.10.
    pub major: u32,
    /// The 10 of 3.10.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What one program answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It runs the emulator.
    Good,
    /// It is older than [`OLDEST`].
    Old(Version),
    /// It cannot make virtual environments.
    NoVenv(Version),
    /// It is no Python, or a broken one.
    Nothing,
}

/// The first program in `PATH` that runs the emulator; else the most helpful of the reasons against those that are there.
///
/// # Errors
///
/// [`Problem::NoVenv`], [`Problem::OldPython`] or [`Problem::NoPython`], the first of them that applies.
pub(super) async fn find() -> Result<&'static str, Problem> {
    find_among(&PROGRAMS).await
}

async fn find_among<'a>(programs: &[&'a str]) -> Result<&'a str, Problem> {
    let mut old = None;
    let mut no_venv = None;
    for &program in programs {
        match ask(program).await {
            Answer::Good => return Ok(program),
            Answer::Old(version) => old = old.or(Some((program, version))),
            Answer::NoVenv(version) => no_venv = no_venv.or(Some((program, version))),
            Answer::Nothing => {}
        }
    }
    Err(match (no_venv, old) {
        (Some((program, version)), _) => Problem::NoVenv {
            program: program.to_owned(),
            version,
        },
        (None, Some((program, version))) => Problem::OldPython {
            program: program.to_owned(),
            version,
        },
        (None, None) => Problem::NoPython,
    })
}

async fn ask(program: &str) -> Answer {
    let output = Command::new(program)
        .args(["-I", "-c", QUESTION])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await;
    match output {
        Ok(output) => understand(&String::from_utf8_lossy(&output.stdout)),
        Err(_) => Answer::Nothing,
    }
}

fn understand(output: &str) -> Answer {
    let mut lines = output.lines().map(str::trim);
    let Some(version) = lines.next().and_then(parse) else {
        return Answer::Nothing;
    };
    if version < OLDEST {
        Answer::Old(version)
    } else if lines.next() == Some("venv") {
        Answer::Good
    } else {
        Answer::NoVenv(version)
    }
}

fn parse(text: &str) -> Option<Version> {
    let (major, minor) = text.split_once('.')?;
    Some(Version {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_understood() {
        let version = |minor| Version { major: 3, minor };
        let table = [
            ("3.10\nvenv\n", Answer::Good),
            ("3.14\nvenv\n", Answer::Good),
            ("3.11\r\nvenv\r\n", Answer::Good),
            ("4.0\nvenv\n", Answer::Good),
            ("3.9\nvenv\n", Answer::Old(version(9))),
            ("3.9\n", Answer::Old(version(9))),
            ("2.7\nvenv\n", Answer::Old(Version { major: 2, minor: 7 })),
            ("3.12\n", Answer::NoVenv(version(12))),
            ("3\nvenv\n", Answer::Nothing),
            ("3.x\nvenv\n", Answer::Nothing),
            ("pyenv: python3.12: command not found", Answer::Nothing),
            ("", Answer::Nothing),
        ];
        for (output, answer) in table {
            assert_eq!(understand(output), answer, "{output:?}");
        }
    }

    #[tokio::test]
    async fn the_first_good_python_is_taken_else_the_best_reason_is_given() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let script = |name: &str, says: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\nprintf '{says}'\n")).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let good = script("good", "3.12\\nvenv\\n");
        let other = script("other", "3.14\\nvenv\\n");
        let old = script("old", "3.9\\nvenv\\n");
        let bare = script("bare", "3.11\\n");
        let absent = dir.path().join("absent").to_str().unwrap().to_owned();
        let version = |minor| Version { major: 3, minor };
        let table: [(&[&str], Result<&str, Problem>); 6] = [
            (&[&good, &other], Ok(&good)),
            (&[&absent, &old, &bare, &other], Ok(&other)),
            (
                &[&absent, &old, &bare],
                Err(Problem::NoVenv {
                    program: bare.clone(),
                    version: version(11),
                }),
            ),
            (
                &[&old, &absent],
                Err(Problem::OldPython {
                    program: old.clone(),
                    version: version(9),
                }),
            ),
            (&[&absent], Err(Problem::NoPython)),
            (&[], Err(Problem::NoPython)),
        ];
        for (programs, expected) in table {
            let found = find_among(programs).await.map_err(|p| p.to_string());
            assert_eq!(found, expected.map_err(|p| p.to_string()), "{programs:?}");
        }
    }
}
