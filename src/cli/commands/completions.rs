use std::ffi::OsString;

use clap_complete::Shell;

use crate::cli::{Ending, completion};
use crate::error::Error;
use crate::ui::Ui;

/// Print a shell script that completes commands, options and names.
///
/// The script completes clusters, buses, Regions, profiles and codes of findings. Kibus reads clusters and buses from AWS,
/// with the global options of the command line, in at most one second. If that fails, it offers none and prints no error.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Shell to generate the script for.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) async fn run(args: Args, ui: &Ui) -> Result<Ending, Error> {
    let called = std::env::args_os().next().unwrap_or_else(|| OsString::from("kibus"));
    ui.out(completion::script(args.shell, &called)?.trim())?;
    Ok(Ending::Done)
}
