use clap::Subcommand;

use super::demo;
use crate::cli::Ending;
use crate::error::{Error, quoted};
use crate::model::scope::GlobalOptions;
use crate::sandbox::{DEFAULT_REGION, Sandbox, ServerRecord, ServerStatus, SetupStep, ShellVariables, Up};
use crate::ui::json::{Environment, SandboxServer, SandboxState};
use crate::ui::{Report, Ui};

/// Run a local AWS emulator to try kibus without an AWS account.
///
/// `--sandbox` points any other command at the emulator.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
enum SandboxCommand {
    /// Start the sandbox; the first time, install the emulator from a Python package index.
    Up,
    /// Stop the sandbox and delete everything in it.
    Down,
    /// Print the variables that point SDKs and the AWS CLI at the sandbox: eval "$(kibus sandbox env)".
    ///
    /// Version 1 of the AWS CLI ignores them for `aws sqs`, which needs --endpoint-url "$AWS_ENDPOINT_URL" too.
    Env,
    /// Show whether the sandbox is running, and its endpoint.
    Status,
    /// Run a demo in a private sandbox: create a hub and two clusters, send events, delete all.
    Demo,
}

pub(super) async fn run(args: Args, ui: &Ui) -> Result<Ending, Error> {
    match args.command {
        SandboxCommand::Up => up(ui).await?,
        SandboxCommand::Down => {
            ui.result(match Sandbox::open()?.down().await? {
                Some(_) => "Stopped the sandbox. Everything in it is deleted.",
                None => "The sandbox is not running.",
            })?;
            report(ui, None)?;
        }
        SandboxCommand::Env => env(ui).await?,
        SandboxCommand::Status => status(ui).await?,
        SandboxCommand::Demo => return demo::run(ui, &report_steps(ui)).await,
    }
    Ok(Ending::Done)
}

/// Reports slow steps on stderr.
pub(super) fn report_steps(ui: &Ui) -> impl Fn(SetupStep) + Sync {
    |step| {
        match step {
        SetupStep::Installing => {
            ui.say("Installing the local AWS emulator from the package index of pip. This happens once and takes a few seconds.")
        }
        SetupStep::Starting => ui.say("Starting the local AWS emulator."),
    }
    }
}

async fn up(ui: &Ui) -> Result<(), Error> {
    let sandbox = Sandbox::open()?;
    let (state, record) = match sandbox.up(&report_steps(ui)).await? {
        Up::Started(record) => ("The sandbox is running", record),
        Up::AlreadyRunning(record) => ("The sandbox is already running", record),
    };
    let reached = GlobalOptions {
        sandbox: true,
        ..GlobalOptions::default()
    };
    ui.result(&format!(
        "{state} at {}. It keeps its resources in memory until it stops. Next:\n    {}",
        record.endpoint().url(),
        reached.kibus(None, "bootstrap-hub")
    ))?;
    report(ui, Some(server(&sandbox, &record, true)))
}

/// The document about the sandbox.
fn report(ui: &Ui, server: Option<SandboxServer>) -> Result<(), Error> {
    ui.report(&Report {
        sandbox: Some(SandboxState {
            running: server.is_some(),
            server,
        }),
        ..Report::default()
    })
}

fn server(sandbox: &Sandbox, record: &ServerRecord, responds: bool) -> SandboxServer {
    SandboxServer {
        responds,
        endpoint_url: record.endpoint().url(),
        pid: record.pid,
        log: sandbox.log_path().display().to_string(),
    }
}

async fn env(ui: &Ui) -> Result<(), Error> {
    let variables = Sandbox::open()?.endpoint().await?.variables(DEFAULT_REGION);
    ui.result(&script(&variables))?;
    ui.say(
        "For SDKs and version 2 of the AWS CLI. In version 1, `aws sqs` also needs --endpoint-url \"$AWS_ENDPOINT_URL\".",
    );
    ui.report(&Report {
        environment: Some(Environment {
            set: variables.set.into_iter().collect(),
            unset: variables.unset,
        }),
        ..Report::default()
    })
}

/// What a shell runs to change its variables.
fn script(variables: &ShellVariables) -> String {
    let set = variables.set.iter();
    let set = set.map(|(name, value)| format!("export {name}={}", quoted(value)));
    let unset = variables.unset.iter().map(|name| format!("unset {name}"));
    set.chain(unset).collect::<Vec<_>>().join("\n")
}

async fn status(ui: &Ui) -> Result<(), Error> {
    let sandbox = Sandbox::open()?;
    let (text, server) = match sandbox.status().await? {
        ServerStatus::Down => (
            "The sandbox is not running. To start it:\n    kibus sandbox up".to_owned(),
            None,
        ),
        ServerStatus::Up(record) => (
            format!(
                "The sandbox is running at {} (process {}, log {}).",
                record.endpoint().url(),
                record.pid,
                sandbox.log_path().display()
            ),
            Some(server(&sandbox, &record, true)),
        ),
        ServerStatus::Unresponsive(record) => (
            format!(
                "The sandbox (process {}) does not respond; its log is {}. To stop it:\n    kibus sandbox down",
                record.pid,
                sandbox.log_path().display()
            ),
            Some(server(&sandbox, &record, false)),
        ),
    };
    ui.result(&text)?;
    report(ui, server)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::tests::shell_words;

    #[test]
    fn a_shell_only_sets_the_variables() {
        let value = "it's $(kibus)\n`kibus`; kibus";
        let script = script(&ShellVariables {
            set: vec![("AWS_REGION", value.to_owned())],
            unset: vec!["AWS_PROFILE".to_owned()],
        });
        let words = shell_words(&format!("{script}\naws \"$AWS_REGION\""));
        assert_eq!(words, ["aws", value]);
    }
}
