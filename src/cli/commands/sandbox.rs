//! `kibus sandbox`.

use clap::Subcommand;
use serde_json::json;

use super::demo;
use crate::cli::Ending;
use crate::error::Error;
use crate::sandbox::{DEFAULT_REGION, Sandbox, Status, Step, Up};
use crate::ui::{Output, Ui};

/// A local AWS emulator to try everything on; `--sandbox` points any other command at it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the sandbox; the first time, install the emulator.
    Up,
    /// End the sandbox; what was created in it is forgotten.
    Down,
    /// Print the variables that point AWS's tools at the sandbox: eval "$(kibus sandbox env)".
    Env,
    /// Say whether the sandbox runs, and where.
    Status,
    /// Play the whole story in a sandbox of its own: hub, two clusters, events of every kind, and nothing left.
    Demo,
}

pub(in crate::cli) async fn run(args: Args, ui: &Ui) -> Result<Ending, Error> {
    match args.command {
        Command::Up => up(ui).await?,
        Command::Down => match Sandbox::open()?.down().await? {
            Some(_) => ui.result("The sandbox has ended, and what was in it is forgotten.")?,
            None => ui.result("The sandbox was not running.")?,
        },
        Command::Env => env(ui).await?,
        Command::Status => status(ui).await?,
        Command::Demo => return demo::run(ui).await,
    }
    Ok(Ending::Done)
}

/// Tells what takes a while.
pub(in crate::cli) fn telling(ui: &Ui) -> impl Fn(Step) + Sync {
    |step| match step {
        Step::Installing => ui.say("installing the local AWS emulator (once; it takes some seconds) ..."),
        Step::Starting => ui.say("starting the local AWS emulator ..."),
    }
}

async fn up(ui: &Ui) -> Result<(), Error> {
    let (began, record) = match Sandbox::open()?.up(&telling(ui)).await? {
        Up::Started(record) => ("The sandbox runs", record),
        Up::Already(record) => ("The sandbox was running already", record),
    };
    ui.result(&format!(
        "{began} at {}. What is created in it is kept until it ends. Try:\n    kibus bootstrap-hub --sandbox",
        record.endpoint().url()
    ))
}

async fn env(ui: &Ui) -> Result<(), Error> {
    let environment = Sandbox::open()?.endpoint().await?.environment(DEFAULT_REGION);
    if ui.output() == Output::Json {
        let set: serde_json::Map<_, _> = environment
            .set
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        return ui.out(&json!({ "set": set, "unset": environment.unset }).to_string());
    }
    let set = environment
        .set
        .iter()
        .map(|(name, value)| format!("export {name}={value}"));
    let unset = environment.unset.iter().map(|name| format!("unset {name}"));
    ui.out(&set.chain(unset).collect::<Vec<_>>().join("\n"))
}

async fn status(ui: &Ui) -> Result<(), Error> {
    let sandbox = Sandbox::open()?;
    let status = sandbox.status().await?;
    if ui.output() == Output::Json {
        let value = match &status {
            Status::Down => json!({ "running": false }),
            Status::Up(record) | Status::Silent(record) => json!({
                "running": true,
                "answers": matches!(status, Status::Up(_)),
                "endpoint_url": record.endpoint().url(),
                "pid": record.pid,
                "log": sandbox.log_path(),
            }),
        };
        return ui.out(&value.to_string());
    }
    match status {
        Status::Down => ui.out("The sandbox is not running. To start it:\n    kibus sandbox up"),
        Status::Up(record) => ui.out(&format!(
            "The sandbox runs at {} (process {}, log {}).",
            record.endpoint().url(),
            record.pid,
            sandbox.log_path().display()
        )),
        Status::Silent(record) => ui.out(&format!(
            "The sandbox (process {}) does not answer; its log is {}. To end it:\n    kibus sandbox down",
            record.pid,
            sandbox.log_path().display()
        )),
    }
}
