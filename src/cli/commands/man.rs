use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::examples::{EXIT_CODES, examples};
use crate::cli::parse::shown;
use crate::cli::{Cli, Ending};
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
    let kibus = built();
    if let Some(directory) = args.directory {
        for command in with_subcommands(&kibus) {
            let man = Man::new(command.clone());
            let path = directory.join(man.get_filename());
            page(&man, command)
                .and_then(|page| fs::write(&path, page))
                .map_err(|e| Error::failed(format!("cannot write `{}`", path.display())).note(e.to_string()))?;
        }
        return Ok(Ending::Done);
    }
    let mut command = &kibus;
    for word in &args.command {
        let known = shown(command).find(|known| known.get_name() == word);
        command = known.ok_or_else(|| {
            Error::usage(format!("there is no command `{}`", word.escape_debug()))
                .hint_command("to list the commands:", "kibus --help")
        })?;
    }
    let page = page(&Man::new(command.clone()), command)
        .map_err(|e| Error::failed("cannot write the manual page").note(e.to_string()))?;
    ui.out(String::from_utf8_lossy(&page).trim_end())?;
    Ok(Ending::Done)
}

/// All commands. clap_mangen leaves out help that the short help leaves out.
fn built() -> Command {
    fn every(command: Command) -> Command {
        command
            .mut_args(|arg| arg.hide_short_help(false))
            .mut_subcommands(every)
    }
    let mut kibus = every(Cli::command().disable_help_subcommand(true));
    kibus.build();
    kibus
}

/// The commands that have a manual page.
fn with_subcommands(command: &Command) -> Vec<&Command> {
    let below = shown(command).flat_map(with_subcommands);
    std::iter::once(command).chain(below).collect()
}

/// A whole page, with the sections EXAMPLES and EXIT STATUS.
fn page(man: &Man, command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    // No hyphens in commands, which are copied, and no wide gaps instead.
    let mut style = Roff::new();
    style.control("nh", []);
    style.control("ad", ["l"]);
    style.to_writer(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if shown(command).next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    let examples = examples(command.get_name());
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
    }
    for (about, command) in examples {
        roff.control("PP", []);
        roff.text([roman(format!("{about}:"))]);
        roff.control("PP", []);
        roff.control("RS", ["4"]);
        roff.control("nf", []);
        roff.text([bold(command)]);
        roff.control("fi", []);
        roff.control("RE", []);
    }
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in EXIT_CODES {
        roff.control("TP", []);
        roff.text([bold(code)]);
        roff.text([roman(meaning)]);
    }
    roff.to_writer(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_has_a_page_with_examples_and_exit_status() {
        let kibus = built();
        let mut names = Vec::new();
        for command in with_subcommands(&kibus) {
            let man = Man::new(command.clone());
            names.push(man.get_filename());
            let page = String::from_utf8(page(&man, command).unwrap()).unwrap();
            assert!(page.contains(".SH \"EXIT STATUS\""), "{page}");
            assert_eq!(page.contains(".SH EXAMPLES"), !examples(command.get_name()).is_empty());
            for variable in ["KIBUS_OUTPUT", "KIBUS_BUS", "AWS_PROFILE"] {
                assert!(
                    page.contains(&variable.replace('_', "\\_")) || page.contains(variable),
                    "{variable}:\n{page}"
                );
            }
            let without_help = page
                .lines()
                .zip(page.lines().skip(2))
                .find(|lines| *lines == (".TP", ""));
            assert_eq!(without_help, None, "an option has no help:\n{page}");
            assert!(page.contains(".nh\n"), "words are hyphenated:\n{page}");
            assert!(!page.contains("reference"), "a hidden command is listed:\n{page}");
        }
        for name in ["kibus.1", "kibus-add-cluster.1", "kibus-sandbox-up.1"] {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        for name in ["kibus-reference.1", "kibus-help.1", "kibus-sandbox-help.1"] {
            assert!(!names.iter().any(|known| known == name), "{name}");
        }
    }
}
