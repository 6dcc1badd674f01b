use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{Cli, Ending, parse};
use crate::error::Error;
use crate::ui::Ui;

/// Print a shell script that completes the commands and options of kibus.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Shell to generate the script for.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) async fn run(args: Args, ui: &Ui) -> Result<Ending, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut parse::visible(&Cli::command()), "kibus", &mut script);
    ui.out(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Ending::Done)
}
