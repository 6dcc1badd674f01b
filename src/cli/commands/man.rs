//! `kibus man`.

use std::path::PathBuf;

use clap::CommandFactory;

use crate::cli::{Cli, Ending};
use crate::error::Error;
use crate::ui::Ui;

/// Print the manual page of kibus, or of one of its commands.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The command; the page of kibus itself if not given.
    #[arg(value_name = "COMMAND", conflicts_with = "directory")]
    command: Vec<String>,
    /// Write every page into this directory instead.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(in crate::cli) fn run(args: Args, ui: &Ui) -> Result<Ending, Error> {
    let mut kibus = Cli::command();
    kibus.build();
    if let Some(directory) = args.directory {
        clap_mangen::generate_to(kibus, &directory).map_err(|e| {
            Error::failed(format!("cannot write manual pages into `{}`", directory.display())).note(e.to_string())
        })?;
        return Ok(Ending::Done);
    }
    let mut command = &kibus;
    for word in &args.command {
        let known = command.find_subcommand(word);
        command = known.ok_or_else(|| {
            Error::usage(format!("there is no command `{}`", word.escape_debug()))
                .hint_command("to see which there are:", "kibus --help")
        })?;
    }
    let mut page = Vec::new();
    // A page goes to a buffer, which takes everything.
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|e| Error::failed("cannot write the manual page").note(e.to_string()))?;
    ui.out(String::from_utf8_lossy(&page).trim_end())?;
    Ok(Ending::Done)
}
