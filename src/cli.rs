//! The command line: its commands, and the stages that they share.

mod commands;
mod failure;
mod global;
mod hub;
mod parse;
mod preflight;
mod router_file;
mod stages;
mod stop;

use std::ffi::OsString;

use clap::Parser;

use crate::error::{Ending, Error, ErrorKind};
use crate::ui::{self, Talk, Ui};
use commands::Command;
use global::Global;
pub use global::HubAddress;
use hub::Hubs;
use stop::Stop;

/// One event bus that routes EC2 interruptions to the right Karpenter, for any number of EKS clusters.
#[derive(Debug, Parser)]
#[command(
    name = "kibus",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    propagate_version = true,
    // Without the empty line before the commands, the short help fits on a screen.
    help_template = "{about-with-newline}\n{usage-heading} {usage}\n{all-args}{after-help}"
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

pub struct CommandLine {
    /// The hubs that the command is about, each reached in its own way. The global options name one.
    pub hubs: Vec<HubAddress>,
    cli: Cli,
    /// As one would type it again.
    text: String,
}

/// Parses the command line, runs the command, and returns the exit code. For the completion script of a shell, writes
/// candidates instead.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(exit_code) = commands::completions::answer(&args) {
        return exit_code;
    }
    CommandLine::parse(args).map_or_else(|exit_code| exit_code, CommandLine::run)
}

impl CommandLine {
    /// Fails with the exit code, once help, a version, or an error of usage is written.
    pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, u8> {
        let args: Vec<OsString> = args.into_iter().collect();
        if let Some(error) = global::unprintable(&args) {
            plain_ui().show_error(&error);
            return Err(error.kind.exit_code());
        }
        match parse::parse(&args) {
            Ok(cli) => Ok(Self { hubs: vec![cli.global.address()], cli, text: global::command_line(&args) }),
            Err(e) if e.kind() == clap::error::ErrorKind::DisplayVersion && args.iter().any(|arg| arg == "-v") => {
                let written = plain_ui().out(&format!("kibus {}", commands::version::LONG));
                Err(written.map_or_else(|error| error.kind.exit_code(), |()| 0))
            }
            Err(e) => Err(show_usage(&e)),
        }
    }

    /// Runs the command for all of its hubs, and returns the exit code: that of the worst ending of a hub.
    pub fn run(self) -> u8 {
        let global = &self.cli.global;
        let talk = Talk { quiet: global.quiet, no_input: global.no_input };
        let ui = Ui::new(global.output, global.color, global.verbose, talk);
        global::start_log(global.verbose);
        let result = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|e| Error::failed("cannot start").note(e.to_string()))
            .and_then(|runtime| {
                let stop = Stop::default();
                runtime.block_on(stop.unless_interrupted(self.run_with(&ui, &stop)))
            });
        match result {
            Ok(ending) => ending.exit_code(),
            Err(error) => {
                ui.show_error(&error);
                // Wrong usage has no document: nothing was run.
                match error.kind {
                    ErrorKind::Usage => Ok(()),
                    _ => ui.report(&ui::Report { error: Some(error.clone()), ..ui::Report::default() }),
                }
                .map_or(ErrorKind::Failed, |()| error.kind)
                .exit_code()
            }
        }
    }

    async fn run_with(self, ui: &Ui, stop: &Stop) -> Result<Ending, Error> {
        let Self { hubs, cli, text } = self;
        let Cli { global, command } = cli;
        command.run(ui, async || Hubs::open(&global, ui, stop, &text, &hubs).await).await
    }
}

/// Before it is known how to write.
fn plain_ui() -> Ui {
    Ui::new(ui::Output::Text, ui::Color::Auto, 0, Talk::default())
}

/// Prints help and version to stdout, and everything else to stderr as a usage error.
fn show_usage(e: &clap::Error) -> u8 {
    if e.use_stderr() {
        // The message repeats arguments, which could contain control characters.
        let text = e.render().to_string();
        let lines: Vec<_> = text.trim_end().lines().map(ui::text::escape).collect();
        plain_ui().say(&lines.join("\n"));
        return ErrorKind::Usage.exit_code();
    }
    match e.print() {
        Ok(()) => 0,
        Err(failed) => {
            plain_ui().show_error(&ui::not_written(&failed));
            ErrorKind::Failed.exit_code()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
