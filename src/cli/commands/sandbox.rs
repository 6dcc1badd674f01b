use clap::Subcommand;

use super::demo;
use crate::cli::Ending;
use crate::error::{Error, quoted};
use crate::model::scope::GlobalOptions;
use crate::sandbox::{DEFAULT_REGION, Sandbox, ServerRecord, ShellVariables};
use crate::ui::json::{Environment, SandboxServer, SandboxState};
use crate::ui::{Report, Ui, text};

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
        SandboxCommand::Down => show(
            ui,
            None,
            match Sandbox::open()?.down().await? {
                Some(_) => "Stopped the sandbox. Everything in it is deleted.",
                None => "The sandbox is not running.",
            },
        )?,
        SandboxCommand::Env => env(ui).await?,
        SandboxCommand::Status => status(ui).await?,
        SandboxCommand::Demo => return demo::run(ui).await,
    }
    Ok(Ending::Done)
}

/// Shows this text, or writes the document about the server.
fn show(ui: &Ui, server: Option<SandboxServer>, text: &str) -> Result<(), Error> {
    ui.result(&text::sentences(text, ui.result_style()))?;
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
        endpoint_url: record.endpoint.url(),
        pid: record.pid,
        log: sandbox.log_path().display().to_string(),
    }
}

async fn up(ui: &Ui) -> Result<(), Error> {
    let sandbox = Sandbox::open()?;
    let (record, is_new) = sandbox.up(&|step| ui.note(step, &[])).await?;
    let server = server(&sandbox, &record, true);
    let already = if is_new { "" } else { "already " };
    let reached = GlobalOptions {
        sandbox: true,
        ..GlobalOptions::default()
    };
    let next = reached.kibus(None, "bootstrap-hub");
    let text = format!(
        "The sandbox is {already}running at {}. It keeps its resources in memory until it stops. Next:\n    {next}",
        server.endpoint_url
    );
    show(ui, Some(server), &text)
}

async fn env(ui: &Ui) -> Result<(), Error> {
    let variables = Sandbox::open()?.endpoint().await?.variables(DEFAULT_REGION);
    ui.result(&script(&variables))?;
    ui.note(
        "For SDKs and version 2 of the AWS CLI. In version 1, `aws sqs` also needs --endpoint-url \"$AWS_ENDPOINT_URL\".",
        &[],
    );
    ui.report(&Report {
        environment: Some(Environment {
            set: variables.set.into_iter().collect(),
            unset: variables.unset,
        }),
        ..Report::default()
    })
}

async fn status(ui: &Ui) -> Result<(), Error> {
    let sandbox = Sandbox::open()?;
    let Some(record) = sandbox.running()? else {
        let text = "The sandbox is not running. To start it:\n    kibus sandbox up";
        return show(ui, None, text);
    };
    let server = server(&sandbox, &record, record.responds().await);
    let SandboxServer {
        endpoint_url, pid, log, ..
    } = &server;
    let text = match server.responds {
        true => format!("The sandbox is running at {endpoint_url} (process {pid}, log {log})."),
        false => format!(
            "The sandbox (process {pid}) does not respond; its log is {log}. To stop it:\n    kibus sandbox down"
        ),
    };
    show(ui, Some(server), &text)
}

/// What a shell runs to change its variables.
fn script(variables: &ShellVariables) -> String {
    let set = variables.set.iter();
    let set = set.map(|(name, value)| format!("export {name}={}", quoted(value)));
    let unset = variables.unset.iter().map(|name| format!("unset {name}"));
    set.chain(unset).collect::<Vec<_>>().join("\n")
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
