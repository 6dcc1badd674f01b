//! The reasons to refuse a plan: for each the sentence, the resource and the finding code.

mod advice;

use std::collections::BTreeSet;

use super::finding::{FindingCode, Fix};
use crate::error::listed;
use crate::model::name::{
    BusName, ClusterName, FunctionName, KmsKey, Partition, QueueName, Region, RoleName, RolePath, RuleName,
};
use crate::model::resource::{PolicyName, ResourceId};
use crate::model::scope::{LIVE, Scope};
use crate::model::settings::LONGEST;
use crate::model::tags::Tags;

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
        "the queue prefix cannot be empty in {0}: without tag conditions for SQS, the policies would cover every queue of the \
         account"
    )]
    EmptyPrefix(Region),
    /// Another bus of kibus serves a cluster whose queue would have this name.
    #[error("queue `{queue}` of cluster `{cluster}` belongs to bus `{bus}`")]
    OfOtherBus {
        queue: QueueName,
        cluster: ClusterName,
        bus: BusName,
    },
    /// The queue of a cluster exists, and its policy has no statement of kibus.
    #[error(
        "queue `{queue}` exists, and {}{}",
        if *.is_tagged { "has tags of kibus, but no statement of kibus in its policy" } else { "kibus did not create it" },
        waiting(*.messages)
    )]
    NotAdopted {
        queue: QueueName,
        cluster: ClusterName,
        /// Whether it has tags of kibus.
        is_tagged: bool,
        /// About how many messages wait in it.
        messages: u64,
    },
    /// A queue to take over may be that of an application.
    #[error(
        "nothing shows that a Karpenter uses queue `{queue}`{}",
        .unread.as_ref().map(|why| format!("; its rules could not be read: {why}")).unwrap_or_default()
    )]
    Unproven {
        queue: QueueName,
        cluster: ClusterName,
        /// Why the rules that send to it are unknown, if they are.
        unread: Option<String>,
    },
    /// The policy of an adopted queue has statements that allow more than the rules of Karpenter need.
    #[error("the policy of queue `{queue}` allows more than EventBridge needs: {}", listed(.permissions))]
    OtherPermissions {
        queue: QueueName,
        cluster: ClusterName,
        /// The statements, by their Sids or principals.
        permissions: BTreeSet<String>,
        /// The flag that takes the queue over, if it is not of the bus yet.
        adopt: &'static str,
    },
    /// The policy of a queue says that it is of this bus, and its tags do not.
    #[error("queue `{queue}` lacks the tags of its bus, or has those of another")]
    TagsLost { queue: QueueName, fix: Fix },
    /// A queue to delete whose policy does not say that kibus created it.
    #[error("the policy of queue `{0}` does not say that kibus created it")]
    NotCreated(QueueName),
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
    /// The settings of the hub do not fit into their parameter.
    #[error(
        "the settings of the hub would have {length} characters, and a parameter of the standard tier holds {LONGEST}{}",
        sizes(.tags)
    )]
    TooLongSettings {
        length: usize,
        /// The user's tags, which take most of them.
        tags: Tags,
    },
    /// The live router is newer than the one that would replace it.
    #[error("router {live} is live, which is newer than {offered}")]
    OlderRouter {
        /// The live version.
        live: String,
        /// The version that would replace it.
        offered: String,
    },
    /// IAM cannot change the path of a role.
    #[error("role `{role}` has the path `{path}`, which cannot change")]
    FixedPath {
        role: RoleName,
        /// The path that it has.
        path: RolePath,
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
    /// The change needs a new version of the router, and a rollback is kept.
    #[error(
        "a rollback keeps version {version} of the router live, and a new version is needed to change: {}",
        listed(.fields)
    )]
    RollbackKept {
        /// The pinned version.
        version: u64,
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
    pub fn resource(&self, scope: &Scope) -> Option<ResourceId> {
        Some(match self {
            Self::NotManaged { id, .. } | Self::ForeignStatements(id) => id.clone(),
            Self::OthersQueue { queue, .. }
            | Self::HubQueue(_, queue)
            | Self::OfOtherBus { queue, .. }
            | Self::NotAdopted { queue, .. }
            | Self::Unproven { queue, .. }
            | Self::OtherPermissions { queue, .. }
            | Self::TagsLost { queue, .. }
            | Self::NotCreated(queue)
            | Self::AdoptedKey { queue, .. }
            | Self::AdoptedDeadLetters { queue, .. } => ResourceId::Queue(queue.clone()),
            Self::PrefixInUse { .. }
            | Self::EmptyPrefix(_)
            | Self::KeyElsewhere { .. }
            | Self::TooLongSettings { .. } => return None,
            Self::RouterRole { role, policy }
            | Self::UnconfirmedRole { role, policy, .. }
            | Self::SecondRole { role, policy, .. } => ResourceId::RolePolicy(role.clone(), policy.clone()),
            Self::FixedPath { role, .. } => ResourceId::Role(role.clone()),
            Self::ForeignTargets { rule, .. } => ResourceId::Rule(rule.clone()),
            Self::FunctionFailed { function, .. } => ResourceId::Function(function.clone()),
            Self::TooMuchReserved { .. } | Self::OtherSettings { .. } => ResourceId::Function(scope.router_function()),
            Self::OlderRouter { .. } | Self::RollbackKept { .. } => {
                ResourceId::Alias(scope.router_function(), LIVE.to_owned())
            }
        })
    }

    /// Whether an option must confirm what a tag says about this cluster.
    pub(super) fn is_unconfirmed(&self, of: Option<&ClusterName>) -> bool {
        match self {
            Self::UnconfirmedRole { cluster, .. } | Self::SecondRole { cluster, .. } => of == Some(cluster),
            _ => false,
        }
    }

    /// The code of the finding that a check reports for it.
    pub fn code(&self) -> FindingCode {
        match self {
            Self::NotManaged { .. } => FindingCode::NotManaged,
            Self::ForeignStatements(_) => FindingCode::ForeignStatements,
            Self::OthersQueue { .. } | Self::HubQueue(..) | Self::PrefixInUse { .. } => FindingCode::QueueNameTaken,
            Self::AdoptedKey { .. }
            | Self::AdoptedDeadLetters { .. }
            | Self::OfOtherBus { .. }
            | Self::NotAdopted { .. }
            | Self::Unproven { .. }
            | Self::NotCreated(_) => FindingCode::NotManaged,
            Self::OtherPermissions { .. } => FindingCode::OldSenders,
            Self::TagsLost { .. } => FindingCode::FellOffTheBus,
            Self::ForeignTargets { .. } => FindingCode::ForeignTargets,
            Self::TooMuchReserved { .. }
            | Self::EmptyPrefix(_)
            | Self::KeyElsewhere { .. }
            | Self::TooLongSettings { .. }
            | Self::RollbackKept { .. }
            | Self::OtherSettings { .. } => FindingCode::OptionNotApplicable,
            Self::OlderRouter { .. } => FindingCode::NewerRouter,
            Self::FixedPath { .. } => FindingCode::RoleChanged,
            Self::FunctionFailed { .. } => FindingCode::FunctionFailed,
            Self::RouterRole { .. } => FindingCode::RouterRole,
            Self::UnconfirmedRole { .. } => FindingCode::ControllerPolicyMissing,
            Self::SecondRole { .. } => FindingCode::NotConfigured,
        }
    }
}

/// How many characters each tag takes, the longest first.
fn sizes(tags: &Tags) -> String {
    let mut sizes: Vec<(usize, &String)> = tags
        .0
        .iter()
        .map(|(key, value)| ((key.chars().chain(value.chars())).count(), key))
        .collect();
    sizes.sort_by(|a, b| b.cmp(a));
    let sizes = sizes
        .iter()
        .take(3)
        .map(|(size, key)| format!("tag `{key}` takes {size}"));
    let sizes: Vec<String> = sizes.collect();
    match sizes.is_empty() {
        true => String::new(),
        false => format!("; {}", sizes.join(", ")),
    }
}

fn waiting(messages: u64) -> String {
    match messages {
        0 => String::new(),
        1 => "; about 1 message waits in it".to_owned(),
        count => format!("; about {count} messages wait in it"),
    }
}
