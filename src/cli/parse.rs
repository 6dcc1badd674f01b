//! Parses the command line, and completes its help. clap reads the variables. This module decides what counts as set,
//! and how help and errors name an option that was set by a variable. Errors repeat the user's input only once.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::ParseIntError;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, Command, CommandFactory, FromArgMatches};

use super::Cli;
use crate::model::{NameError, OutOfBounds};

/// The exit codes of kibus, with their meanings in help.
const EXIT_CODES: [(&str, &str); 7] = [
    ("0", "Done, nothing to do, or only warnings"),
    ("1", "Failed, or something could not be read"),
    ("2", "Changes (--detailed-exitcode), findings (verify), or a failed step (drill)"),
    ("3", "Not confirmed; nothing was changed"),
    ("4", "Refused: not managed by kibus, or a check forbids the plan"),
    ("64", "Wrong usage or input"),
    ("130, 143", "Interrupted by Ctrl-C, or terminated by SIGTERM"),
];

/// For each command a line `[command]`, then for each example a line `# description` and the command line.
const EXAMPLES: &str = include_str!("examples.txt");

/// The end of `-h`.
const SHORT: &str = "Use --help for more options, variables, examples and exit codes.";

pub(super) fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let command = built();
    let parsed = command.clone().try_get_matches_from(args);
    if let Some(error) = detached(&command, args, parsed.as_ref().err()) {
        return Err(error);
    }
    parsed
        .and_then(|matches| {
            let mut cli = Cli::from_arg_matches(&matches)?;
            cli.global.names_bus = matches.value_source("bus") == Some(ValueSource::CommandLine);
            Ok(cli)
        })
        .map_err(|error| plain(error, &command, args))
}

/// The commands. Only the long help of kibus itself has the global options.
fn built() -> Command {
    let mut kibus = command(Cli::command());
    kibus.build();
    kibus.mut_subcommands(without_global)
}

fn without_global(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let hide = arg.is_global_set();
        arg.hide_long_help(hide)
    });
    command.mut_subcommands(without_global)
}

/// Whether the command line has `-v`, in any spelling.
pub(super) fn is_verbose(args: &[OsString]) -> bool {
    let kibus = Cli::command();
    let verbose = kibus.get_arguments().find(|arg| arg.get_id() == "verbose");
    verbose.is_some_and(|arg| args.iter().skip(1).any(|word| sets(arg, &word.to_string_lossy())))
}

/// The error about a value after an option that takes one only after `=`. There, a word like `true` is not a cluster name.
fn detached(kibus: &Command, args: &[OsString], refused: Option<&clap::Error>) -> Option<clap::Error> {
    let words: Vec<_> = args.iter().map(|word| word.to_string_lossy()).take_while(|word| word != "--").collect();
    let is_meant = |word: &str| match refused {
        Some(error) => error.get(ContextKind::InvalidArg) == Some(&ContextValue::String(word.to_owned())),
        None => ["true", "false", "yes", "no", "on", "off"].contains(&word),
    };
    let [option, value] = words.array_windows().find(|[option, word]| is_meant(word) && wants_equals(kibus, option))?;
    let message = format!(
        "unexpected argument '{value}' found\n\n  tip: write '{option}={value}'\n\nFor more information, try '--help'.\n"
    );
    Some(clap::Error::raw(ErrorKind::UnknownArgument, message))
}

fn wants_equals(command: &Command, option: &str) -> bool {
    let long = option.strip_prefix("--").filter(|long| !long.is_empty());
    let is_it = |arg: &Arg| arg.is_require_equals_set() && arg.get_long() == long;
    command.get_arguments().any(is_it) || command.get_subcommands().any(|below| wants_equals(below, option))
}

/// The command with complete help and variables.
pub(super) fn command(kibus: Command) -> Command {
    let long = long_end(kibus.get_name());
    let kibus = kibus.mut_args(variable).mut_subcommands(command);
    kibus.after_help(SHORT).after_long_help(long)
}

/// The end of the `--help` of a command: its examples and the exit codes.
fn long_end(command: &str) -> String {
    let mut text = String::new();
    for line in examples(command) {
        text.push_str(if !line.starts_with('#') {
            "  "
        } else if text.is_empty() {
            "Examples:\n  "
        } else {
            "\n  "
        });
        text.push_str(&format!("{line}\n"));
    }
    text.push_str(if text.is_empty() { "Exit codes:" } else { "\nExit codes:" });
    for (code, meaning) in EXIT_CODES {
        text.push_str(&format!("\n  {code:<9} {meaning}"));
    }
    if command != "kibus" {
        text.push_str("\n\nThe global options are in `kibus --help`.");
    }
    text
}

/// The lines of the examples of a command; none for a subcommand of another command.
fn examples(command: &str) -> impl Iterator<Item = &'static str> {
    let heading = format!("[{command}]");
    let section = EXAMPLES.lines().skip_while(move |line| *line != heading).skip(1);
    section.take_while(|line| !line.is_empty())
}

/// Ignores an empty variable, and names the variable only in `--help`, so that `-h` stays short.
fn variable(arg: Arg) -> Arg {
    let Some(name) = arg.get_env().map(|name| name.to_string_lossy().into_owned()) else {
        return arg;
    };
    let is_empty = std::env::var_os(&name).is_some_and(|value| value.is_empty());
    let help = arg.get_long_help().or(arg.get_help()).unwrap_or(&StyledStr::new()).to_string();
    let arg = arg.long_help(format!("{help}\n[env: {name}]")).hide_env(true);
    if is_empty { arg.env(None::<&str>) } else { arg }
}

/// The error with the variable instead of the flag where the value came from the variable.
fn plain(mut error: clap::Error, command: &Command, args: &[OsString]) -> clap::Error {
    for kind in [ContextKind::InvalidArg, ContextKind::PriorArg] {
        if let Some(ContextValue::String(option)) = error.get(kind)
            && let Some(variable) = source(command, option, args)
        {
            error.insert(kind, ContextValue::String(variable));
        }
    }
    wanted(&error).unwrap_or(error)
}

/// The error about an invalid value, with the expected form. Its source repeats the value, or is about digits.
fn wanted(error: &clap::Error) -> Option<clap::Error> {
    let source = error.source()?;
    let wanted = if let Some(NameError { expected, .. }) = source.downcast_ref() {
        expected
    } else if let Some(OutOfBounds { expected, .. }) = source.downcast_ref() {
        expected
    } else {
        source.downcast_ref::<ParseIntError>().map(|_| "a whole number from 1")?
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
    let short =
        arg.get_short().is_some_and(|short| !word.starts_with("--") && word.starts_with('-') && word.contains(short));
    long || short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::tests::assert_file;

    /// The width of help without a terminal.
    const WIDTH: usize = 100;
    /// The width of a small terminal.
    const SCREEN: usize = 30;

    fn commands(command: &Command) -> Vec<&Command> {
        let below = command.get_subcommands().filter(|below| below.get_name() != "help");
        std::iter::once(command).chain(below.flat_map(commands)).collect()
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
    fn every_option_has_help_and_the_long_help_has_its_variable_once() {
        for command in commands(&built()) {
            let help = command.clone().term_width(WIDTH).render_long_help().to_string();
            let is_kibus = command.get_name() == "kibus";
            let is_shown = |arg: &&Arg| !arg.is_hide_set() && (is_kibus || !arg.is_global_set());
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {}", command.get_name(), arg.get_id());
            }
            let shown = command.get_arguments().filter(is_shown);
            for name in shown.filter_map(|arg| arg.get_env()?.to_str()) {
                assert_eq!(help.matches(&format!("[env: {name}]")).count(), 1, "{name}: {help}");
            }
            assert_eq!(help.contains("Global options:"), is_kibus, "{help}");
            // Each section belongs to one command.
            let is_below = command.get_bin_name().is_some_and(|name| name.split(' ').count() > 2);
            assert!(!(is_below && help.contains("Examples:")), "{help}");
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
        let options =
            "bootstrap-hub --rebalance, add-cluster base --no-controller-role, list --sandbox, verify base --sandbox";
        for option in options.split(", ") {
            for (values, taken) in [(", =1, =0, =yes, =no, =true, =false", true), (" true, =, =maybe", false)] {
                for value in values.split(", ") {
                    let line = format!("kibus {option}{value}");
                    let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
                    assert_eq!(parse(&args).is_ok(), taken, "{line}");
                }
            }
        }
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        for command in Cli::command().get_subcommands() {
            let lines: Vec<&str> = examples(command.get_name()).collect();
            let examples = lines.chunks(2).map(|example| match example {
                [about, command] if about.starts_with("# ") => *command,
                other => panic!("{other:?}"),
            });
            assert!((2..=4).contains(&examples.len()), "{}", command.get_name());
            for command in examples {
                for kibus in command.split("kibus ").skip(1) {
                    let parsed = parsed(kibus);
                    assert!(parsed.is_ok(), "`{command}`: {}", parsed.unwrap_err());
                }
            }
        }
    }

    /// The arguments of kibus in a line of a shell, up to the end of the command.
    fn parsed(kibus: &str) -> Result<clap::ArgMatches, clap::Error> {
        let words = kibus.split_whitespace().take_while(|word| !"|>&&".contains(word));
        let words = words.map(|word| word.trim_matches(['"', ')', '$', '(', '\'', ';']));
        Cli::command().try_get_matches_from(std::iter::once("kibus").chain(words))
    }

    /// Placeholders for values, and commands whose arguments the sentence leaves out, are no errors.
    #[test]
    fn every_command_and_option_in_the_pages_exists() {
        use clap::error::ErrorKind::{ArgumentConflict, InvalidSubcommand, UnknownArgument};
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let files =
            [root.to_owned(), root.join("docs")].into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let pages =
            files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "md"));
        let (mut count, mut wrong) = (0, Vec::new());
        for page in pages.filter(|page| !page.ends_with("command-line.md")) {
            let text = std::fs::read_to_string(&page).unwrap().replace("\\\n", " ");
            let is_command =
                |code: &&str| Cli::command().get_subcommands().any(|command| code.starts_with(command.get_name()));
            // A command starts a line, a span or a part of a line, and ends with its line or span. In prose, a word is before it.
            let is_prose =
                |before: &str| before.strip_suffix(' ').is_some_and(|text| text.ends_with(char::is_alphabetic));
            let starts = text.match_indices("kibus ").filter(|(at, _)| !is_prose(&text[..*at]));
            let commands = starts.map(|(at, kibus)| text[at + kibus.len()..].split(['\n', '`']).next().unwrap());
            for kibus in commands.filter(is_command) {
                count += 1;
                if let Err(error) = parsed(kibus)
                    && matches!(error.kind(), ArgumentConflict | InvalidSubcommand | UnknownArgument)
                {
                    wrong.push(format!("{}: kibus {kibus}: {error}", page.display()));
                }
            }
        }
        assert!(count > 200 && wrong.is_empty(), "{count} commands: {}", wrong.join("\n"));
    }

    #[test]
    fn every_exit_code_is_listed() {
        use crate::error::ErrorKind::{
            self, Differences, Failed, Interrupted, NotConfirmed, Refused, Terminated, Usage,
        };
        let listed = EXIT_CODES.iter().flat_map(|(codes, _)| codes.split(", ")).map(|code| code.parse::<u8>().unwrap());
        let kinds = [Failed, Differences, NotConfirmed, Refused, Usage, Interrupted, Terminated];
        let expected = std::iter::once(0).chain(kinds.map(ErrorKind::exit_code));
        assert_eq!(listed.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }

    /// `docs/command-line.md`: the help of every command. The help of kibus itself has the global options and the exit codes.
    #[test]
    fn the_page_is_the_help_of_every_command() {
        const INTRODUCTION: &str = "# Command line\n\nThis page is `--help` of every command; the global options and the exit codes, \
             which all have, are in the first. After a change to an option or its help, write it again:\n\n    KIBUS_TEST_UPDATE=1 cargo test --lib the_page_is_the_help_of_every_command\n";
        let mut page = INTRODUCTION.to_owned();
        for command in commands(&built()) {
            let is_kibus = command.get_name() == "kibus";
            let own = command.clone().term_width(WIDTH);
            let mut own = own.mut_args(|arg| {
                let hide = arg.is_hide_set() || !is_kibus && arg.is_global_set();
                arg.hide(hide)
            });
            let help = own.render_long_help().to_string();
            let end = if is_kibus { None } else { help.rfind("Exit codes:") };
            let lines = help[..end.unwrap_or(help.len())].trim_end().lines().map(str::trim_end);
            let name = command.get_bin_name().unwrap_or("kibus");
            page.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", lines.collect::<Vec<_>>().join("\n")));
        }
        assert_file("docs/command-line.md", page.trim_end());
    }
}
