use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::Subcommand;

use crate::cli::hub::Context;
use crate::cli::stop::Stop;
use crate::cli::{CommandLine, conclude};
use crate::demo::{DemoAccount, Ledger};
use crate::error::{Error, quoted};
use crate::model::GlobalOptions;
use crate::sandbox::{DEFAULT_REGION, Endpoint, Sandbox, ServerRecord, ShellVariables};
use crate::ui::json::{Environment, HublessBody, SandboxServer, SandboxState};
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

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<Report, Error> {
    let ui = context.ui;
    let done = match args.command {
        SandboxCommand::Up => up(ui).await,
        SandboxCommand::Down => show(
            ui,
            None,
            match Sandbox::open()?.down().await? {
                Some(_) => "Stopped the sandbox. Everything in it is deleted.",
                None => "The sandbox is not running.",
            },
        ),
        SandboxCommand::Env => env(ui).await,
        SandboxCommand::Status => status(ui).await,
        SandboxCommand::Demo => demo(ui).await,
    };
    done.map(Report::from)
}

/// Shows this text, and gives the document about the server.
fn show(ui: &Ui, server: Option<SandboxServer>, text: &str) -> Result<HublessBody, Error> {
    ui.result(&text::sentences(text, ui.result_style()))?;
    Ok(HublessBody::Sandbox(SandboxState { running: server.is_some(), server }))
}

fn server(sandbox: &Sandbox, record: &ServerRecord, responds: bool) -> SandboxServer {
    SandboxServer {
        responds,
        endpoint_url: record.endpoint.url(),
        pid: record.pid,
        log: sandbox.log_path().display().to_string(),
    }
}

async fn up(ui: &Ui) -> Result<HublessBody, Error> {
    let sandbox = Sandbox::open()?;
    let (record, is_new) = sandbox.up(&|step| ui.note(step, &[])).await?;
    let server = server(&sandbox, &record, true);
    let already = if is_new { "" } else { "already " };
    let reached = GlobalOptions { sandbox: true, ..GlobalOptions::default() };
    let next = reached.kibus(None, "bootstrap-hub");
    let text = format!(
        "The sandbox is {already}running at {}. It keeps its resources in memory until it stops. Next:\n    {next}",
        server.endpoint_url
    );
    show(ui, Some(server), &text)
}

async fn env(ui: &Ui) -> Result<HublessBody, Error> {
    let variables = Sandbox::open()?.endpoint().await?.variables(DEFAULT_REGION);
    ui.result(&script(&variables))?;
    ui.note(
        "For SDKs and version 2 of the AWS CLI. In version 1, `aws sqs` also needs --endpoint-url \"$AWS_ENDPOINT_URL\".",
        &[],
    );
    let set = variables.set.into_iter().collect();
    Ok(HublessBody::Environment(Environment { set, unset: variables.unset }))
}

async fn status(ui: &Ui) -> Result<HublessBody, Error> {
    let sandbox = Sandbox::open()?;
    let Some(record) = sandbox.running()? else {
        let text = "The sandbox is not running. To start it:\n    kibus sandbox up";
        return show(ui, None, text);
    };
    let server = server(&sandbox, &record, record.responds().await);
    let SandboxServer { endpoint_url, pid, log, .. } = &server;
    let text = if server.responds {
        format!("The sandbox is running at {endpoint_url} (process {pid}, log {log}).")
    } else {
        format!("The sandbox (process {pid}) does not respond; its log is {log}. To stop it:\n    kibus sandbox down")
    };
    show(ui, Some(server), &text)
}

/// What a shell runs to change its variables.
fn script(variables: &ShellVariables) -> String {
    let set = variables.set.iter().map(|(name, value)| format!("export {name}={}", quoted(value)));
    let unset = variables.unset.iter().map(|name| format!("unset {name}"));
    set.chain(unset).collect::<Vec<_>>().join("\n")
}

/// What a person would see who types the commands.
struct Screen<'a> {
    ui: Ui,
    endpoint: &'a Endpoint,
}

/// Runs the demo. Fails at the first result that is not as expected.
async fn demo(ui: &Ui) -> Result<HublessBody, Error> {
    let tell = |step: &str| ui.note(step, &[]);
    let server = Sandbox::open()?.start_private(&[], &tell).await?;
    let screen = Screen { ui: ui.part(), endpoint: server.endpoint() };
    // The hub of all commands of the demo.
    let global = screen.command_line("list")?.cli.global;
    let account = DemoAccount::new(&global.connect().await?, global.bus);

    screen.say("Two clusters run in this account: base and tenant-1. Karpenter launched one Spot instance in each.")?;
    let base = account.cluster("base").await?;
    let tenant = account.cluster("tenant-1").await?;
    let unmanaged = account.instance("an instance not launched by Karpenter", &[("Name", "web")]).await?;
    let before = account.resource_names().await?;

    screen.say("Create one hub for all clusters.")?;
    screen.kibus("bootstrap-hub --rebalance --yes").await?;
    screen.say("Create one queue per cluster, and allow its Karpenter controller to read it.")?;
    screen.kibus("add-cluster base tenant-1 --yes").await?;

    screen.say("Send events of EC2 and AWS Health to the hub. The router delivers each to its cluster.")?;
    let ledger = Ledger::record(&account, [&base, &tenant], &unmanaged).await?;
    let demo = ledger.check()?;
    ui.result(&format!(
        "{} sent, {} delivered ({} split), {} dropped, 0 lost, 0 misrouted",
        demo.sent, demo.delivered, demo.split, demo.dropped
    ))?;
    screen.say(
        "Show what became of the events of each cluster. Drops of events on which no Karpenter acts are only counted.",
    )?;
    screen.kibus("events").await?;

    screen.say("Check for drift.")?;
    screen.kibus("verify").await?;
    screen.say("Interrupt an instance with AWS FIS. The sandbox ends it within seconds; AWS takes two minutes.")?;
    let drill = format!("drill tenant-1 --instance {} --yes", tenant.instance);
    tokio::select! {
        drilled = screen.kibus(&drill) => drilled?,
        error = account.play_karpenter(&tenant) => return Err(error),
    }
    screen.say("Remove one cluster, then delete the bus.")?;
    screen.kibus("remove-cluster tenant-1 --yes").await?;
    screen.kibus("teardown --yes").await?;
    let after = account.resource_names().await?;
    check_nothing_left(&before, &after)?;
    screen.say("No resources are left: queues, roles, policies, rules and all others are as before.")?;
    Ok(HublessBody::Demo(demo))
}

impl Screen<'_> {
    fn say(&self, text: &str) -> Result<(), Error> {
        let text = format!("\n{text}");
        self.ui.result(&text::sentences(&text, self.ui.result_style()))
    }

    /// Prints and runs a kibus command. Fails if it does not end with exit code 0.
    async fn kibus(&self, arguments: &str) -> Result<(), Error> {
        self.ui.result(&format!("\n$ kibus {arguments}"))?;
        let line = self.command_line(arguments)?;
        match conclude(&self.ui, Box::pin(line.report(&self.ui, &Stop::default())).await) {
            0 => Ok(()),
            exit_code => Err(ended(arguments, exit_code)),
        }
    }

    /// A command about the hub on the demo's emulator.
    fn command_line(&self, arguments: &str) -> Result<CommandLine, Error> {
        let words = std::iter::once("kibus").chain(arguments.split_whitespace());
        let words: Vec<OsString> = words.map(OsString::from).collect();
        let mut line = CommandLine::parse(&words).map_err(|exit_code| ended(arguments, exit_code))?;
        line.cli.global.private = Some(self.endpoint.clone());
        Ok(line)
    }
}

fn ended(arguments: &str, exit_code: u8) -> Error {
    Error::failed(format!("`kibus {arguments}` ended with exit code {exit_code}"))
}

fn check_nothing_left(before: &BTreeSet<String>, after: &BTreeSet<String>) -> Result<(), Error> {
    let names = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>().join(", ");
    let left = names(after.difference(before).collect());
    let gone = names(before.difference(after).collect());
    match (left.as_str(), gone.as_str()) {
        ("", "") => Ok(()),
        (left, "") => Err(Error::failed("the demo left resources behind").note(left)),
        (_, gone) => Err(Error::failed("the demo deleted resources that it did not create").note(gone)),
    }
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
