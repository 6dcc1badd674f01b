//! `kibus sandbox demo`: creates, uses and deletes a bus on a local AWS emulator, and checks each result.

mod event;
mod ledger;
mod stage;

use std::collections::BTreeSet;

use crate::cli::Ending;
use crate::error::Error;
use crate::sandbox::{Sandbox, SetupStep};
use crate::ui::Ui;
use event::{DemoEvents, Sent};
use ledger::Ledger;
use stage::Stage;

/// Runs the demo. Fails at the first result that is not as expected.
pub(in crate::cli) async fn run(ui: &Ui, report: &(dyn Fn(SetupStep) + Sync)) -> Result<Ending, Error> {
    let server = Sandbox::open()?.start_private(&[], report).await?;
    let stage = Stage::set(ui, server.endpoint().clone()).await?;

    stage.say("Two clusters run in this account: base and tenant-1. Karpenter launched one instance in each.")?;
    let base = stage.cluster("base").await?;
    let tenant = stage.cluster("tenant-1").await?;
    let unmanaged = stage
        .instance("an instance not launched by Karpenter", &[("Name", "web")])
        .await?;
    let before = stage.resource_names().await?;

    stage.say("Create one hub for all clusters.")?;
    stage.kibus("bootstrap-hub --rebalance --yes").await?;
    stage.say("Create one queue per cluster, and allow its Karpenter controller to read it.")?;
    stage.kibus("add-cluster base tenant-1 --yes").await?;

    stage.say("Send events of EC2 and AWS Health to the hub. The router delivers each to its cluster.")?;
    let events = DemoEvents::new(stage.scope());
    let mut sent: Vec<Sent> = Vec::new();
    for cluster in [&base, &tenant] {
        sent.extend(events.of_every_kind(cluster));
    }
    sent.push(events.scheduled_change_of_both(&base, &tenant, &unmanaged));
    sent.push(events.starting(&base));
    sent.push(events.of_nobody(&unmanaged));
    sent.push(events.probe_of(&base));
    let ledger = Ledger::record(&stage, sent).await?;
    ui.result(&ledger.table(ui.result_style().width))?;
    ui.result(&ledger.check()?)?;

    stage.say("Check for drift.")?;
    stage.kibus("verify").await?;
    stage.say("Remove one cluster, then delete the bus.")?;
    stage.kibus("remove-cluster tenant-1 --yes").await?;
    stage.kibus("teardown --yes").await?;
    let after = stage.resource_names().await?;
    check_nothing_left(&before, &after)?;
    stage.say("No resources are left: queues, roles, policies, rules and all others are as before.")?;
    Ok(Ending::Done)
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
