//! `kibus sandbox demo`: the whole story on a local AWS, each claim of it checked.

mod event;
mod ledger;
mod stage;

use std::collections::BTreeSet;

use super::Ending;
use super::sandbox::report_steps;
use crate::error::Error;
use crate::sandbox::Sandbox;
use crate::ui::Ui;
use event::{Sent, Signals};
use ledger::Ledger;
use stage::Stage;

/// Sets the stage, plays every act, and fails at the first claim that does not hold.
pub(super) async fn run(ui: &Ui) -> Result<Ending, Error> {
    let server = Sandbox::open()?.start_private(&[], &report_steps(ui)).await?;
    let stage = Stage::set(ui, server.endpoint()).await?;

    stage
        .tell("Two clusters run in this account: base and tenant-1, each with Karpenter and an instance of its own.")?;
    let base = stage.cluster("base").await?;
    let tenant = stage.cluster("tenant-1").await?;
    let stranger = stage
        .instance("an instance that no Karpenter launched", &[("Name", "web")])
        .await?;
    let before = stage.everything().await?;

    stage.tell("One hub serves them all.")?;
    stage.kibus("bootstrap-hub --rebalance --yes").await?;
    stage.tell("Each cluster gets a queue, and its Karpenter the right to read it.")?;
    stage.kibus("add-cluster base tenant-1 --yes").await?;

    stage.tell("EC2 and AWS Health speak up. Every event goes to the hub.")?;
    let signals = Signals::new(stage.scope());
    let mut sent: Vec<Sent> = Vec::new();
    for cluster in [&base, &tenant] {
        sent.extend(signals.of_every_kind(cluster));
    }
    sent.push(signals.scheduled_change_of_both(&base, &tenant, &stranger));
    sent.push(signals.starting(&base));
    sent.push(signals.of_nobody(&stranger));
    let ledger = Ledger::keep(&stage, sent).await?;
    ui.result(&ledger.table(ui.result_look().width))?;
    ui.result(&ledger.balance()?)?;

    stage.tell("Nothing has drifted.")?;
    stage.kibus("verify").await?;
    stage.tell("A cluster leaves; then everything goes.")?;
    stage.kibus("remove-cluster tenant-1 --yes").await?;
    stage.kibus("teardown --yes").await?;
    let after = stage.everything().await?;
    nothing_left(&before, &after)?;
    stage.tell("Nothing is left: queues, roles, policies, rules and the rest are what they were before.")?;
    Ok(Ending::Done)
}

fn nothing_left(before: &BTreeSet<String>, after: &BTreeSet<String>) -> Result<(), Error> {
    let names = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>().join(", ");
    let left = names(after.difference(before).collect());
    let gone = names(before.difference(after).collect());
    match (left.as_str(), gone.as_str()) {
        ("", "") => Ok(()),
        (left, "") => Err(Error::failed("the demo left something behind").note(left)),
        (_, gone) => Err(Error::failed("the demo removed what was not its own").note(gone)),
    }
}
