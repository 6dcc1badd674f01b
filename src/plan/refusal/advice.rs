//! What an operator can do about a refusal.

use std::collections::BTreeSet;

use super::Refusal;
use crate::advice::recreate_function;
use crate::error::{Hint, Invocation, quoted};
use crate::model::hub::default_queue_prefix;
use crate::model::name::{BusName, ClusterName, KmsKey, QueueName, RoleName};
use crate::model::resource::ResourceId;
use crate::model::scope::Scope;

impl Refusal {
    /// What the operator can do about it. `removes` says that the plan only deletes.
    pub fn advice(&self, scope: &Scope, removes: bool) -> Hint {
        match self {
            Self::NotManaged { id, bus, other } => not_managed(scope, id, bus, other.as_ref(), removes),
            Self::ForeignStatements(_) => Hint::text("move the other statements to a policy with another name"),
            Self::OthersQueue { serves, .. } => {
                Hint::text(format!("use another queue prefix, or remove cluster `{serves}` first"))
            }
            Self::HubQueue(..) => Hint::text("use another queue prefix or another bus"),
            Self::PrefixInUse { clusters } => prefix_in_use(clusters),
            Self::EmptyPrefix(_) => Hint::command(
                "set a prefix that no other queue of the account has:",
                Invocation::kibus(format!("bootstrap-hub --queue-prefix {}", default_queue_prefix())),
            ),
            Self::AdoptedKey { queue, key } => adopted_key(queue, key),
            Self::AdoptedDeadLetters { .. } => Hint::text(
                "remove the redrive policies of those queues first: SQS moves their messages past the queue policy, and \
                 Karpenter deletes them",
            ),
            Self::ForeignTargets { .. } => Hint::text("remove the targets first, if nothing needs them"),
            Self::TooMuchReserved { most, .. } => too_much_reserved(*most),
            Self::KeyElsewhere { .. } => Hint::text("use a key of this Region, or `--kms-key none` for SSE-SQS"),
            Self::MessagesUnderOldKey { queues } if queues.contains_key(&scope.dead_letter_queue()) => Hint::command(
                "redrive or purge the dead letters first; to show them:",
                Invocation::kibus("dead-letters"),
            ),
            Self::MessagesUnderOldKey { .. } => Hint::command(
                "SQS counts messages up to a minute late; when they are received, run:",
                Invocation::kibus("bootstrap-hub --drop-old-key"),
            ),
            Self::OldKeyInUse { .. } => Hint::command(
                "change the key without --drop-old-key; SQS takes up to a minute for that, and counts messages up to a \
                 minute late. Two minutes after the change, run:",
                Invocation::kibus("bootstrap-hub --drop-old-key"),
            ),
            Self::OlderRouter { live, .. } => Hint::text(format!(
                "use kibus {live} or newer; to install the older router anyway, pass --allow-downgrade"
            )),
            Self::FunctionFailed { function, .. } => recreate_function(scope, function),
            Self::RouterRole { .. } => Hint::text("pass the role that Karpenter runs as with --controller-role"),
            Self::UnconfirmedRole {
                cluster, role, is_only, ..
            } => unconfirmed_role(cluster, role, *is_only),
            Self::SecondRole { cluster, first, .. } => Hint::command(
                format!("keep the role that the controller of `{cluster}` runs as; if that is `{first}`"),
                add_with_role(cluster, first),
            ),
            Self::UnconfirmedBoundary { live, .. } => Hint::command(
                "a tag alone does not remove or replace a boundary; to keep the boundary of the role",
                Invocation::kibus(format!(
                    "bootstrap-hub --permissions-boundary {}",
                    quoted(live.as_str())
                )),
            ),
            Self::UnconfirmedNewRole { .. } => Hint::command(
                "a tag alone does not decide on the boundary of a new role; pass the ARN of the boundary, or `none`",
                Invocation::kibus("bootstrap-hub --permissions-boundary ARN"),
            ),
            Self::UnconfirmedOption { keep, .. } => Hint::command(
                "a tag alone does not change this option; to keep what the resources have",
                Invocation::kibus(format!("bootstrap-hub {keep}")),
            ),
            Self::UnconfirmedUnlock(_) => Hint::command(
                "a tag alone does not unlock queues; to keep them locked",
                Invocation::kibus("bootstrap-hub --lock-queues"),
            ),
            Self::RollbackKept { given, .. } => rollback_kept(given),
            Self::OtherSettings { .. } => Hint::text("restore those settings first, or fix the newer router instead"),
        }
    }
}

fn not_managed(scope: &Scope, id: &ResourceId, bus: &BusName, other: Option<&BusName>, removes: bool) -> Hint {
    match (other, id) {
        (Some(other), _) if removes => Hint::text(format!(
            "it belongs to bus `{other}`: to delete it, run this command with --bus {other}"
        )),
        (None, _) if removes => Hint::text("kibus does not delete it; delete it with the tool that created it"),
        // Its name has the prefix, and not the bus.
        (_, ResourceId::Queue(queue)) if !scope.hub_queues().contains(queue) => Hint::command(
            match other {
                Some(other) => format!(
                    "it belongs to bus `{other}`: use that bus with --bus {other}, or give bus `{bus}` its own queue names"
                ),
                None => format!(
                    "if another tool created it for this cluster, pass --adopt to take it over; if it is part of this bus and \
                     has lost its tags, add the tag `kibus:bus={bus}` again; otherwise delete it if nothing needs it, or, \
                     while bus `{bus}` has no clusters, give it its own queue names"
                ),
            },
            Invocation::kibus(format!("bootstrap-hub --queue-prefix {bus}-{}", default_queue_prefix())),
        ),
        (Some(other), _) => Hint::text(format!(
            "it belongs to bus `{other}`; use that bus with --bus {other}, or another name"
        )),
        (None, _) => Hint::text(format!(
            "if it is part of this bus and has lost its tags, add the tag `kibus:bus={bus}` again; otherwise delete it \
             if nothing needs it, or use another bus with --bus"
        )),
    }
}

/// Only a key by its ARN can be the hub's.
fn adopted_key(queue: &QueueName, key: &str) -> Hint {
    match key.parse::<KmsKey>() {
        Ok(key) => Hint::command(
            format!("set SSE-SQS on queue `{queue}` first, or use this key for the whole hub"),
            Invocation::kibus(format!("bootstrap-hub --kms-key {}", quoted(key.as_str()))),
        ),
        Err(_) => Hint::text(format!(
            "set SSE-SQS on queue `{queue}` first; its messages stay readable under the old key until they are received"
        )),
    }
}

/// `given` are the options of the command that was refused, as one types them.
fn rollback_kept(given: &str) -> Hint {
    Hint::command(
        "a rollback is kept until you end it; to end it and apply the change",
        Invocation::kibus(format!("bootstrap-hub --router-latest {given}").trim_end()),
    )
}

fn prefix_in_use(clusters: &BTreeSet<ClusterName>) -> Hint {
    let clusters: Vec<&str> = clusters.iter().map(ClusterName::as_str).collect();
    Hint::command(
        "queue names begin with the prefix; to change it, remove the clusters, and add them again afterwards",
        Invocation::kibus(format!("remove-cluster {}", clusters.join(" "))),
    )
}

fn too_much_reserved(most: u32) -> Hint {
    let quota = "Lambda keeps 100 unreserved; request more concurrency in Service Quotas, or";
    match most {
        0 => Hint::text(format!("{quota} omit --reserved-concurrency")),
        most => Hint::command(
            format!("{quota} reserve less"),
            Invocation::kibus(format!("bootstrap-hub --reserved-concurrency {most}")),
        ),
    }
}

/// `is_only` says that nothing shows another role.
fn unconfirmed_role(cluster: &ClusterName, role: &RoleName, is_only: bool) -> Hint {
    match is_only {
        true => Hint::command(
            format!("a tag alone grants nothing; if the controller of `{cluster}` runs as `{role}`, confirm it"),
            add_with_role(cluster, role),
        ),
        false => Hint::command(
            "a tag alone grants nothing, and other roles may be the one; to take the one that EKS shows, or list them",
            Invocation::kibus(format!("add-cluster {cluster}")),
        ),
    }
}

fn add_with_role(cluster: &ClusterName, role: &RoleName) -> Invocation {
    Invocation::kibus(format!(
        "add-cluster {cluster} --controller-role {}",
        quoted(role.as_str())
    ))
}
