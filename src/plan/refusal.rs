//! The reasons to refuse a plan: for each the sentence, the resource and the finding code.

mod advice;

use std::collections::{BTreeMap, BTreeSet};

use super::finding::FindingCode;
use crate::error::listed;
use crate::model::name::{
    BusName, ClusterName, FunctionName, KmsKey, Partition, PermissionsBoundary, QueueName, Region, RoleName, RuleName,
};
use crate::model::resource::{PolicyName, ResourceId};
use crate::model::scope::{LIVE, Scope};

/// A reason to refuse a plan. Displays as one sentence, which begins with what it is about where that is a resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A resource of this name exists and is not managed by kibus for this bus.
    #[error("{id} exists and is not part of bus `{bus}`")]
    NotManaged {
        id: ResourceId,
        bus: BusName,
        /// The bus that the resource belongs to, if its tags name one.
        other: Option<BusName>,
    },
    /// The cluster's policy on a controller role has statements that kibus did not write.
    #[error("{0} exists and holds statements that kibus did not write")]
    ForeignStatements(ResourceId),
    /// The queue serves another cluster.
    #[error("queue `{queue}` serves cluster `{serves}`")]
    OthersQueue {
        queue: QueueName,
        /// The cluster that it serves.
        serves: String,
    },
    /// A cluster's queue would have the name of a queue of the hub.
    #[error("the queue of cluster `{0}` would be `{1}`, which is a queue of the hub")]
    HubQueue(ClusterName, QueueName),
    /// Queue names begin with the prefix, so it cannot change while there are clusters.
    #[error("the queue prefix cannot change while clusters are registered: {}", listed(.clusters))]
    PrefixInUse { clusters: BTreeSet<ClusterName> },
    /// In this Region only the prefix tells the queues of the bus from other queues.
    #[error(
        "the queue prefix cannot be empty in {0}: SQS has no tag conditions there, so the policies would cover every queue \
         of the account"
    )]
    EmptyPrefix(Region),
    /// The messages in a queue to take over are under a key that the hub does not use.
    #[error("queue `{queue}` is encrypted with KMS key `{key}`, which the hub does not use")]
    AdoptedKey {
        queue: QueueName,
        /// The key, by its ARN or however the queue names it.
        key: String,
    },
    /// SQS moves messages into a queue to take over, past its policy.
    #[error("queue `{queue}` is the dead-letter queue of other queues: {}", listed(.sources))]
    AdoptedDeadLetters {
        queue: QueueName,
        sources: BTreeSet<QueueName>,
    },
    /// A rule to delete has targets that kibus does not manage.
    #[error("rule `{rule}` has targets that kibus does not manage: {}", listed(.targets))]
    ForeignTargets { rule: RuleName, targets: BTreeSet<String> },
    /// The other functions of the account would keep too little concurrency.
    #[error("the account cannot reserve {wanted} concurrent invocations for the router: the maximum is {most}")]
    TooMuchReserved {
        wanted: u32,
        /// The maximum that the account can reserve.
        most: u32,
    },
    /// A key that cannot encrypt the queues.
    #[error(
        "KMS key `{key}` is not in {region} of partition {partition}: a queue and its key must be in the same Region"
    )]
    KeyElsewhere {
        key: KmsKey,
        /// The partition of the queues.
        partition: Partition,
        /// The Region of the queues.
        region: Region,
    },
    /// Messages wait that may be under an old key.
    #[error("messages that may be encrypted with an old key wait in {}", counts(.queues))]
    MessagesUnderOldKey {
        /// The queues, with their approximate numbers of messages.
        queues: BTreeMap<QueueName, u64>,
    },
    /// Queues have an old key, or changed so shortly ago that they may still use it.
    #[error(
        "an old key may still encrypt messages in {}, whose settings change now or changed in the last two minutes",
        listed(.queues)
    )]
    OldKeyInUse { queues: BTreeSet<QueueName> },
    /// The live router is newer than the one that would replace it.
    #[error("router {live} is live, which is newer than {offered}")]
    OlderRouter {
        /// The live version.
        live: String,
        /// The version that would replace it.
        offered: String,
    },
    /// Lambda can neither run nor update the function.
    #[error("function `{function}` failed in Lambda and cannot be updated: {reason}")]
    FunctionFailed {
        function: FunctionName,
        /// The reason, in Lambda's words.
        reason: String,
    },
    /// A controller would run with the router's role.
    #[error("role `{role}` is the router's role: a controller with this role could read the hub queue")]
    RouterRole {
        role: RoleName,
        /// The policy that would be attached to it.
        policy: PolicyName,
    },
    /// A role that lacks its cluster's policy is named by a tag only.
    #[error(
        "{} is missing, and only a tag of the queue of cluster `{cluster}` names this role",
        ResourceId::RolePolicy(.role.clone(), .policy.clone())
    )]
    UnconfirmedRole {
        cluster: ClusterName,
        /// The role that the tag names.
        role: RoleName,
        policy: PolicyName,
        /// Whether nothing else shows another role.
        is_only: bool,
    },
    /// A second role has the policy of a cluster, as an interrupted change of role leaves it.
    #[error(
        "{} exists, and role `{first}` has the policy of cluster `{cluster}` too",
        ResourceId::RolePolicy(.role.clone(), .policy.clone())
    )]
    SecondRole {
        cluster: ClusterName,
        role: RoleName,
        policy: PolicyName,
        /// The role that the tag of the queue names, else the first that has the policy.
        first: RoleName,
    },
    /// The saved option would take a role's permissions boundary from it.
    #[error(
        "role `{role}` has permissions boundary `{live}`, and the saved option is {}",
        .saved.as_ref().map_or_else(|| "none".to_owned(), |saved| format!("`{saved}`"))
    )]
    UnconfirmedBoundary {
        role: RoleName,
        live: PermissionsBoundary,
        saved: Option<PermissionsBoundary>,
    },
    /// A role is missing, and tags do not agree on its permissions boundary, or only one tag names it.
    #[error("role `{role}` is missing, and {}", boundary_of_tags(.saved.as_ref(), .copy.as_ref()))]
    UnconfirmedNewRole {
        role: RoleName,
        /// The boundary that the dead-letter queue has saved.
        saved: Option<PermissionsBoundary>,
        /// The boundary that the function has saved, if that is another copy.
        copy: Option<Option<PermissionsBoundary>>,
    },
    /// A resource contradicts the saved option, which decides who may do what.
    #[error("{of} has {live}, and the saved option is {saved}")]
    UnconfirmedOption {
        /// The saved option, as one types it.
        saved: String,
        /// The option as the resource has it.
        live: String,
        of: Box<ResourceId>,
        /// What the next command sets: this option and all others that a resource contradicts, as the resources have them,
        /// and what the command line has set of these options.
        keep: String,
    },
    /// The saved option would let others send to a queue, while the hub queue is locked.
    #[error(
        "queue `{0}` would accept other senders, because the saved option is --lock-queues=false; the hub queue is locked"
    )]
    UnconfirmedUnlock(QueueName),
    /// The change needs a new version of the router, and a rollback is kept.
    #[error(
        "version {version} of the router is live after a rollback from version {from}, and a new version is needed to \
         change: {}",
        listed(.fields)
    )]
    RollbackKept {
        /// The live version.
        version: u64,
        /// The version that was rolled back.
        from: u64,
        /// The settings that would change.
        fields: BTreeSet<String>,
        /// The given options, as one types them.
        given: String,
    },
    /// The version to roll back to was published with other settings, and would route by them.
    #[error("version {version} of the router was published with other settings: {}", listed(.fields))]
    OtherSettings { version: u64, fields: BTreeSet<String> },
}

impl Refusal {
    /// The resource that it is about; nothing where it is about an option.
    #[must_use]
    pub fn resource(&self, scope: &Scope) -> Option<ResourceId> {
        Some(match self {
            Self::NotManaged { id, .. } | Self::ForeignStatements(id) => id.clone(),
            Self::OthersQueue { queue, .. }
            | Self::HubQueue(_, queue)
            | Self::UnconfirmedUnlock(queue)
            | Self::AdoptedKey { queue, .. }
            | Self::AdoptedDeadLetters { queue, .. } => ResourceId::Queue(queue.clone()),
            Self::PrefixInUse { .. }
            | Self::EmptyPrefix(_)
            | Self::KeyElsewhere { .. }
            | Self::MessagesUnderOldKey { .. }
            | Self::OldKeyInUse { .. } => return None,
            Self::RouterRole { role, policy }
            | Self::UnconfirmedRole { role, policy, .. }
            | Self::SecondRole { role, policy, .. } => ResourceId::RolePolicy(role.clone(), policy.clone()),
            Self::UnconfirmedBoundary { role, .. } | Self::UnconfirmedNewRole { role, .. } => {
                ResourceId::Role(role.clone())
            }
            Self::UnconfirmedOption { of, .. } => of.as_ref().clone(),
            Self::ForeignTargets { rule, .. } => ResourceId::Rule(rule.clone()),
            Self::FunctionFailed { function, .. } => ResourceId::Function(function.clone()),
            Self::TooMuchReserved { .. } | Self::OtherSettings { .. } => ResourceId::Function(scope.router_function()),
            Self::OlderRouter { .. } | Self::RollbackKept { .. } => {
                ResourceId::Alias(scope.router_function(), LIVE.to_owned())
            }
        })
    }

    /// Whether an option must confirm what a tag says about this cluster, or about the hub.
    #[must_use]
    pub(super) fn is_unconfirmed(&self, of: Option<&ClusterName>) -> bool {
        match self {
            Self::UnconfirmedRole { cluster, .. } | Self::SecondRole { cluster, .. } => of == Some(cluster),
            Self::UnconfirmedBoundary { .. }
            | Self::UnconfirmedNewRole { .. }
            | Self::UnconfirmedOption { .. }
            | Self::UnconfirmedUnlock(_) => of.is_none(),
            _ => false,
        }
    }

    /// The code of the finding that a check reports for it.
    #[must_use]
    pub fn code(&self) -> FindingCode {
        match self {
            Self::NotManaged { .. } => FindingCode::NotManaged,
            Self::ForeignStatements(_) => FindingCode::ForeignStatements,
            Self::OthersQueue { .. } | Self::HubQueue(..) | Self::PrefixInUse { .. } => FindingCode::QueueNameTaken,
            Self::AdoptedKey { .. } | Self::AdoptedDeadLetters { .. } => FindingCode::NotManaged,
            Self::ForeignTargets { .. } => FindingCode::ForeignTargets,
            Self::TooMuchReserved { .. }
            | Self::EmptyPrefix(_)
            | Self::KeyElsewhere { .. }
            | Self::MessagesUnderOldKey { .. }
            | Self::OldKeyInUse { .. }
            | Self::RollbackKept { .. }
            | Self::OtherSettings { .. } => FindingCode::OptionNotApplicable,
            Self::OlderRouter { .. } => FindingCode::NewerRouter,
            Self::FunctionFailed { .. } => FindingCode::FunctionFailed,
            Self::RouterRole { .. } => FindingCode::RouterRole,
            Self::UnconfirmedRole { .. } => FindingCode::ControllerPolicyMissing,
            Self::UnconfirmedBoundary { .. } => FindingCode::RoleChanged,
            Self::UnconfirmedNewRole { .. } => FindingCode::RoleMissing,
            Self::SecondRole { .. } => FindingCode::NotConfigured,
            Self::UnconfirmedOption { .. } | Self::UnconfirmedUnlock(_) => FindingCode::TagsChanged,
        }
    }
}

fn counts(queues: &BTreeMap<QueueName, u64>) -> String {
    let counts = queues.iter().map(|(queue, count)| format!("`{queue}` (about {count})"));
    counts.collect::<Vec<_>>().join(", ")
}

fn boundary_of_tags(saved: Option<&PermissionsBoundary>, copy: Option<&Option<PermissionsBoundary>>) -> String {
    let name = |boundary: Option<&PermissionsBoundary>| {
        boundary.map_or_else(|| "none".to_owned(), |boundary| format!("`{boundary}`"))
    };
    match copy {
        Some(copy) => format!(
            "the tags of the dead-letter queue and of the function name different permissions boundaries for it: {} and {}",
            name(saved),
            name(copy.as_ref())
        ),
        None => format!("only one tag names its permissions boundary: {}", name(saved)),
    }
}
