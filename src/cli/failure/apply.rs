//! Why a plan was not applied to its end.

use std::collections::{BTreeMap, BTreeSet};

use super::because;
use crate::apply::Outcome;
use crate::cli::hub::ConnectedHub;
use crate::error::{Error, ErrorKind, listed};
use crate::model::answer::{Fault, FaultKind};
use crate::model::notation::first_of;
use crate::model::resource::ResourceId;
use crate::model::settings::SettingsChange;
use crate::plan::{Action, Change, Plan};

/// Not every change was applied: one failed, or someone asked to stop.
pub(in crate::cli) fn unfinished(hub: &ConnectedHub, plan: &Plan, outcome: &Outcome, interrupted: ErrorKind) -> Error {
    match outcome.failed.first() {
        Some((at, fault)) => failed_change(hub, &plan.changes[*at], fault, outcome),
        None => stopped(hub, plan, interrupted, outcome),
    }
}

fn failed_change(hub: &ConnectedHub, change: &Change, fault: &Fault, outcome: &Outcome) -> Error {
    let [verb, ..] = change.action.words();
    let message = match fault.kind {
        FaultKind::Denied { .. } => format!("not allowed to {verb} {}", change.id),
        _ => format!("could not {verb} {}", change.id),
    };
    let progress = outcome.progress();
    if let Some(raced) = other_run(change, fault) {
        let progress = Some(progress);
        return Error {
            progress,
            ..Error::failed(raced)
        };
    }
    let mut error = because(hub, Error::failed(message), fault).note(format!("{progress}; nothing needs to be undone"));
    let (alike, others): (Vec<_>, Vec<_>) = outcome
        .failed
        .iter()
        .skip(1)
        .partition(|(_, other)| (&other.action, &other.code) == (&fault.action, &fault.code));
    match alike.len() {
        0 => {}
        1 => error = error.note("one more failed in the same way"),
        more => error = error.note(format!("{more} more failed in the same way")),
    }
    for (_, Fault { action, message, .. }) in others {
        error = error.note(format!("at the same time, {action} answered: {message}"));
    }
    error.progress = Some(progress);
    let when = match fault.kind {
        FaultKind::Denied { .. } => "with the permission, run again:",
        FaultKind::Exists | FaultKind::NotManaged | FaultKind::Gone | FaultKind::Changed => {
            "the plan is out of date; to make a new one, run again:"
        }
        _ => "to continue, run again:",
    };
    error.hint_command(when, hub.command_line.as_str())
}

/// Another run has removed a cluster while this one registered it, or the reverse. To run again would undo what that one did.
fn other_run(change: &Change, fault: &Fault) -> Option<String> {
    let cluster = change
        .cluster
        .as_ref()
        .filter(|_| matches!(change.id, ResourceId::Queue(_)))?;
    match (change.action, &fault.kind) {
        (Action::Create | Action::Update, FaultKind::Gone) => Some(format!(
            "another run has removed cluster `{cluster}` while this one registered it"
        )),
        _ => None,
    }
}

/// Another run or person wrote the settings of a hub while this command ran.
pub(in crate::cli) fn settings_changed(hub: &ConnectedHub, id: &ResourceId, changes: &[SettingsChange]) -> Error {
    let who: BTreeSet<&str> = changes.iter().filter_map(|change| change.by.as_deref()).collect();
    let mut error = Error::failed(format!("{id} has changed since this command read it"));
    if !who.is_empty() {
        error = error.note(format!("written since by {}", listed(who)));
    }
    error
        .note("the last write counts, so one of the two is lost")
        .hint_command(
            "to apply this command to the settings as they are now:",
            hub.command_line.as_str(),
        )
}

/// Interrupted once: the AWS calls in progress are finished, and nothing is waited for any more.
fn stopped(hub: &ConnectedHub, plan: &Plan, kind: ErrorKind, outcome: &Outcome) -> Error {
    let progress = outcome.progress();
    let mut error = Error::new(kind, "stopped before the end")
        .note(format!("{progress}; nothing needs to be undone"))
        .hint_command("to continue, run again:", hub.command_line.as_str());
    let mut given_up: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, reason) in &outcome.given_up {
        given_up.entry(reason).or_default().push(*at);
    }
    for (reason, changes) in given_up {
        error = error.note(match changes.as_slice() {
            [at] => format!("{} is not finished: {reason}", plan.changes[*at].id),
            several => format!("{} changes are not finished: {reason}", several.len()),
        });
    }
    error.progress = Some(progress);
    error
}

/// Interrupted twice: the AWS calls in progress were abandoned.
pub(in crate::cli) fn cut_short(hub: &ConnectedHub, kind: ErrorKind) -> Error {
    Error::new(kind, "stopped immediately")
        .note("the AWS calls in progress may have taken effect; nothing needs to be undone")
        .hint_command("to continue, run again:", hub.command_line.as_str())
}

/// The same while a plan was applied.
pub(in crate::cli) fn abandoned(hub: &ConnectedHub, plan: &Plan, kind: ErrorKind, outcome: &Outcome) -> Error {
    let progress = outcome.progress();
    let mut error = cut_short(hub, kind).note(progress.to_string());
    error.progress = Some(progress);
    let unknown: Vec<_> = outcome.unknown.iter().map(|at| &plan.changes[*at].id).collect();
    match unknown.as_slice() {
        [] => error,
        ids => error.note(format!("unknown: {}", first_of(ids, 1))),
    }
}
