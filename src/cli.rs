//! The command line: its commands, and the stages that they share.

mod commands;
mod failure;
mod global;
#[cfg(test)]
mod hostile;
mod hub;
mod parse;
mod router_file;
mod stages;
mod stop;

use std::ffi::OsString;
use std::io;

use clap::Parser;

use crate::error::{Error, ErrorKind};
use crate::ui::{self, Report, Talk, Ui};
use commands::Command;
use global::Global;
use hub::Context;
use stop::Stop;

/// One event bus that routes EC2 interruptions to the right Karpenter, for any number of EKS clusters.
#[derive(Debug, Parser)]
#[command(
    name = "kibus",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    propagate_version = true,
    // Without an empty line before the commands, the short help fits on one screen.
    help_template = "{about-with-newline}\n{usage-heading} {usage}\n{all-args}{after-help}"
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

struct CommandLine {
    cli: Cli,
    /// Quoted to be run again.
    text: String,
}

/// Parses the command line, runs the command, and returns the exit code. For the completion script of a shell, writes
/// candidates instead.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(exit_code) = commands::completions::answer(&args) {
        return exit_code;
    }
    CommandLine::parse(&args).map_or_else(|exit_code| exit_code, CommandLine::run)
}

impl CommandLine {
    /// Fails with the exit code after it has written help, a version, or a usage error.
    fn parse(args: &[OsString]) -> Result<Self, u8> {
        if let Some(error) = global::unprintable(args) {
            plain_ui().show_error(&error);
            return Err(error.kind.exit_code());
        }
        match parse::parse(args) {
            Ok(cli) => Ok(Self { cli, text: global::command_line(args) }),
            Err(e) if e.kind() == clap::error::ErrorKind::DisplayVersion && parse::is_verbose(args) => {
                let written = plain_ui().out(&format!("kibus {}", commands::version::LONG));
                Err(written.map_or_else(|error| error.kind.exit_code(), |()| 0))
            }
            Err(e) => Err(show_usage(&e)),
        }
    }

    /// Runs the command, and returns the exit code.
    fn run(self) -> u8 {
        let Cli { global, command } = &self.cli;
        let talk = Talk { quiet: global.quiet, no_input: global.no_input, is_stream: command.is_stream() };
        let ui = Ui::new(global.output, global.color, global.verbose, talk);
        global::start_log(global.verbose);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let done = runtime.map_err(|e| Error::failed("cannot start").note(e.to_string())).and_then(|runtime| {
            let stop = Stop::default();
            runtime.block_on(stop.unless_interrupted(self.report(&ui, &stop)))
        });
        conclude(&ui, done)
    }

    async fn report(self, ui: &Ui, stop: &Stop) -> Result<Report, Error> {
        let Self { cli: Cli { global, command }, text } = self;
        let context = Context::new(ui, &global, stop, &text);
        let done = command.run(&context).await;
        context.report(done)
    }
}

/// Writes the document and the errors of a command. Returns the exit code.
fn conclude(ui: &Ui, done: Result<Report, Error>) -> u8 {
    let report = done.unwrap_or_else(Report::from);
    let is_usage = |error: &Error| error.kind == ErrorKind::Usage;
    // A usage error has no document: nothing ran.
    let written = if report.error.as_ref().is_some_and(is_usage) { Ok(()) } else { ui.report(&report) };
    let not_written = written.err();
    let errors: Vec<&Error> = not_written.iter().chain(report.errors()).collect();
    errors.iter().for_each(|error| ui.show_error(error));
    let differs = report.hubs.iter().any(|hub| hub.differs).then_some(ErrorKind::Differences);
    errors.first().map(|error| error.kind).or(differs).map_or(0, ErrorKind::exit_code)
}

/// Before the output format is known.
fn plain_ui() -> Ui {
    Ui::new(ui::Output::Text, ui::Color::Auto, 0, Talk::default())
}

/// The text of a usage error; none for help and version.
fn usage_error(e: &clap::Error) -> Option<String> {
    let text = e.use_stderr().then(|| e.render().to_string())?;
    // The message repeats arguments, which could contain control characters.
    let lines: Vec<_> = text.trim_end().lines().map(ui::text::escape).collect();
    Some(lines.join("\n"))
}

/// Prints help and version to stdout, and everything else to stderr as a usage error.
fn show_usage(e: &clap::Error) -> u8 {
    if let Some(text) = usage_error(e) {
        plain_ui().say(&text);
        return ErrorKind::Usage.exit_code();
    }
    match e.print() {
        Err(failed) if failed.kind() != io::ErrorKind::BrokenPipe => {
            plain_ui().show_error(&ui::not_written(&failed));
            ErrorKind::Failed.exit_code()
        }
        _ => 0,
    }
}
