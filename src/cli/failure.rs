//! Messages for failures between a command and the cloud.

use std::collections::BTreeMap;

use super::hub::ConnectedHub;
use crate::apply::Outcome;
use crate::error::{Error, ErrorKind, Progress};
use crate::message::explained;
use crate::model::{Fault, FaultKind, ResourceId, counted, first_of};
use crate::plan::{Action, Change, Plan};

/// The error to end with if this many items could not be read, with hints for these faults; `None` if everything was read.
pub(super) fn incomplete<'a>(
    hub: &ConnectedHub<'_>,
    unread: usize,
    faults: impl IntoIterator<Item = &'a Fault>,
) -> Option<Error> {
    let what = counted(unread, "item");
    let error = Error::failed(format!("{what} could not be read, so the result is incomplete"));
    let (_, hints) = explained(&hub.scope, faults.into_iter().map(|fault| (String::new(), fault)));
    (unread > 0).then_some(Error { hints, ..error })
}

/// Adds why a call failed, and hints.
pub(super) fn because(hub: &ConnectedHub<'_>, mut error: Error, fault: &Fault) -> Error {
    let (notes, hints) = explained(&hub.scope, [(String::new(), fault)]);
    error.notes.extend(notes);
    error.hints.extend(hints);
    error
}

/// Not every change was applied: one failed, or the user requested a stop.
pub(super) fn unfinished(hub: &ConnectedHub<'_>, plan: &Plan, outcome: &Outcome, interrupted: ErrorKind) -> Error {
    match outcome.failed.as_slice() {
        [] => stopped(hub, plan, interrupted, outcome),
        failed => failed_changes(hub, plan, failed, outcome.progress()),
    }
}

fn failed_changes(hub: &ConnectedHub<'_>, plan: &Plan, failed: &[(usize, Fault)], progress: Progress) -> Error {
    let by_place: BTreeMap<usize, &Fault> = failed.iter().map(|(at, fault)| (*at, fault)).collect();
    let failed: Vec<(&Change, &Fault)> = by_place.into_iter().map(|(at, fault)| (&plan.changes[at], fault)).collect();
    let (change, fault) = failed[0];
    if let Some(raced) = other_run(change, fault) {
        return Error { progress: Some(progress), ..Error::failed(raced) };
    }
    let verb = change.action.words()[0];
    let message = match failed.len() {
        1 if fault.is_denied() => format!("not allowed to {verb} {}", change.id),
        1 => format!("could not {verb} {}", change.id),
        several => format!("{several} changes failed"),
    };
    let (notes, hints) = explained(&hub.scope, failed.iter().map(|(change, fault)| (change.id.to_string(), *fault)));
    let is_late = |fault: &Fault| {
        matches!(fault.kind, FaultKind::Exists | FaultKind::NotManaged | FaultKind::Gone | FaultKind::Changed)
    };
    let when = if failed.iter().any(|(_, fault)| is_late(fault)) {
        "the plan is out of date; to plan again, run:"
    } else if failed.iter().any(|(_, fault)| fault.is_denied()) {
        "once the permission is granted, run again:"
    } else {
        "to continue, run again:"
    };
    let error = Error { notes, hints, progress: Some(progress), ..Error::failed(message) };
    error.note(format!("{progress}; nothing needs to be undone")).hint_command(when, hub.scope.again(""))
}

/// Another run has removed a cluster while this one was registering it, or the reverse. Running again would undo the other run's change.
fn other_run(change: &Change, fault: &Fault) -> Option<String> {
    let cluster = change.cluster.as_ref().filter(|_| matches!(change.id, ResourceId::Queue(_)))?;
    match (change.action, &fault.kind) {
        (Action::Create | Action::Update, FaultKind::Gone) => {
            Some(format!("another run removed cluster `{cluster}` while this one was registering it"))
        }
        _ => None,
    }
}

/// All changes are applied, but another run has overwritten the settings of this run.
pub(super) fn overwritten(hub: &ConnectedHub<'_>, outcome: &Outcome) -> Error {
    let progress = outcome.progress();
    let mut error = Error::failed("another run has overwritten the settings that this run saved")
        .note(format!("{progress}; the settings of the other run are in force"))
        .hint_command("to save your settings again, run again:", hub.scope.again(""));
    error.progress = Some(progress);
    error
}

/// Interrupted once: the AWS calls in progress have finished, and all waits have ended.
fn stopped(hub: &ConnectedHub<'_>, plan: &Plan, kind: ErrorKind, outcome: &Outcome) -> Error {
    let progress = outcome.progress();
    let mut error = Error::new(kind, "stopped early")
        .note(format!("{progress}; nothing needs to be undone"))
        .hint_command("to continue, run again:", hub.scope.again(""));
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
pub(super) fn cut_short(hub: &ConnectedHub<'_>, kind: ErrorKind) -> Error {
    Error::new(kind, "stopped immediately")
        .note("the AWS calls in progress may have taken effect; nothing needs to be undone")
        .hint_command("to continue, run again:", hub.scope.again(""))
}

/// Interrupted twice while a plan was applied.
pub(super) fn abandoned(hub: &ConnectedHub<'_>, plan: &Plan, kind: ErrorKind, outcome: &Outcome) -> Error {
    let progress = outcome.progress();
    let mut error = cut_short(hub, kind).note(progress.to_string());
    error.progress = Some(progress);
    let unknown: Vec<_> = outcome.unknown.iter().map(|at| &plan.changes[*at].id).collect();
    if unknown.is_empty() { error } else { error.note(format!("unknown: {}", first_of(unknown, 1))) }
}
