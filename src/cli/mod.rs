//! The command line: its commands, and the stages that they share.

mod commands;
mod deletes;
mod examples;
mod failure;
mod global;
mod hub;
mod options;
mod parse;
mod router_file;
mod stages;
mod stop;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::error::{Error, ErrorKind};
use crate::sandbox::Endpoint;
use crate::ui::{self, Talk, Ui};
use commands::{
    add_cluster, bootstrap_hub, completions, dead_letters, list, man, policy, reference, remove_cluster, rollback,
    sandbox, status, teardown, verify,
};
use global::Global;
use hub::Hubs;
use stop::Stop;

/// One event bus that routes EC2 interruptions to the right Karpenter, for any number of EKS clusters in an account.
#[derive(Debug, Parser)]
#[command(
    name = "kibus",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    propagate_version = true
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    BootstrapHub(bootstrap_hub::Args),
    AddCluster(add_cluster::Args),
    RemoveCluster(remove_cluster::Args),
    Verify(verify::Args),
    Status(status::Args),
    List(list::Args),
    DeadLetters(dead_letters::Args),
    Rollback(rollback::Args),
    Teardown(teardown::Args),
    Explain(commands::explain::Args),
    Policy(policy::Args),
    Sandbox(sandbox::Args),
    Completions(completions::Args),
    Man(man::Args),
    Version(commands::version::Args),
    Reference(reference::Args),
}

/// How a command ended that has written its report.
enum Ending {
    /// Done, or nothing to do.
    Done,
    /// There are differences or findings.
    Differences,
    /// With an error, which the report contains. It is still to be shown on stderr.
    Failed(Box<Error>),
}

impl Ending {
    /// The worse of two endings.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Failed(error), _) | (_, Self::Failed(error)) => Self::Failed(error),
            (Self::Differences, _) | (_, Self::Differences) => Self::Differences,
            (Self::Done, Self::Done) => Self::Done,
        }
    }
}

/// Parses the command line, runs the command, and returns the exit code.
#[must_use]
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(error) = global::unprintable(&args) {
        Ui::new(ui::Output::Text, ui::Color::Auto, 0, Talk::default()).show_error(&error);
        return error.kind.exit_code();
    }
    let cli = match parse::parse(&args) {
        Ok(cli) => cli,
        Err(e) if e.kind() == clap::error::ErrorKind::DisplayVersion && args.iter().any(|arg| arg == "-v") => {
            let ui = Ui::new(ui::Output::Text, ui::Color::Auto, 0, Talk::default());
            return match ui.out(&format!("kibus {}", commands::version::LONG)) {
                Ok(()) => 0,
                Err(error) => error.kind.exit_code(),
            };
        }
        Err(e) => return show_usage(&e),
    };
    let talk = Talk {
        quiet: cli.global.quiet,
        no_input: cli.global.no_input,
    };
    let ui = Ui::new(cli.global.output, cli.global.color, cli.global.verbose, talk);
    global::start_log(cli.global.verbose);
    let result = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::failed("cannot start").note(e.to_string()))
        .and_then(|runtime| runtime.block_on(run(cli, &ui, &global::command_line(&args))));
    match result {
        Ok(Ending::Done) => 0,
        Ok(Ending::Differences) => ErrorKind::Differences.exit_code(),
        Ok(Ending::Failed(error)) => {
            ui.show_error(&error);
            error.kind.exit_code()
        }
        Err(error) => {
            ui.show_error(&error);
            // Wrong usage has no document: nothing was run.
            match error.kind {
                ErrorKind::Usage => Ok(()),
                _ => ui.report_error(&error),
            }
            .map_or(ErrorKind::Failed, |()| error.kind)
            .exit_code()
        }
    }
}

async fn run(cli: Cli, ui: &Ui, command_line: &str) -> Result<Ending, Error> {
    let stop = Stop::default();
    stop.unless_interrupted(run_at(cli, ui, &stop, command_line, None))
        .await
}

/// Runs a command; with an `endpoint`, only on the local emulator at that endpoint.
async fn run_at(
    cli: Cli,
    ui: &Ui,
    stop: &Stop,
    command_line: &str,
    endpoint: Option<Endpoint>,
) -> Result<Ending, Error> {
    let Cli { global, command } = cli;
    let open = || Hubs::open(&global, ui, stop, command_line, endpoint.clone());
    match command {
        Command::BootstrapHub(args) => bootstrap_hub::run(args, open().await?).await,
        Command::AddCluster(args) => add_cluster::run(args, open().await?).await,
        Command::RemoveCluster(args) => remove_cluster::run(args, open().await?).await,
        Command::Verify(args) => verify::run(args, open().await?).await,
        Command::Status(args) => status::run(args, open().await?).await,
        Command::DeadLetters(args) => dead_letters::run(args, open().await?).await,
        Command::List(args) => list::run(args, open().await?).await,
        Command::Rollback(args) => rollback::run(args, open().await?).await,
        Command::Teardown(args) => teardown::run(args, open().await?).await,
        Command::Explain(args) => commands::explain::run(&args, ui),
        Command::Policy(args) => policy::run(args, open().await?).await,
        Command::Sandbox(args) => sandbox::run(args, ui).await,
        Command::Completions(args) => completions::run(&args, ui),
        Command::Man(args) => man::run(args, ui),
        Command::Version(args) => commands::version::run(&args, ui),
        Command::Reference(args) => reference::run(&args, ui),
    }
}

/// Prints help and version to stdout, and everything else to stderr as a usage error.
fn show_usage(e: &clap::Error) -> u8 {
    if e.use_stderr() {
        // The message repeats arguments, which could contain control characters.
        let text = e.render().to_string();
        let lines: Vec<_> = text.trim_end().lines().map(ui::text::escape).collect();
        Ui::new(ui::Output::Text, ui::Color::Auto, 0, Talk::default()).say(&lines.join("\n"));
        return ErrorKind::Usage.exit_code();
    }
    match e.print() {
        Ok(()) => 0,
        Err(failed) => {
            let ui = Ui::new(ui::Output::Text, ui::Color::Auto, 0, Talk::default());
            ui.show_error(&ui::not_written(&failed));
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
