//! What an operator can do about a refusal.

use std::collections::BTreeSet;

use super::Refusal;
use crate::advice::recreate_function;
use crate::error::{Hint, quoted};
use crate::model::hub::default_queue_prefix;
use crate::model::name::{BusName, ClusterName, KmsKey, QueueName, RoleName};
use crate::model::scope::Scope;
use crate::plan::finding::Fix;

impl Refusal {
    /// What the operator can do about it. `removes` says that the plan only deletes.
    pub fn advice(&self, scope: &Scope, removes: bool) -> Hint {
        match self {
            Self::NotManaged { bus, other, .. } => not_managed(bus, other.as_ref(), removes),
            Self::ForeignStatements(_) => Hint::text("move the other statements to a policy with another name"),
            Self::OthersQueue { serves, .. } => {
                Hint::text(format!("use another queue prefix, or remove cluster `{serves}` first"))
            }
            Self::OfOtherBus { cluster, bus, .. } => Hint::command(
                format!(
                    "a cluster is served by one bus. To move it, remove it from bus `{bus}` first; to keep both, give this bus \
                     its own queue names with `bootstrap-hub --queue-prefix`"
                ),
                scope.kibus_on(Some(bus), format!("remove-cluster {cluster}")),
            ),
            Self::NotAdopted { cluster, .. } => Hint::command(
                format!(
                    "if it is the interruption queue of cluster `{cluster}`, take it over, with the messages in it; otherwise \
                     give the bus its own queue names with `bootstrap-hub --queue-prefix`:"
                ),
                scope.kibus(format!("add-cluster {cluster} --adopt")),
            ),
            Self::Unproven { cluster, unread, .. } => Hint::command(
                match unread {
                    None => format!(
                        "no rule with Karpenter's events sends to it, and no inline policy of the controller role names it. If \
                         the Karpenter of `{cluster}` reads it all the same:"
                    ),
                    Some(_) => format!(
                        "`policy operator --for discover` prints the permission to read them. If the Karpenter of \
                         `{cluster}` reads this queue:"
                    ),
                },
                scope.kibus(format!("add-cluster {cluster} --adopt=unproven")),
            ),
            Self::OtherPermissions { cluster, adopt, .. } => Hint::command(
                "remove these statements from the policy of the queue. To remove all statements that are not of kibus and allow \
                 something, also those by which its old rules send:",
                scope.kibus(format!("add-cluster {cluster} {adopt}--drop-old-senders")),
            ),
            Self::TagsLost { fix, .. } => match fix {
                Fix::Advice(hint) => hint.clone(),
                fix => Hint {
                    text: "restore its tags first:".to_owned(),
                    command: fix.command().map(str::to_owned),
                },
            },
            Self::NotCreated(_) => Hint::text("delete it by hand, if nothing needs it"),
            Self::HubQueue(..) => Hint::text("use another queue prefix or another bus"),
            Self::PrefixInUse { clusters } => prefix_in_use(scope, clusters),
            Self::EmptyPrefix(_) => Hint::command(
                "set a prefix that no other queue of the account has:",
                scope.kibus(format!("bootstrap-hub --queue-prefix {}", default_queue_prefix())),
            ),
            Self::AdoptedKey { queue, key } => adopted_key(scope, queue, key),
            Self::AdoptedDeadLetters { .. } => Hint::text(
                "remove the redrive policies of those queues first: SQS moves their messages past the queue policy, and \
                 Karpenter deletes them",
            ),
            Self::ForeignTargets { .. } => Hint::text("remove the targets first, if nothing needs them"),
            Self::TooMuchReserved { most, .. } => too_much_reserved(scope, *most),
            Self::KeyElsewhere { .. } => Hint::text("use a key of this Region, or `--kms-key none` for SSE-SQS"),
            Self::OlderRouter { live, .. } => Hint::text(format!(
                "use kibus {live} or newer; to install the older router anyway, pass --allow-downgrade"
            )),
            Self::FixedPath { .. } => Hint::command(
                "delete the role with its policy and run this command again, which recreates both; or delete the whole hub first:",
                scope.kibus("teardown"),
            ),
            Self::FunctionFailed { function, .. } => recreate_function(scope, function),
            Self::RouterRole { .. } => Hint::text("pass the role that Karpenter runs as with --controller-role"),
            Self::UnconfirmedRole {
                cluster, role, is_only, ..
            } => unconfirmed_role(scope, cluster, role, *is_only),
            Self::SecondRole { cluster, first, .. } => Hint::command(
                format!("keep the role that the controller of `{cluster}` runs as; if that is `{first}`"),
                add_with_role(scope, cluster, first),
            ),
            Self::TooLongSettings { .. } => Hint::text("pass fewer or shorter tags with --tag"),
            Self::RollbackKept { given, .. } => rollback_kept(scope, given),
            Self::OtherSettings { .. } => Hint::text("restore those settings first, or fix the newer router instead"),
        }
    }
}

fn not_managed(bus: &BusName, other: Option<&BusName>, removes: bool) -> Hint {
    match (other, removes) {
        (Some(other), true) => Hint::text(format!(
            "it belongs to bus `{other}`: to delete it, run this command with --bus {other}"
        )),
        (None, true) => Hint::text("kibus does not delete it; delete it with the tool that created it"),
        (Some(other), false) => Hint::text(format!(
            "it belongs to bus `{other}`; use that bus with --bus {other}, or another name"
        )),
        (None, false) => Hint::text(format!(
            "if it is part of this bus and has lost its tags, add the tag `kibus:bus={bus}` again; otherwise delete it \
             if nothing needs it, or use another bus with --bus"
        )),
    }
}

/// Only a key by its ARN can be the hub's.
fn adopted_key(scope: &Scope, queue: &QueueName, key: &str) -> Hint {
    match key.parse::<KmsKey>() {
        Ok(key) => Hint::command(
            format!("set SSE-SQS on queue `{queue}` first, or use this key for the whole hub"),
            scope.kibus(format!("bootstrap-hub --kms-key {}", quoted(key.as_str()))),
        ),
        Err(_) => Hint::text(format!(
            "set SSE-SQS on queue `{queue}` first; its messages stay readable under the old key until they are received"
        )),
    }
}

/// `given` are the options of the command that was refused, as one types them.
fn rollback_kept(scope: &Scope, given: &str) -> Hint {
    Hint::command(
        "a rollback is kept until you end it; to end it and apply the change",
        scope.kibus(format!("bootstrap-hub --router-latest {given}").trim_end()),
    )
}

fn prefix_in_use(scope: &Scope, clusters: &BTreeSet<ClusterName>) -> Hint {
    let clusters: Vec<&str> = clusters.iter().map(ClusterName::as_str).collect();
    Hint::command(
        "queue names begin with the prefix; to change it, remove the clusters, and add them again afterwards",
        scope.kibus(format!("remove-cluster {}", clusters.join(" "))),
    )
}

fn too_much_reserved(scope: &Scope, most: u32) -> Hint {
    let quota = "Lambda keeps 100 unreserved; request more concurrency in Service Quotas, or";
    match most {
        0 => Hint::text(format!("{quota} omit --reserved-concurrency")),
        most => Hint::command(
            format!("{quota} reserve less"),
            scope.kibus(format!("bootstrap-hub --reserved-concurrency {most}")),
        ),
    }
}

/// `is_only` says that nothing shows another role.
fn unconfirmed_role(scope: &Scope, cluster: &ClusterName, role: &RoleName, is_only: bool) -> Hint {
    match is_only {
        true => Hint::command(
            format!("a tag alone grants nothing; if the controller of `{cluster}` runs as `{role}`, confirm it"),
            add_with_role(scope, cluster, role),
        ),
        false => Hint::command(
            "a tag alone grants nothing, and other roles may be the one; to take the one that EKS shows, or list them",
            scope.kibus(format!("add-cluster {cluster}")),
        ),
    }
}

fn add_with_role(scope: &Scope, cluster: &ClusterName, role: &RoleName) -> String {
    scope.kibus(format!(
        "add-cluster {cluster} --controller-role {}",
        quoted(role.as_str())
    ))
}
