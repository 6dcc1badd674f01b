//! Parses the command line. clap reads the variables; this module decides what counts as set, and how help and errors
//! name an option that a variable set, and say once what was typed.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::ParseIntError;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, Command, CommandFactory, FromArgMatches};

use super::Cli;
use super::examples;
use crate::model::name::NameError;
use crate::model::options::OutOfBounds;

/// How similar a command must be to what was typed for a suggestion (Jaro similarity). clap suggests from 0.7, which
/// takes `plan` for `man`.
const CLOSE: f64 = 0.8;

/// Parses the command line.
pub(super) fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let command = command(Cli::command());
    command
        .clone()
        .try_get_matches_from(args)
        .and_then(|matches| {
            let mut cli = Cli::from_arg_matches(&matches)?;
            cli.global.hub.names_bus = matches.value_source("bus") == Some(ValueSource::CommandLine);
            Ok(cli)
        })
        .map_err(|error| {
            let mut built = command;
            built.build();
            plain(error, &built, args)
        })
}

/// The command with its help and its variables complete.
pub(super) fn command(kibus: Command) -> Command {
    fn every(command: Command) -> Command {
        command.mut_args(variable).mut_subcommands(every)
    }
    examples::add_to_help(every(kibus))
}

/// Ignores an empty variable, and names the variable only in `--help`, so that `-h` stays short.
fn variable(arg: Arg) -> Arg {
    let Some(name) = arg.get_env().map(|name| name.to_string_lossy().into_owned()) else {
        return arg;
    };
    let is_empty = std::env::var_os(&name).is_some_and(|value| value.is_empty());
    let help = arg
        .get_long_help()
        .or(arg.get_help())
        .unwrap_or(&StyledStr::new())
        .to_string();
    let arg = arg.long_help(format!("{help}\n[env: {name}]")).hide_env(true);
    if is_empty { arg.env(None::<&str>) } else { arg }
}

/// The error with the variable instead of the flag where the value came from the variable, and without suggestions
/// that are not close or that people do not see.
fn plain(mut error: clap::Error, command: &Command, args: &[OsString]) -> clap::Error {
    for kind in [ContextKind::InvalidArg, ContextKind::PriorArg] {
        if let Some(ContextValue::String(option)) = error.get(kind)
            && let Some(variable) = source(command, option, args)
        {
            error.insert(kind, ContextValue::String(variable));
        }
    }
    if let (Some(ContextValue::String(typed)), Some(ContextValue::Strings(suggested))) = (
        error.get(ContextKind::InvalidSubcommand),
        error.get(ContextKind::SuggestedSubcommand),
    ) {
        let mut close = suggested.clone();
        close.retain(|name| strsim::jaro(name, typed) >= CLOSE && shown(command).any(|known| known.get_name() == name));
        if close.is_empty() {
            error.remove(ContextKind::SuggestedSubcommand);
            error.remove(ContextKind::Suggested);
        } else {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(close));
        }
    }
    wanted(&error).unwrap_or(error)
}

/// The error about an invalid value with what is wanted instead. Its source repeats the value, or is about digits.
fn wanted(error: &clap::Error) -> Option<clap::Error> {
    let source = error.source()?;
    let wanted = if let Some(NameError { expected, .. }) = source.downcast_ref() {
        expected
    } else if let Some(OutOfBounds { expected, .. }) = source.downcast_ref() {
        expected
    } else {
        source
            .downcast_ref::<ParseIntError>()
            .map(|_| "a whole number from 1")?
    };
    let value = error.get(ContextKind::InvalidValue)?;
    let option = error.get(ContextKind::InvalidArg)?;
    let message =
        format!("invalid value '{value}' for '{option}': it must be {wanted}\n\nFor more information, try '--help'.\n");
    Some(clap::Error::raw(ErrorKind::ValueValidation, message))
}

/// The variable that set an option, if the command line does not.
fn source(command: &Command, option: &str, args: &[OsString]) -> Option<String> {
    let arg = command.get_arguments().find(|arg| arg.to_string() == option);
    let Some(arg) = arg else {
        return command.get_subcommands().find_map(|below| source(below, option, args));
    };
    let variable = arg.get_env()?.to_str()?;
    let value = std::env::var_os(variable)?;
    let is_given = args.iter().skip(1).any(|word| sets(arg, &word.to_string_lossy()));
    (!value.is_empty() && !is_given).then(|| variable.to_owned())
}

/// Whether a word of the command line sets an option.
fn sets(arg: &Arg, word: &str) -> bool {
    let long = arg.get_long().is_some_and(|long| {
        word.strip_prefix("--")
            .and_then(|rest| rest.strip_prefix(long))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    });
    let short = arg
        .get_short()
        .is_some_and(|short| !word.starts_with("--") && word.starts_with('-') && word.contains(short));
    long || short
}

/// The subcommands that people see.
pub(super) fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    let below = command.get_subcommands();
    below.filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

/// Commands without those that are hidden.
pub(super) fn visible(kibus: &Command) -> Command {
    Command::new("kibus")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .args(kibus.get_arguments().cloned())
        .subcommands(shown(kibus).cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The width of help without a terminal.
    const WIDTH: usize = 100;
    /// What fits on a small terminal.
    const SCREEN: usize = 30;

    fn commands(command: &Command) -> Vec<&Command> {
        std::iter::once(command)
            .chain(shown(command).flat_map(commands))
            .collect()
    }

    fn built() -> Command {
        let mut kibus = command(Cli::command()).term_width(WIDTH);
        kibus.build();
        kibus
    }

    #[test]
    fn the_short_help_of_every_command_fits_on_a_screen() {
        for command in commands(&built()) {
            let help = command.clone().term_width(WIDTH).render_help().to_string();
            let lines = help.trim_end().lines().count();
            assert!(lines <= SCREEN, "{}: {lines} lines\n{help}", command.get_name());
            assert!(!help.contains("--endpoint-url") && !help.contains("KIBUS_"), "{help}");
        }
    }

    #[test]
    fn the_long_help_has_every_option_and_its_variable_once() {
        for command in commands(&built()) {
            let help = command.clone().term_width(WIDTH).render_long_help().to_string();
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let Some(name) = arg.get_env().and_then(|name| name.to_str()) else {
                    continue;
                };
                assert_eq!(help.matches(&format!("[env: {name}]")).count(), 1, "{name}: {help}");
            }
            assert_eq!(help.matches("Global options:").count(), 1, "{help}");
        }
    }

    #[test]
    fn only_commands_that_change_something_take_consent() {
        let built = built();
        for command in commands(&built) {
            let takes = |long| command.get_arguments().any(|arg| arg.get_long() == Some(long));
            let file = command.get_name().replace('-', "_");
            let expected = crate::cli::commands::Command::changing().contains(&file.as_str());
            for long in ["yes", "dry-run"] {
                assert_eq!(takes(long), expected, "{} --{long}", command.get_name());
            }
        }
    }

    #[test]
    fn booleans_take_the_usual_words() {
        for option in [
            "bootstrap-hub --rebalance",
            "add-cluster base --no-controller-role",
            "list --sandbox",
        ] {
            for (value, taken) in [
                ("", true),
                ("=1", true),
                ("=0", true),
                ("=yes", true),
                ("=no", true),
                ("=true", true),
                ("=false", true),
                ("=", false),
                ("=maybe", false),
            ] {
                let line = format!("kibus {option}{value}");
                let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
                assert_eq!(parse(&args).is_ok(), taken, "{line}");
            }
        }
    }

    #[test]
    fn only_close_commands_are_suggested() {
        for (typed, suggested) in [
            ("plan", None),
            ("versions", Some("version")),
            ("add-clusters", Some("add-cluster")),
            ("bootstrap", Some("bootstrap-hub")),
            ("tear-down", Some("teardown")),
            ("destroy", None),
            ("lst", Some("list")),
            ("referenc", None),
        ] {
            let error = parse(&["kibus", typed].map(OsString::from)).unwrap_err().to_string();
            match suggested {
                Some(name) => assert!(error.contains(&format!("'{name}'")), "{typed}: {error}"),
                None => assert!(!error.contains("similar"), "{typed}: {error}"),
            }
        }
    }
}
