//! `kibus sandbox demo`: creates, uses and deletes a bus on a local AWS emulator, and checks each result.

use std::collections::BTreeSet;
use std::ffi::OsString;

use crate::cli::stop::Stop;
use crate::cli::{CommandLine, Ending};
use crate::demo::{DemoAccount, Ledger};
use crate::error::Error;
use crate::sandbox::{Endpoint, Sandbox};
use crate::ui::{Report, Ui, text};

/// What a person would see who types the commands.
struct Screen<'a> {
    ui: Ui,
    endpoint: &'a Endpoint,
}

/// Runs the demo. Fails at the first result that is not as expected.
pub(super) async fn run(ui: &Ui) -> Result<Ending, Error> {
    let tell = |step: &str| ui.note(step, &[]);
    let server = Sandbox::open()?.start_private(&[], &tell).await?;
    let screen = Screen {
        ui: ui.part(),
        endpoint: server.endpoint(),
    };
    // The hub of all commands of the demo.
    let hub = screen.command_line("list")?.hubs.remove(0);
    let account = DemoAccount::new(&hub.connect().await?, hub.bus);

    screen.say("Two clusters run in this account: base and tenant-1. Karpenter launched one instance in each.")?;
    let base = account.cluster("base").await?;
    let tenant = account.cluster("tenant-1").await?;
    let unmanaged = account
        .instance("an instance not launched by Karpenter", &[("Name", "web")])
        .await?;
    let before = account.resource_names().await?;

    screen.say("Create one hub for all clusters.")?;
    screen.kibus("bootstrap-hub --rebalance --yes").await?;
    screen.say("Create one queue per cluster, and allow its Karpenter controller to read it.")?;
    screen.kibus("add-cluster base tenant-1 --yes").await?;

    screen.say("Send events of EC2 and AWS Health to the hub. The router delivers each to its cluster.")?;
    let ledger = Ledger::record(&account, [&base, &tenant], &unmanaged).await?;
    ui.result(&ledger.table(ui.result_style().width))?;
    let demo = ledger.check()?;
    ui.result(&format!(
        "{} sent, {} delivered ({} split), {} dropped, 0 lost, 0 misrouted",
        demo.sent, demo.delivered, demo.split, demo.dropped
    ))?;

    screen.say("Check for drift.")?;
    screen.kibus("verify").await?;
    screen.say("Remove one cluster, then delete the bus.")?;
    screen.kibus("remove-cluster tenant-1 --yes").await?;
    screen.kibus("teardown --yes").await?;
    let after = account.resource_names().await?;
    check_nothing_left(&before, &after)?;
    screen.say("No resources are left: queues, roles, policies, rules and all others are as before.")?;
    ui.report(&Report {
        demo: Some(demo),
        ..Report::default()
    })?;
    Ok(Ending::Done)
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
        match Box::pin(line.run_with(&self.ui, &Stop::default())).await? {
            Ending::Done => Ok(()),
            ending => Err(ended(arguments, ending.exit_code())),
        }
    }

    /// A command about the hub on the demo's emulator.
    fn command_line(&self, arguments: &str) -> Result<CommandLine, Error> {
        let words = std::iter::once("kibus").chain(arguments.split_whitespace());
        let line = CommandLine::parse(words.map(OsString::from));
        let mut line = line.map_err(|exit_code| ended(arguments, exit_code))?;
        for hub in &mut line.hubs {
            hub.private = Some(self.endpoint.clone());
        }
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
