//! The script for bash, and what it reads. Bash divides words at `=` and `:`, and clap's form of bash does not join them.

use std::io;

use clap_complete::engine::CompletionCandidate;
use clap_complete::env::{Bash, EnvCompleter};

use super::line::Line;
use crate::error::{Error, quoted};

/// The script, from that of clap.
pub(super) fn script(variable: &str, name: &str, program: &str) -> Result<String, Error> {
    let mut script = Vec::new();
    Bash.write_registration(variable, "kibus", &quoted(name), "kibus", &mut script)
        .map_err(|e| not_made(&e))?;
    // clap puts the path between double quotes, quoted already, so a path with a space would not be found. Its separator
    // of candidates is a control character, and kibus writes none.
    Ok(String::from_utf8_lossy(&script)
        .replace("\"kibus\" --", &format!("{} --", quoted(program)))
        .replace(r"IFS=$'\013'", r"IFS=$'\n'"))
}

/// The candidates, each without the part of its word that bash has as words of their own.
pub(super) fn text(line: &Line, candidates: &[CompletionCandidate]) -> String {
    let value = |candidate: &CompletionCandidate| {
        let value = candidate.get_value().to_string_lossy();
        value.get(line.divided..).unwrap_or_default().to_owned()
    };
    candidates.iter().map(value).collect::<Vec<_>>().join("\n")
}

/// The error of a script that could not be made.
pub(super) fn not_made(e: &io::Error) -> Error {
    Error::failed("the script could not be made").note(e.to_string())
}
