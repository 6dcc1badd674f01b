//! The words for what goes wrong between a command and the cloud.

use crate::apply::Outcome;
use crate::cloud::{Fault, FaultKind};
use crate::error::{Error, ErrorKind, Invocation};
use crate::model::controller_role::usual_names;
use crate::model::name::{ClusterName, RoleName};
use crate::model::resource::{NoRollbackVersion, ResourceId};
use crate::model::scope::Scope;
use crate::plan::{Action, Change, Plan, Refusal};
use crate::recipe::{Blocked, MissingRole, RoleSearch, UnknownCluster};

/// The hub that an error is about, and the command that it ends.
pub(super) struct Place {
    pub(super) scope: Scope,
    /// The command as one would type it again.
    pub(super) command_line: String,
}

impl Place {
    /// A kibus command for the same bus.
    fn command(&self, arguments: &str) -> Invocation {
        Invocation::kibus(arguments)
    }
}

/// The recipe could not make a plan.
pub(super) fn blocked(context: &Place, blocked: &Blocked) -> Error {
    match blocked {
        Blocked::NoHub => no_hub(context),
        Blocked::NoRouter(id) => Error::failed(format!("no router to invoke: {id} does not exist"))
            .note("nothing was changed")
            .hint_command("to create it:", context.command("bootstrap-hub")),
        Blocked::Unreadable(id, fault) => unreadable(context, id, fault),
        Blocked::CallFailed(what, fault) => call_failed(context, what, fault),
        Blocked::BadSavedOption(bad) => bad.clone().into(),
        Blocked::Refused(refusals) => refused(context, refusals, false),
        Blocked::NoSuchRoles(roles) => no_such_roles(roles),
        Blocked::RolesNotFound(searches) => roles_not_found(searches),
        Blocked::UnknownClusters(names) => unknown_clusters(context, names),
        Blocked::NoVersion(none) => no_version(none),
        Blocked::VersionGone(version) => {
            Error::refused(format!("version {version} of the router was deleted")).note("nothing was changed")
        }
    }
}

fn no_such_roles(roles: &[MissingRole]) -> Error {
    let error = match roles {
        [one] => Error::failed(format!("role `{}` does not exist", one.role)),
        several => several.iter().fold(
            Error::failed(format!("{} controller roles do not exist", several.len())),
            |error, one| error.note(format!("cluster `{}`: no role `{}`", one.cluster, one.role)),
        ),
    };
    let mut error = error.note("nothing was changed");
    for one in roles {
        if one.saved {
            error = error.note(format!("role `{}` is saved for cluster `{}`", one.role, one.cluster));
        }
        error = with_similar(error, &one.cluster, &one.similar);
    }
    match roles {
        [one] => error.hint_command(
            "pass the role that this Karpenter controller runs as:",
            Invocation::kibus(format!("add-cluster {} --controller-role ROLE", one.cluster)),
        ),
        _ => error.hint("pass the roles that the Karpenter controllers run as with --controller-role; `{cluster}` in it stands for the cluster's name"),
    }
}

fn with_similar(error: Error, cluster: &ClusterName, similar: &[RoleName]) -> Error {
    let names: Vec<String> = similar.iter().map(|role| format!("`{role}`")).collect();
    if names.is_empty() {
        return error;
    }
    error.note(format!("roles that name cluster `{cluster}`: {}", names.join(", ")))
}

fn roles_not_found(searches: &[RoleSearch]) -> Error {
    let list = |roles: &[RoleName]| {
        roles
            .iter()
            .map(|role| format!("`{role}`"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut error = match searches {
        [one] if one.found.is_empty() => {
            Error::failed(format!("no controller role found for cluster `{}`", one.cluster))
        }
        [one] => Error::failed(format!(
            "several roles could be the controller role of cluster `{}`: {}",
            one.cluster,
            list(&one.found)
        )),
        several => Error::failed(format!(
            "no single controller role found for {} clusters",
            several.len()
        )),
    }
    .note("nothing was changed");
    for one in searches {
        if searches.len() > 1 {
            error = error.note(match one.found.as_slice() {
                [] => format!("cluster `{}`: none found", one.cluster),
                found => format!("cluster `{}`: {}", one.cluster, list(found)),
            });
        }
        if one.found.is_empty() {
            if searches.len() == 1 {
                error = error.note(format!("searched for {}", list(&usual_names(&one.cluster))));
            }
            error = with_similar(error, &one.cluster, &one.similar);
        }
    }
    let [first, ..] = searches else { return error };
    let role = first.found.first().map_or("ROLE", RoleName::as_str);
    error
        .hint_command(
            "to name the role that the Karpenter controller runs as:",
            Invocation::kibus(format!("add-cluster {} --controller-role {role}", first.cluster)),
        )
        .hint_command(
            "to grant the permission by other means:",
            Invocation::kibus(format!("add-cluster {} --no-controller-role", first.cluster)),
        )
}

fn unknown_clusters(context: &Place, names: &[UnknownCluster]) -> Error {
    let quoted = |names: Vec<&ClusterName>| {
        names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut error = match names {
        [one] => Error::failed(format!("no cluster `{}` on bus `{}`", one.name, context.scope.bus)),
        several => Error::failed(format!(
            "no clusters {} on bus `{}`",
            quoted(several.iter().map(|one| &one.name).collect()),
            context.scope.bus
        )),
    };
    for one in names.iter().filter(|one| !one.similar.is_empty()) {
        error = error.note(format!(
            "did you mean {} instead of `{}`?",
            quoted(one.similar.iter().collect()),
            one.name
        ));
    }
    error
        .note("nothing was changed")
        .hint_command("to list the clusters:", context.command("status"))
}

fn no_version(none: &NoRollbackVersion) -> Error {
    let error = Error::refused(none.to_string()).note("nothing was changed");
    match none.kept.first() {
        None => error.note("kibus has published no other version"),
        Some(latest) => {
            let kept: Vec<String> = none.kept.iter().map(u64::to_string).collect();
            error.note(format!("available: {}", kept.join(", "))).hint_command(
                "to roll back to one of them:",
                Invocation::kibus(format!("rollback {latest}")),
            )
        }
    }
}

/// There is no hub on this bus.
fn no_hub(context: &Place) -> Error {
    let scope = &context.scope;
    Error::failed(format!(
        "hub `{}` does not exist in {} of account {}",
        scope.bus, scope.region, scope.account
    ))
    .hint_command("to create it:", context.command("bootstrap-hub"))
    .hint("if it exists elsewhere, use --bus, --region or --profile")
}

/// Something could not be read, so nothing can be planned.
fn unreadable(context: &Place, id: &ResourceId, fault: &Fault) -> Error {
    let message = match fault.kind {
        FaultKind::Denied { .. } => format!("not allowed to read {id}"),
        _ => format!("cannot read {id}"),
    };
    not_read(context, Error::failed(message), fault)
}

/// A call that is not about one resource failed.
pub(super) fn call_failed(context: &Place, what: &str, fault: &Fault) -> Error {
    not_read(context, Error::failed(format!("cannot {what}")), fault)
}

/// The error to end with where this many things could not be read; `None` if everything could.
pub(super) fn incomplete(unread: usize) -> Option<Error> {
    let what = match unread {
        0 => return None,
        1 => "1 thing".to_owned(),
        count => format!("{count} things"),
    };
    let error = Error::failed(format!("{what} could not be read, so the result is incomplete"));
    Some(error.hint_command(
        "permissions an operator needs to read all of it:",
        Invocation::kibus("policy operator"),
    ))
}

fn not_read(context: &Place, error: Error, fault: &Fault) -> Error {
    let error = because(context, error, fault).note("nothing was changed");
    match fault.kind {
        FaultKind::Denied { .. } => {
            error.hint_command("with the permission, run again:", context.command_line.as_str())
        }
        _ => error,
    }
}

/// A change failed.
pub(super) fn failed_change(context: &Place, change: &Change, fault: &Fault, outcome: &Outcome) -> Error {
    let verb = match change.action {
        Action::Create => "create",
        Action::Update => "update",
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
        "{} of {total} changes applied, {} failed, {} not tried; nothing needs to be undone",
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
        FaultKind::Denied { .. } => "with the permission, run again:",
        FaultKind::Exists | FaultKind::NotManaged | FaultKind::Gone => {
            "the plan is out of date; to make a new one, run again:"
        }
        _ => "to continue, run again:",
    };
    error.hint_command(when, context.command_line.as_str())
}

/// Interrupted once: the calls in flight are finished, and nothing is waited for any more.
pub(super) fn stopped(context: &Place, plan: &Plan, kind: ErrorKind, outcome: &Outcome) -> Error {
    let progress = outcome.progress();
    let mut error = Error::new(kind, "stopped before the end")
        .note(format!(
            "{} of {} changes applied, {} not tried; nothing needs to be undone",
            progress.done,
            progress.done + progress.failed + progress.not_tried,
            progress.not_tried
        ))
        .hint_command("to continue, run again:", context.command_line.as_str());
    for (place, reason) in &outcome.given_up {
        error = error.note(format!("{} is not finished: {reason}", plan.changes[*place].id));
    }
    error.progress = Some(progress);
    error
}

/// Interrupted twice: the calls in flight were abandoned.
pub(super) fn cut_short(context: &Place, kind: ErrorKind) -> Error {
    Error::new(kind, "stopped immediately")
        .note("calls in flight may have been applied; nothing needs to be undone")
        .hint_command("to continue, run again:", context.command_line.as_str())
}

/// The plan is refused. `removes` says that it only deletes.
pub(super) fn refused(context: &Place, refusals: &[Refusal], removes: bool) -> Error {
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
    error
}

/// Adds why a call failed, and what helps.
pub(super) fn because(context: &Place, mut error: Error, fault: &Fault) -> Error {
    let (notes, hint) = fault.explanation(&context.scope);
    error.notes.extend(notes);
    error.hints.extend(hint);
    error
}
