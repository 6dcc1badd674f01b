//! The words for what goes wrong between a command and the cloud.

use super::context::Context;
use crate::apply::Outcome;
use crate::cloud::{Fault, FaultKind};
use crate::error::{Error, ErrorKind};
use crate::model::resource::ResourceId;
use crate::plan::{Action, Change, Refusal};

/// There is no hub on this bus.
pub(super) fn no_hub(context: &Context<'_>) -> Error {
    let scope = &context.scope;
    Error::failed(format!(
        "there is no hub `{}` in {} of account {}",
        scope.bus, scope.region, scope.account
    ))
    .hint_command("to set one up:", context.command("bootstrap-hub"))
    .hint("if there is one elsewhere, say where with --bus, --region or --profile")
}

/// Something could not be read, so nothing can be planned.
pub(super) fn unreadable(context: &Context<'_>, id: &ResourceId, fault: &Fault) -> Error {
    let message = match fault.kind {
        FaultKind::Denied { .. } => format!("not allowed to read {id}"),
        _ => format!("cannot read {id}"),
    };
    not_read(context, Error::failed(message), fault)
}

/// A call that is not about one resource did not succeed.
pub(super) fn call_failed(context: &Context<'_>, what: &str, fault: &Fault) -> Error {
    not_read(context, Error::failed(format!("cannot {what}")), fault)
}

/// The clusters of a bus could not be found.
pub(super) fn clusters_unknown(context: &Context<'_>, fault: &Fault) -> Error {
    call_failed(context, "list the queues of clusters", fault)
}

fn not_read(context: &Context<'_>, error: Error, fault: &Fault) -> Error {
    let error = because(context, error, fault).note("nothing was changed");
    match fault.kind {
        FaultKind::Denied { .. } => error.hint_command(
            "when the permission is there, run again:",
            context.command_line.as_str(),
        ),
        _ => error,
    }
}

/// A change was not made.
pub(super) fn failed_change(context: &Context<'_>, change: &Change, fault: &Fault, outcome: &Outcome) -> Error {
    let verb = match change.action {
        Action::Create => "create",
        Action::Update => "change",
        Action::Replace => "replace",
        Action::Delete => "delete",
    };
    let message = match fault.kind {
        FaultKind::Denied { .. } => format!("not allowed to {verb} {}", change.id),
        _ => format!("could not {verb} {}", change.id),
    };
    let progress = outcome.progress();
    let total = progress.done + progress.failed + progress.not_tried;
    let mut error = because(context, Error::failed(message), fault).note(format!(
        "{} of {total} changes are done, {} failed, {} were not tried; nothing needs undoing",
        progress.done, progress.failed, progress.not_tried
    ));
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
    for (_, other) in others {
        error = error.note(format!(
            "at the same time, {} answered: {}",
            other.action, other.message
        ));
    }
    error.progress = Some(progress);
    let when = match fault.kind {
        FaultKind::Denied { .. } => "when the permission is there, run again:",
        FaultKind::Exists | FaultKind::Gone => "the plan is out of date; to make a new one, run again:",
        _ => "to go on where it stopped, run again:",
    };
    error.hint_command(when, context.command_line.as_str())
}

/// Someone asked to stop, and what was in flight is finished.
pub(super) fn stopped(context: &Context<'_>, kind: ErrorKind, outcome: &Outcome) -> Error {
    let progress = outcome.progress();
    let mut error = Error::new(kind, "stopped before the end")
        .note(format!(
            "{} of {} changes are done, {} were not tried; nothing needs undoing",
            progress.done,
            progress.done + progress.failed + progress.not_tried,
            progress.not_tried
        ))
        .hint_command("to go on where it stopped, run again:", context.command_line.as_str());
    error.progress = Some(progress);
    error
}

/// Someone asked to stop twice, and calls in flight were left alone.
pub(super) fn cut_short(context: &Context<'_>, kind: ErrorKind) -> Error {
    Error::new(kind, "stopped at once")
        .note("calls in flight may or may not have been carried out; nothing needs undoing")
        .hint_command("to go on where it stopped, run again:", context.command_line.as_str())
}

/// The plan is refused. `removes` says that it only deletes.
pub(super) fn refused(context: &Context<'_>, refusals: &[Refusal], removes: bool) -> Error {
    let mut error = match refusals {
        [one] => Error::refused(one.to_string()),
        several => several
            .iter()
            .fold(Error::refused("this plan is refused"), |error, refusal| {
                error.note(refusal.to_string())
            }),
    }
    .note("nothing was changed");
    for refusal in refusals {
        let hint = refusal.advice(&context.scope, removes);
        if !error.hints.contains(&hint) {
            error.hints.push(hint);
        }
    }
    error.with_global_options(&context.global_flags)
}

/// Adds why a call failed, and what helps.
fn because(context: &Context<'_>, mut error: Error, fault: &Fault) -> Error {
    let (notes, hint) = fault.explanation(&context.scope);
    error.notes.extend(notes);
    error.hints.extend(hint);
    error.with_global_options(&context.global_flags)
}
