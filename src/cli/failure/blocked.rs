//! Why there is no plan.

use std::collections::BTreeSet;

use super::{call_failed, not_read, refused};
use crate::cli::hub::ConnectedHub;
use crate::error::{Error, listed, quoted};
use crate::model::answer::{Fact, Fault, FaultKind};
use crate::model::karpenter::{SERVICE_ACCOUNT, usual_roles};
use crate::model::name::{ClusterName, RoleName};
use crate::model::resource::{NoRollbackVersion, ParameterName, ResourceId};
use crate::model::settings::BadSettings;
use crate::reconcile::{
    Blocked, END_ROLLBACK, MissingRole, NothingToAdopt, RoleSearch, RoleSource, UnknownCluster, permissions_for_eks,
};

/// Why there is no plan.
pub(in crate::cli) fn blocked(hub: &ConnectedHub, blocked: &Blocked) -> Error {
    match blocked {
        Blocked::NoHub => no_hub(hub),
        Blocked::NoRouter(id) => Error::failed(format!("no router to invoke: {id} does not exist"))
            .hint_command("to create it:", hub.scope.kibus("bootstrap-hub")),
        Blocked::Unreadable(id, fault) => unreadable(hub, id, fault),
        Blocked::CallFailed(what, fault) => call_failed(hub, what, fault),
        Blocked::BadSettings {
            parameter,
            bad,
            restoring,
        } => bad_settings(hub, parameter, bad, restoring),
        Blocked::LostSettings(restoring) => lost_settings(hub, restoring),
        Blocked::Refused(refusals) => refused(hub, refusals, false),
        Blocked::NoSuchRoles(roles) => no_such_roles(hub, roles),
        Blocked::RolesNotFound(searches) => roles_not_found(hub, searches),
        Blocked::NotInEks(names) => not_in_eks(hub, names),
        Blocked::NothingToAdopt(absent) => nothing_to_adopt(hub, absent),
        Blocked::UnknownClusters(names, others) => unknown_clusters(hub, names, others),
        Blocked::NoVersion(none) => no_version(hub, none),
        Blocked::VersionGone(version) => unusable_version(hub, format!("version {version} of the router was deleted")),
        Blocked::NotPublished(version) => {
            unusable_version(hub, format!("kibus did not publish version {version} of the router"))
        }
    }
}

fn bad_settings(hub: &ConnectedHub, parameter: &ParameterName, bad: &BadSettings, restoring: &str) -> Error {
    let error = Error::refused(format!("parameter `{parameter}` cannot be used: {bad}"));
    match bad {
        BadSettings::Future(_) => error.hint("use the version of kibus that wrote it, or a later one"),
        BadSettings::Damaged(_) => error
            .note("Parameter Store keeps its earlier values, which `aws ssm get-parameter-history` shows")
            .hint_command(
                "to replace it with the options that the hub has now:",
                hub.scope.kibus(restoring),
            ),
    }
}

/// Guessing could turn off what protects the hub, so a person confirms what it has.
fn lost_settings(hub: &ConnectedHub, restoring: &str) -> Error {
    let scope = &hub.scope;
    Error::refused(format!(
        "the settings of hub `{}` are lost: its resources exist in {} of account {}, and parameter `{}` does not",
        scope.bus,
        scope.region,
        scope.account,
        scope.settings_parameter()
    ))
    .note("events are still routed; kibus changes nothing of a hub whose settings it does not know")
    .hint_command(
        "check these options, in which the hub differs from the defaults; to save them:",
        hub.scope.kibus(restoring),
    )
}

fn no_such_roles(hub: &ConnectedHub, roles: &[MissingRole]) -> Error {
    let mut error = match roles {
        [one] => Error::failed(format!("role `{}` does not exist", one.role)),
        several => several.iter().fold(
            Error::failed(format!("{} controller roles do not exist", several.len())),
            |error, one| error.note(format!("cluster `{}`: no role `{}`", one.cluster, one.role)),
        ),
    };
    for one in roles {
        if !one.sources.is_empty() {
            error = error.note(format!(
                "role `{}` of cluster `{}` was found by: {}",
                one.role,
                one.cluster,
                sources(&one.sources)
            ));
        }
        error = with_similar(error, &one.cluster, &one.similar);
    }
    match roles {
        [one] => error.hint_command(
            "pass the role that this Karpenter controller runs as:",
            hub.scope.kibus(format!("add-cluster {} --controller-role ROLE", one.cluster)),
        ),
        _ => error.hint("pass the roles that the Karpenter controllers run as with --controller-role; `{cluster}` in it stands for the cluster's name"),
    }
}

fn with_similar(error: Error, cluster: &ClusterName, similar: &[RoleName]) -> Error {
    match similar {
        [] => error,
        roles => error.note(format!("roles that name cluster `{cluster}`: {}", listed(roles))),
    }
}

fn roles_not_found(hub: &ConnectedHub, searches: &[RoleSearch]) -> Error {
    let mut error = match searches {
        [one] => Error::failed(not_one(one)),
        several => Error::failed(format!(
            "no single controller role found for {} clusters",
            several.len()
        )),
    };
    for one in searches {
        if searches.len() > 1 {
            error = error.note(not_one(one));
        }
        error = explained(hub, error, one, searches.len() == 1);
    }
    for one in searches {
        let name = |role: &str| {
            hub.scope
                .kibus(format!("add-cluster {} --controller-role {role}", one.cluster))
        };
        if one.candidates.is_empty() {
            error = error.hint_command("to name the role that the Karpenter controller runs as:", name("ROLE"));
        }
        for (role, by) in &one.candidates {
            error = error.hint_command(
                format!(
                    "if the Karpenter controller of `{}` runs as `{role}` ({}):",
                    one.cluster,
                    sources(by)
                ),
                name(&quoted(role.as_str())),
            );
        }
    }
    if let Some(fault) = searches.iter().find_map(|one| one.evidence.fault()) {
        error = error.note(format!("EKS could not be asked for controller roles: {fault}"));
        if fault.is_denied() {
            let hint = permissions_for_eks(
                &hub.scope,
                "to print the permissions with which kibus finds the role in EKS:",
            );
            error.hints.push(hint);
        }
    }
    let [first, ..] = searches else { return error };
    error.hint_command(
        "to grant the permission by other means:",
        hub.scope
            .kibus(format!("add-cluster {} --no-controller-role", first.cluster)),
    )
}

/// The notes about one search. `is_only` says that the error is about no other.
fn explained(hub: &ConnectedHub, mut error: Error, search: &RoleSearch, is_only: bool) -> Error {
    if let Some(role) = &search.gone {
        let cluster = &search.cluster;
        error = error.note(format!(
            "role `{role}`, which the tag of the queue of cluster `{cluster}` names, does not exist"
        ));
    }
    if !search.elsewhere.is_empty() {
        error = error.note(format!(
            "kibus changes roles of account {} only, and Karpenter finds only queues of the account of its role",
            hub.scope.account
        ));
    }
    if !search.candidates.is_empty() || !search.elsewhere.is_empty() {
        return error;
    }
    if is_only {
        error = error.note(format!("searched for {}", listed(usual_roles(&search.cluster))));
        if search.evidence == Fact::Absent {
            error = error.note(format!(
                "no EKS pod identity association and no trust policy names service account `{SERVICE_ACCOUNT}` of this \
                 cluster"
            ));
        }
    }
    with_similar(error, &search.cluster, &search.similar)
}

/// What a role was found by, in words.
fn sources(sources: &BTreeSet<RoleSource>) -> String {
    let words: Vec<String> = sources.iter().map(ToString::to_string).collect();
    words.join(", ")
}

fn nothing_to_adopt(hub: &ConnectedHub, absent: &[NothingToAdopt]) -> Error {
    let message = match absent {
        [one] => format!("no queue to take over: `{}` does not exist", one.queue),
        several => format!(
            "no queues to take over: {} do not exist",
            listed(several.iter().map(|one| &one.queue))
        ),
    };
    let mut error = Error::failed(message)
        .note("kibus takes over only a standard queue of the name that the hub gives it, never a FIFO queue");
    for (cluster, (queue, prefix)) in absent
        .iter()
        .flat_map(|one| one.others.iter().map(|other| (&one.cluster, other)))
    {
        error = error.hint_command(
            format!("queue `{queue}` may be the one of `{cluster}`; for a hub whose queues have such names:"),
            hub.scope
                .kibus(format!("bootstrap-hub --queue-prefix {}", quoted(prefix.as_str()))),
        );
    }
    let names: Vec<&str> = absent.iter().map(|one| one.cluster.as_str()).collect();
    error.hint_command(
        "to create new queues instead:",
        hub.scope.kibus(format!("add-cluster {}", names.join(" "))),
    )
}

/// Why a search did not find exactly one role.
fn not_one(search: &RoleSearch) -> String {
    let RoleSearch {
        cluster, candidates, ..
    } = search;
    let is_weak = |by: &BTreeSet<RoleSource>| {
        by.iter()
            .all(|one| matches!(one, RoleSource::Name | RoleSource::Suffix))
    };
    let all = || {
        listed(
            candidates
                .keys()
                .map(ToString::to_string)
                .chain(search.elsewhere.iter().cloned()),
        )
    };
    match (candidates.len(), search.elsewhere.len()) {
        (0, 1) => format!(
            "Karpenter of cluster `{cluster}` runs as a role of another account, by its EKS pod identity association: {}",
            all()
        ),
        (_, 0) if candidates.values().all(is_weak) => {
            no_single_role(cluster, &candidates.keys().cloned().collect::<Vec<_>>())
        }
        (1, 0) => format!(
            "it is unclear whether the Karpenter controller of cluster `{cluster}` runs as role {}",
            all()
        ),
        _ => format!(
            "it is unclear which role the Karpenter controller of cluster `{cluster}` runs as: {}",
            all()
        ),
    }
}

/// Why the search for a cluster's controller role found none. It uses none of the candidates.
pub(in crate::cli) fn no_single_role(cluster: &ClusterName, candidates: &[RoleName]) -> String {
    match candidates {
        [] => format!("no controller role found for cluster `{cluster}`"),
        [one] => format!("role `{one}` could be the controller role of cluster `{cluster}`, or of another cluster"),
        several => format!(
            "several roles could be the controller role of cluster `{cluster}`: {}",
            listed(several)
        ),
    }
}

fn unknown_clusters(hub: &ConnectedHub, names: &[UnknownCluster], others: &BTreeSet<ClusterName>) -> Error {
    let error = match names {
        [one] => Error::failed(format!("no cluster `{}` on bus `{}`", one.name, hub.scope.bus)),
        several => Error::failed(format!(
            "no clusters {} on bus `{}`",
            listed(several.iter().map(|one| &one.name)),
            hub.scope.bus
        )),
    };
    let error = did_you_mean(error, names).hint_command("to list the clusters:", hub.scope.kibus("status"));
    let others: Vec<&str> = others.iter().map(ClusterName::as_str).collect();
    match others.is_empty() {
        true => error,
        false => error.hint_command(
            "to remove the others:",
            hub.scope.kibus(format!("remove-cluster {}", others.join(" "))),
        ),
    }
}

/// EKS has clusters, and not these.
fn not_in_eks(hub: &ConnectedHub, names: &[UnknownCluster]) -> Error {
    let (region, account) = (&hub.scope.region, &hub.scope.account);
    let message = match names {
        [one] => format!("EKS has no cluster `{}` in {region} of account {account}", one.name),
        several => format!(
            "EKS has no clusters {} in {region} of account {account}",
            listed(several.iter().map(|one| &one.name))
        ),
    };
    did_you_mean(Error::failed(message), names).hint_command(
        "if the cluster will be created later, or is not one of EKS, run again without this check:",
        format!("{} --no-eks-check", hub.command_line),
    )
}

fn did_you_mean(error: Error, names: &[UnknownCluster]) -> Error {
    let close = names.iter().filter(|one| !one.similar.is_empty());
    close.fold(error, |error, one| {
        error.note(format!(
            "did you mean {} instead of `{}`?",
            listed(&one.similar),
            one.name
        ))
    })
}

fn no_version(hub: &ConnectedHub, none: &NoRollbackVersion) -> Error {
    let mut error = Error::refused(none.to_string());
    if let Some(latest) = none.kept.first() {
        let kept: Vec<String> = none.kept.iter().map(u64::to_string).collect();
        error = error.note(format!("available: {}", kept.join(", "))).hint_command(
            "to roll back to one of them:",
            hub.scope.kibus(format!("rollback {latest}")),
        );
    } else if none.rolled_back_from.is_none() {
        error = error.note("kibus has published no other version");
    }
    match none.rolled_back_from {
        None => error,
        Some(from) => error
            .note(format!(
                "the router was rolled back from version {from}, and a rollback goes to earlier versions only"
            ))
            .hint_command("to end the rollback and upgrade again:", hub.scope.kibus(END_ROLLBACK)),
    }
}

fn unusable_version(hub: &ConnectedHub, message: String) -> Error {
    Error::refused(message).hint_command(
        "if a rollback keeps it, end the rollback:",
        hub.scope.kibus(END_ROLLBACK),
    )
}

/// There is no hub on this bus.
fn no_hub(hub: &ConnectedHub) -> Error {
    let scope = &hub.scope;
    Error::failed(format!(
        "hub `{}` does not exist in {} of account {}",
        scope.bus, scope.region, scope.account
    ))
    .hint_command(
        "if it exists elsewhere, use --bus, --region or --profile; to list the buses here:",
        scope.kibus_on(None, "list"),
    )
    .hint_command("to create it:", hub.scope.kibus("bootstrap-hub"))
}

/// Something could not be read, so nothing can be planned.
fn unreadable(hub: &ConnectedHub, id: &ResourceId, fault: &Fault) -> Error {
    let message = match fault.kind {
        FaultKind::Denied { .. } => format!("not allowed to read {id}"),
        _ => format!("cannot read {id}"),
    };
    not_read(hub, Error::failed(message), fault)
}
