//! `kibus reference`, a hidden command: prints `docs/command-line.md`.

use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::cli::parse::shown;
use crate::cli::{Cli, Ending};
use crate::error::Error;
use crate::ui::Ui;

const INTRODUCTION: &str = "\
# Command line

This page is generated from the program. After a change to an option or its help, generate it again:

    cargo run --quiet -- reference > docs/command-line.md
";

/// Print docs/command-line.md.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(in crate::cli) struct Args {}

pub(super) async fn run(_: Args, ui: &Ui) -> Result<Ending, Error> {
    ui.out(page().trim_end())?;
    Ok(Ending::Done)
}

/// The whole page.
fn page() -> String {
    let mut kibus = Cli::command();
    kibus.build();
    let mut text = INTRODUCTION.to_owned();
    let global: Vec<&Arg> = options(&kibus).filter(|arg| arg.is_global_set()).collect();
    section(&kibus, &mut text);
    text.push_str("\n### Global options\n\nEvery command accepts these.\n");
    table(&global, &mut text);
    commands(&kibus, &mut text);
    text
}

fn commands(parent: &Command, text: &mut String) {
    for command in shown(parent) {
        section(command, text);
        let own: Vec<&Arg> = options(command).filter(|arg| !arg.is_global_set()).collect();
        if !own.is_empty() {
            table(&own, text);
        }
        commands(command, text);
    }
}

fn section(command: &Command, text: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    text.push_str(&format!("\n## {name}\n\n"));
    let about = command.get_long_about().or(command.get_about());
    text.push_str(&about.map(ToString::to_string).unwrap_or_default());
    let usage = command.clone().render_usage().to_string();
    text.push_str(&format!("\n\n    {}\n", usage.trim_start_matches("Usage: ")));
    if shown(command).next().is_some() {
        text.push_str("\n| command | |\n| --- | --- |\n");
    }
    for below in shown(command) {
        let about = below.get_about().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("| `{}` | {} |\n", below.get_name(), cell(&about)));
    }
}

/// The options and arguments, without help and version, which every command has.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version"))
}

fn table(args: &[&Arg], text: &mut String) {
    text.push_str("\n| option | variable | meaning |\n| --- | --- | --- |\n");
    for arg in args {
        let variable = arg.get_env().map(|name| format!("`{}`", name.to_string_lossy()));
        text.push_str(&format!(
            "| {} | {} | {} |\n",
            signature(arg),
            variable.unwrap_or_default(),
            meaning(arg)
        ));
    }
}

fn signature(arg: &Arg) -> String {
    let value = arg.get_value_names().unwrap_or_default().join(" ");
    let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let optional = arg.get_num_args().is_some_and(|count| count.min_values() == 0);
    let text = match (arg.get_short(), arg.get_long()) {
        (_, None) if arg.is_required_set() => value,
        (_, None) => format!("[{value}]"),
        (short, Some(long)) => {
            let short = short.map(|short| format!("-{short}, ")).unwrap_or_default();
            let value = match (takes, optional) {
                (false, _) => String::new(),
                (true, false) => format!(" {value}"),
                (true, true) => format!("[={value}]"),
            };
            format!("{short}--{long}{value}")
        }
    };
    format!("`{}`", cell(&text))
}

fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() && !arg.is_hide_possible_values_set() {
        text.push_str(&format!("; one of {}", values.join(", ")));
    }
    let defaults = arg.get_default_values();
    let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    if takes && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        let defaults: Vec<_> = defaults.iter().map(|value| value.to_string_lossy()).collect();
        text.push_str(&format!(" [default: {}]", defaults.join(" ")));
    }
    cell(&text)
}

/// Text as a table cell: on one line, with `|` escaped.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_up_to_date() {
        assert!(
            include_str!("../../../docs/command-line.md").trim_end() == page().trim_end(),
            "docs/command-line.md is out of date; its first lines give the command that generates it"
        );
    }

    #[test]
    fn every_option_has_help() {
        fn check(command: &Command) {
            for arg in options(command) {
                assert!(arg.get_help().is_some(), "{} {}", command.get_name(), arg.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
