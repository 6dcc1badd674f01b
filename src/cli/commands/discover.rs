use crate::cli::hub::{ConnectedHub, Context};
use crate::cli::{failure, stages};
use crate::discover::{Discovery, discovery, guess};
use crate::error::Error;
use crate::message::Message;
use crate::model::Fault;
use crate::ui::{Body, HubReport, text};

/// The document with the permissions of this command.
const DOCUMENT: &str = "policy operator --for discover";

/// Find the rules and queues that others created for Karpenter; change nothing.
///
/// Lists the rules on the default event bus that match Karpenter's events, each with its target queue: whether anything
/// read the queue in the last day, its cluster, and the tags of both. Ends with the steps that move the clusters to the
/// bus, in a safe order. Needs no hub. Exits with 1 if something could not be read.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {}

/// Surveys the hub, if it exists, and the default event bus of its account and Region.
pub(super) async fn run(_: Args, context: &Context<'_>) -> Result<HubReport, Error> {
    let hub = context.hub().await?;
    let (_, found) = stages::survey(hub, |_| guess(), discovery).await?;
    show(hub, found.map_err(|fault| not_listed(hub, &fault))?)
}

fn show(hub: &ConnectedHub<'_>, found: Discovery) -> Result<HubReport, Error> {
    let ConnectedHub { ui, scope, .. } = hub;
    for (what, fault) in &found.unread {
        ui.warn_text(&format!("{what} could not be read: {fault}"));
    }
    if let Some(fault) = &found.unmeasured {
        ui.warn_text(&format!("unknown whether queues were read in the last day: {fault}"));
    }
    ui.result(&text::discovery(scope, &found, ui.result_style()))?;
    let faults = || found.unread.iter().map(|(_, fault)| fault);
    let error = failure::incomplete(hub, found.unread.len(), faults()).map(|error| {
        // The document for this command, instead of the operator's document, which it also needs.
        if faults().any(Fault::is_denied) { with_document(hub, error) } else { error }
    });
    Ok(HubReport { error, ..HubReport::with(scope, Body::Discovery(found)) })
}

fn not_listed(hub: &ConnectedHub<'_>, fault: &Fault) -> Error {
    let error = Message::unread(&hub.scope, [("the rules".into(), fault)]).into();
    if fault.is_denied() { with_document(hub, error) } else { error }
}

/// The error with the document for this command, instead of the operator's document, which it also needs.
fn with_document(hub: &ConnectedHub<'_>, error: Error) -> Error {
    let error = Error { hints: Vec::new(), ..error };
    error.hint_command(
        "in addition to an operator's permissions, grant those that this command prints:",
        hub.scope.kibus(DOCUMENT),
    )
}
