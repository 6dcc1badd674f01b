//! The words for what goes wrong between a command and the cloud.

mod apply;
mod blocked;

pub(super) use apply::{abandoned, cut_short, settings_changed, unfinished};
pub(super) use blocked::{blocked, no_single_role};

use super::hub::ConnectedHub;
use crate::advice::explanation;
use crate::error::Error;
use crate::model::answer::{Fault, FaultKind};
use crate::plan::Refusal;

/// A call that is not about one resource failed.
pub(super) fn call_failed(hub: &ConnectedHub, what: &str, fault: &Fault) -> Error {
    not_read(hub, Error::failed(format!("cannot {what}")), fault)
}

/// The error to end with where this many items could not be read; `None` if everything could.
pub(super) fn incomplete(hub: &ConnectedHub, unread: usize) -> Option<Error> {
    let what = match unread {
        0 => return None,
        1 => "1 item".to_owned(),
        count => format!("{count} items"),
    };
    let error = Error::failed(format!("{what} could not be read, so the result is incomplete"));
    Some(error.hint_command(
        "to print the permissions that reading all of it needs:",
        hub.scope.kibus("policy operator"),
    ))
}

fn not_read(hub: &ConnectedHub, error: Error, fault: &Fault) -> Error {
    let error = because(hub, error, fault);
    match fault.kind {
        FaultKind::Denied { .. } => error.hint_command("with the permission, run again:", hub.command_line.as_str()),
        _ => error,
    }
}

/// The plan is refused. `removes` says that it only deletes.
pub(super) fn refused(hub: &ConnectedHub, refusals: &[Refusal], removes: bool) -> Error {
    let mut error = match refusals {
        [one] => Error::refused(one.to_string()),
        several => {
            let texts = several.iter().map(ToString::to_string);
            texts.fold(Error::refused("this plan is refused"), Error::note)
        }
    };
    for refusal in refusals {
        let hint = refusal.advice(&hub.scope, removes);
        if !error.hints.contains(&hint) {
            error.hints.push(hint);
        }
    }
    error
}

/// Adds why a call failed, and what helps.
pub(super) fn because(hub: &ConnectedHub, mut error: Error, fault: &Fault) -> Error {
    let (notes, hint) = explanation(fault, &hub.scope);
    error.notes.extend(notes);
    error.hints.extend(hint);
    error
}
