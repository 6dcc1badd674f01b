use std::path::PathBuf;

use clap::{Command, CommandFactory};
use clap_mangen::{Man, generate_to};

use crate::cli::{Cli, Ending, parse};
use crate::error::Error;
use crate::ui::Ui;

/// Print the manual page of kibus or of a command.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Command [default: kibus].
    #[arg(value_name = "COMMAND", conflicts_with = "directory")]
    command: Vec<String>,
    /// Directory to write all pages to.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(super) async fn run(args: Args, ui: &Ui) -> Result<Ending, Error> {
    let kibus = kibus();
    if let Some(directory) = args.directory {
        generate_to(kibus, &directory).map_err(|e| {
            Error::failed(format!("cannot write the pages to `{}`", directory.display())).note(e.to_string())
        })?;
        return Ok(Ending::Done);
    }
    let mut command = &kibus;
    for word in &args.command {
        command = command.find_subcommand(word).ok_or_else(|| {
            Error::usage(format!("there is no command `{}`", word.escape_debug()))
                .hint_command("to list the commands:", "kibus --help")
        })?;
    }
    ui.out(&page(command)?)?;
    Ok(Ending::Done)
}

/// All commands. clap_mangen leaves out help that the short help leaves out.
fn kibus() -> Command {
    fn every(command: Command) -> Command {
        command.mut_args(|arg| arg.hide_short_help(false)).mut_subcommands(every)
    }
    let mut kibus = every(parse::command(Cli::command().disable_help_subcommand(true)));
    kibus.build();
    kibus
}

fn page(command: &Command) -> Result<String, Error> {
    let mut page = Vec::new();
    let written = Man::new(command.clone()).render(&mut page);
    written.map_err(|e| Error::failed("cannot write the manual page").note(e.to_string()))?;
    Ok(String::from_utf8_lossy(&page).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(command: &Command) -> Vec<&Command> {
        let below = command.get_subcommands().flat_map(every);
        std::iter::once(command).chain(below).collect()
    }

    #[test]
    fn every_command_has_a_page_with_its_options_examples_and_exit_codes() {
        for command in every(&kibus()) {
            let page = page(command).unwrap();
            let is_first = command.get_name() == "add-cluster";
            assert_eq!(
                page.contains("\n  # Register two clusters"),
                is_first || command.get_name() == "kibus",
                "{page}"
            );
            for text in ["Exit codes:", "KIBUS_OUTPUT", "KIBUS_BUS", "AWS_PROFILE"] {
                assert!(page.contains(&text.replace('_', "\\_")) || page.contains(text), "{text}:\n{page}");
            }
            let lines = page.lines().zip(page.lines().skip(2));
            let without_help = lines.clone().find(|lines| *lines == (".TP", ""));
            assert_eq!(without_help, None, "an option has no help:\n{page}");
        }
    }

    #[test]
    fn all_pages_are_written() {
        let directory = tempfile::TempDir::new().unwrap();
        generate_to(kibus(), directory.path()).unwrap();
        for name in ["kibus.1", "kibus-add-cluster.1", "kibus-sandbox-up.1"] {
            assert!(directory.path().join(name).exists(), "{name}");
        }
        for name in ["kibus-help.1", "kibus-sandbox-help.1"] {
            assert!(!directory.path().join(name).exists(), "{name}");
        }
    }
}
