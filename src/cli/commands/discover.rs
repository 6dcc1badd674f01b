use crate::cli::hub::{ConnectedHub, Hubs};
use crate::cli::{Ending, failure, stages};
use crate::discover::{Discovery, discovery, guess};
use crate::error::Error;
use crate::export::Format;
use crate::model::Fault;
use crate::reconcile::{Intent, NextStep};
use crate::ui::{HubReport, text};

/// The document with the permissions of this command.
const DOCUMENT: &str = "policy operator --for discover";

/// Find the rules and queues that other tools created for Karpenter; change nothing.
///
/// Lists the rules of the default event bus that send Karpenter's events to queues: the cluster, the tool that created them,
/// whether anything read the queue in the last day, which rules the hub replaces and how to remove them. Ends with the commands
/// that move the clusters to the bus. It needs no hub. Where CloudWatch has no data, it counts messages for a minute. Exits with
/// 1 if something could not be read.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// End with commands that export the clusters in this language, for a tool that owns their queues.
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
}

/// Surveys every hub, also one that does not exist, and the default event bus of its account and Region.
pub(super) async fn run(args: Args, hubs: Hubs<'_>) -> Result<Ending, Error> {
    let surveys = hubs
        .each(async |hub| stages::survey(&hubs, hub, |_| guess(), |survey| discovery(survey, args.format)).await)
        .await;
    let mut reports = Vec::new();
    for (hub, survey) in hubs.list.iter().zip(surveys) {
        let found = survey.and_then(|(_, found)| found.map_err(|fault| not_listed(hub, &fault)));
        reports.push(match found {
            Ok(found) => show(&hubs, hub, found)?,
            Err(error) => hub.left_out(error)?,
        });
    }
    stages::finish(&hubs, reports, Ending::Done)
}

fn show(hubs: &Hubs<'_>, hub: &ConnectedHub, found: Discovery) -> Result<HubReport, Error> {
    let ConnectedHub { ui, heading, .. } = hub;
    for (what, fault) in &found.unread {
        ui.warn_text(&format!("{what} could not be read: {fault}"));
    }
    if let Some(fault) = &found.unmeasured {
        ui.warn_text(&format!("unknown what was read in the last day: {fault}"));
    }
    hubs.part(hub, true)?;
    ui.result(&text::discovery(heading, &found, ui.result_style()))?;
    if !found.moves.is_empty() {
        ui.result("")?;
    }
    let steps: Vec<NextStep> = found.moves.iter().cloned().map(NextStep::Run).collect();
    ui.next_steps(&steps)?;
    Ok(HubReport {
        warnings: ui.warnings(),
        error: incomplete(hub, found.unread.len()),
        discovery: Some(found),
        ..hub.report(&Intent::default())
    })
}

fn not_listed(hub: &ConnectedHub, fault: &Fault) -> Error {
    let error = failure::call_failed(hub, "list the rules", fault);
    if fault.is_denied() { with_document(hub, error) } else { error }
}

fn incomplete(hub: &ConnectedHub, unread: usize) -> Option<Error> {
    failure::incomplete(hub, unread).map(|error| with_document(hub, error))
}

/// The error with the document that this command needs, instead of the one that it needs too.
fn with_document(hub: &ConnectedHub, error: Error) -> Error {
    let error = Error { hints: Vec::new(), ..error };
    error.hint_command(
        "grant the permissions that this command prints, besides those of an operator:",
        hub.scope.kibus(DOCUMENT),
    )
}
