use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use clap::Subcommand;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use crate::cli::hub::Context;
use crate::error::{Error, quoted};
use crate::events::{is_instance, signal};
use crate::model::{ClusterName, GlobalOptions, Signal, sample_event};
use crate::sandbox::{DEFAULT_REGION, Sandbox, ShellVariables, Subject};
use crate::ui::json::{Environment, HublessBody};
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
    /// Run the sandbox until Ctrl-C; the first time, install the emulator from a Python package index.
    ///
    /// In us-west-2, it has the EKS clusters `base` and `tenant-1`, each with a Karpenter controller that reads its queue on the
    /// bus. `tenant-1` also has its own rules and queue, which `kibus discover` finds. Everything is in memory.
    Up,
    /// Print the variables that point SDKs and the AWS CLI at the sandbox: eval "$(kibus sandbox env)".
    ///
    /// Version 1 of the AWS CLI ignores them for `aws sqs`, which also needs --endpoint-url "$AWS_ENDPOINT_URL".
    Env,
    /// Send an event about an instance to the default event bus of the sandbox, as AWS does.
    Send(SendArgs),
    /// Run a demo in its own sandbox: discover, create a hub, run a drill, delete everything.
    Demo,
}

#[derive(Debug, clap::Args)]
struct SendArgs {
    /// Kind of event.
    #[arg(value_parser = signal(None))]
    signal: Signal,
    /// Instance id, or cluster: kibus then launches a Spot instance with the cluster's Karpenter tags.
    #[arg(value_name = "CLUSTER|INSTANCE")]
    about: ClusterName,
}

pub(super) async fn run(args: Args, context: &Context<'_>) -> Result<Report, Error> {
    let ui = context.ui;
    if !matches!(args.command, SandboxCommand::Env) {
        ui.only_text()?;
    }
    match args.command {
        SandboxCommand::Up => up(ui).await?,
        SandboxCommand::Env => return env(ui).await.map(Report::from),
        SandboxCommand::Send(args) => send(args, context).await?,
        SandboxCommand::Demo => demo(ui).await?,
    }
    Ok(Report::default())
}

/// Always returns an error: from a signal, or from the server when it exits.
async fn up(ui: &Ui) -> Result<(), Error> {
    let mut server = Sandbox::open()?.up(&|step| ui.note(step, &[])).await?;
    let url = server.endpoint().url();
    ui.result(&format!("The sandbox is running at {url}. Press Ctrl-C to stop it and delete everything in it."))?;
    let reached = GlobalOptions { sandbox: true, ..GlobalOptions::default() };
    ui.note("Next, in another terminal:", &[reached.kibus(None, "bootstrap-hub")]);
    Err(server.exited().await)
}

async fn env(ui: &Ui) -> Result<HublessBody, Error> {
    let variables = Sandbox::open()?.endpoint().await?.variables(DEFAULT_REGION);
    ui.result(&script(&variables))?;
    let set = variables.set.into_iter().collect();
    Ok(HublessBody::Environment(Environment { set, unset: variables.unset }))
}

/// The commands that a shell runs to change its variables.
fn script(variables: &ShellVariables) -> String {
    let set = variables.set.iter().map(|(name, value)| format!("export {name}={}", quoted(value)));
    let unset = variables.unset.iter().map(|name| format!("unset {name}"));
    set.chain(unset).collect::<Vec<_>>().join("\n")
}

async fn send(SendArgs { signal, about }: SendArgs, context: &Context<'_>) -> Result<(), Error> {
    let mut global = context.global.clone();
    global.reach.sandbox = true;
    let scope = global.connect(&|_| {}).await?.scope(global.bus);
    let endpoint = Sandbox::open()?.endpoint().await?;
    let event = sample_event(&scope, signal, &["INSTANCE"]);
    let (subject, what) = if is_instance(&about) {
        (Subject::Instance(about.as_str()), String::new())
    } else {
        (Subject::NewInstance { cluster: about.as_str() }, format!(", a new Spot instance of cluster {about}"))
    };
    let Some(id) = endpoint.send_event(scope.region.as_str(), subject, &event).await? else {
        return Err(Error::failed(format!("instance `{about}` does not exist in {} of the sandbox", scope.region))
            .hint("to launch an instance, pass a cluster name instead"));
    };
    context.ui.result(&format!("Sent {} about {id}{what}.", signal.detail_type()))
}

/// What the demo says, the command that it runs, and what the command must print. `INSTANCE` is the instance of the last event.
const DEMO: [(&str, &str, &[&str]); 11] = [
    (
        "Two EKS clusters run in this account: base and tenant-1. Find the rules and queues that they have.",
        "discover",
        &["karpenter-spot-interruption", "add-cluster tenant-1"],
    ),
    ("Create one hub for both clusters.", "bootstrap-hub --rebalance --yes", &["Created 16 in "]),
    (
        "Create one queue per cluster, and allow its Karpenter controller to read it.",
        "add-cluster base tenant-1 --yes",
        &["Created 6 in "],
    ),
    ("Show the state of the hub.", "status", &["base", "tenant-1"]),
    (
        "Launch a Spot instance in each cluster, and send events about them, as EC2 and AWS Health do.",
        "sandbox send spot base",
        &["Sent "],
    ),
    ("", "sandbox send scheduled tenant-1", &["Sent "]),
    (
        "Trace the events. The router delivered each to the queue of its own cluster.",
        EVENTS,
        &["base \u{b7} 1 Spot interruption", "tenant-1 \u{b7} 0 Spot interruptions, 1 other event"],
    ),
    ("Check for drift, and that probes arrive.", "verify --probe", &["No findings."]),
    (
        "Interrupt an instance with AWS FIS. The sandbox ends it within seconds; AWS takes two minutes.",
        "drill tenant-1 --instance INSTANCE --yes",
        &["taken by Karpenter", "instance terminated"],
    ),
    ("Remove one cluster, then delete the bus.", "remove-cluster tenant-1 --yes", &["Deleted 3 in "]),
    ("", "teardown --yes", &["Deleted 19 in "]),
];
const EVENTS: &str = "events";
/// How long the demo waits for the events.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs the demo. Fails at the first command that fails or does not print the expected output.
async fn demo(ui: &Ui) -> Result<(), Error> {
    let server = Sandbox::open()?.start_with_clusters(&|step| ui.note(step, &[])).await?;
    let mut instance = String::new();
    for (sentence, command, expected) in DEMO {
        if !sentence.is_empty() {
            ui.result(&text::sentences(&format!("\n{sentence}"), ui.result_style()))?;
        }
        let command = command.replace("INSTANCE", &instance);
        ui.result(&format!("\n$ kibus {command}"))?;
        let deadline = Instant::now() + TIMEOUT;
        let mut written = kibus(&command, server.directory()).await?;
        let misses = |written: &str| expected.iter().find(|part| !written.contains(**part));
        while command == EVENTS && misses(&written).is_some() && Instant::now() < deadline {
            sleep(Duration::from_secs(1)).await;
            written = kibus(&command, server.directory()).await?;
        }
        ui.result(written.trim_end())?;
        if let Some(part) = misses(&written) {
            return Err(Error::failed(format!("`kibus {command}` did not print `{part}`")));
        }
        if let Some(sent) = written.strip_prefix("Sent ") {
            let mut ids = sent.split(|c: char| !c.is_alphanumeric() && c != '-');
            instance = ids.find(|word| word.starts_with("i-")).unwrap_or_default().to_owned();
        }
    }
    Ok(())
}

/// Runs a kibus command in the sandbox with this home, and returns its stdout.
async fn kibus(command: &str, home: &Path) -> Result<String, Error> {
    let failed = |e: std::io::Error| Error::failed(format!("cannot run `kibus {command}`: {e}"));
    let mut kibus = Command::new(std::env::current_exe().map_err(failed)?);
    kibus
        .args(command.split(' '))
        .env("KIBUS_SANDBOX_HOME", home)
        .env("KIBUS_SANDBOX", "true")
        .env("KIBUS_COLOR", "never")
        .env_remove("KIBUS_PROFILE")
        .env_remove("KIBUS_ENDPOINT_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let output = kibus.spawn().map_err(failed)?.wait_with_output().await.map_err(failed)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::failed(format!("`kibus {command}` ended with {}", output.status)))
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
