//! Completion in a shell. The script of `kibus completions` calls kibus whenever a person asks for completion, with the
//! words of the command line. Nothing here writes an error: a person who types wants candidates, or silence.

mod bash;
mod candidates;
mod line;
mod names;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use clap_complete::engine;
use clap_complete::env::Shells;

use super::{Cli, parse, plain_ui};
use crate::error::Error;
use line::Line;
use names::Names;

/// The variable with the shell that asks, or with the names that kibus asks of itself.
const VARIABLE: &str = "KIBUS_COMPLETE";
/// The variable in which the scripts of some shells pass the index of the word to complete. In other shells it is the last.
const INDEX: &str = "_CLAP_COMPLETE_INDEX";

/// Writes the candidates and returns the exit code, if a script asks for them: with the variable, and with `--` before the
/// words, which no other command line begins with.
pub(super) fn answer(args: &[OsString]) -> Option<u8> {
    let asker = std::env::var(VARIABLE).ok()?;
    let [_, escape, words @ ..] = args else { return None };
    if escape != "--" {
        return None;
    }
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let text = match Names::called(&asker) {
        Some(names) => names.read(&words).join("\n"),
        None => candidates(Shell::from_str(&asker, false).ok()?, words),
    };
    let text = text.trim_end();
    if !text.is_empty() {
        // The shell may have closed the pipe.
        let _ = plain_ui().out(text);
    }
    Some(0)
}

/// The candidates in the form that the script of this shell reads.
fn candidates(shell: Shell, words: Vec<String>) -> String {
    let index = std::env::var(INDEX).ok().and_then(|index| index.parse().ok());
    let directory = std::env::current_dir().ok();
    if shell == Shell::Bash {
        let line = Line::of_bash(&words, index);
        let mut command = candidates::add_to(command(), &line);
        let found = engine::complete(&mut command, line.os_words(), line.index, directory.as_deref());
        return bash::text(&line, &found.unwrap_or_default());
    }
    let line = Line::new(words, index);
    let mut command = candidates::add_to(command(), &line);
    let mut text = Vec::new();
    let written = Shells::builtins()
        .completer(&shell.to_string())
        .map(|shell| shell.write_complete(&mut command, line.os_words(), directory.as_deref(), &mut text));
    match written {
        Some(Ok(())) => String::from_utf8_lossy(&text).into_owned(),
        _ => String::new(),
    }
}

/// The commands and options that people see.
fn command() -> clap::Command {
    parse::visible(&Cli::command())
}

/// The script that makes a shell complete the program that was called with this path.
///
/// A program that was called by its name is found in `PATH` again. A path becomes absolute.
pub(super) fn script(shell: Shell, called: &OsStr) -> Result<String, Error> {
    let path = PathBuf::from(called);
    let name = path.file_name().unwrap_or(called).to_string_lossy().into_owned();
    let program = match path.components().count() {
        1 => path,
        _ => std::path::absolute(&path).unwrap_or(path),
    };
    let program = program.to_string_lossy();
    let builtin = Shells::builtins();
    let completer = builtin.completer(&shell.to_string());
    let mut script = Vec::new();
    let written = match (shell, completer) {
        (Shell::Bash, _) => return bash::script(VARIABLE, &name, &program),
        (_, Some(completer)) => completer.write_registration(VARIABLE, "kibus", &name, &program, &mut script),
        (_, None) => return Err(Error::failed(format!("kibus has no completion for {shell}"))),
    };
    written.map_err(|e| bash::not_made(&e))?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The candidates for the end of a command line, each with its help.
    fn complete(line: &str) -> Vec<String> {
        let words = line.split(' ').map(str::to_owned).collect();
        candidates(Shell::Fish, words).lines().map(str::to_owned).collect()
    }

    fn values(line: &str) -> Vec<String> {
        let found = complete(line);
        let value = |candidate: &String| candidate.split('\t').next().unwrap().to_owned();
        found.iter().map(value).collect()
    }

    #[test]
    fn a_word_has_the_candidates_of_its_place() {
        for (line, expected) in [
            ("kibus remo", &["remove-cluster"][..]),
            ("kibus policy ", &["operator", "router", "controller", "help"]),
            ("kibus --region us-w", &["us-west-1", "us-west-2"]),
            (
                "kibus --region=us-gov-",
                &["--region=us-gov-east-1", "--region=us-gov-west-1"],
            ),
            ("kibus list --region us-west-2 --output ", &["text", "json"]),
            (
                "kibus explain K10",
                &["K101", "K102", "K103", "K104", "K105", "K106", "K107", "K108"],
            ),
            ("kibus completions ", &["bash", "elvish", "fish", "powershell", "zsh"]),
            ("kibus list --end", &["--endpoint-url"]),
            // Only `=` begins the value of a boolean.
            ("kibus --sandbox lis", &["list"]),
            ("kibus list --sandbox=", &["--sandbox=true", "--sandbox=false"]),
            // What is hidden is not shown.
            ("kibus refer", &[]),
            ("kibus policy router x", &[]),
        ] {
            assert_eq!(values(line), expected, "{line}");
        }
    }

    #[test]
    fn options_are_shown_where_one_begins() {
        let without = values("kibus ");
        assert!(without.contains(&"add-cluster".to_owned()), "{without:?}");
        assert!(!without.iter().any(|value| value.starts_with('-')), "{without:?}");
        let options = values("kibus status --");
        assert!(options.iter().all(|value| value.starts_with('-')), "{options:?}");
        for option in ["--watch", "--region", "--help"] {
            assert!(options.contains(&option.to_owned()), "{option}: {options:?}");
        }
    }

    #[test]
    fn a_code_has_its_meaning() {
        let meaning = "K108\tevents of this kind reach no cluster at all";
        assert_eq!(complete("kibus explain K108"), [meaning]);
    }

    #[test]
    fn a_script_calls_the_program_that_printed_it() {
        for shell in Shell::value_variants() {
            for (called, name, program) in [
                ("kibus", "kibus", "kibus"),
                ("/opt/kibus-0.3/kibus-next", "kibus-next", "/opt/kibus-0.3/kibus-next"),
            ] {
                let script = script(*shell, OsStr::new(called)).unwrap();
                for text in [&format!("{program} -- "), name, VARIABLE] {
                    assert!(script.contains(text), "no {text} in {script}");
                }
            }
        }
    }
}
