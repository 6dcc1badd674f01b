//! The options of a hub: one row for each says all that is known of it. Its columns come first.

use std::fmt;

use super::define::{BadSavedOption, BadValue, Value, default_value, memo, options, recall};
use super::user_tags::UserTags;
use super::value::{Bounded, BoundedDuration, LogRetention, OrNone};
use super::witness::{
    BOUNDARY_OF_ROLE, KEY_OF_POLICY, KEY_OF_QUEUE, LOCK_OF_QUEUE, PATH_OF_FUNCTION, PATH_OF_ROLE, PREFIX_OF_FUNCTION,
    PREFIX_OF_POLICY, TAG_KEYS_OF_ROLE, TAGS_OF_FUNCTION, TAGS_OF_ROLE, Witness,
};
use crate::error::quoted;
use crate::model::name::{KmsKey, PermissionsBoundary, QueuePrefix, RolePath};
use crate::model::policy::queue_policy::Senders;
use crate::model::resource::Architecture;
use crate::model::tags::Tags;
use ByTagAlone::{RefusedUnless, Set};
use DocumentFor::{BoundedOperator, Operator, Reader, ReadingOperator};
use Words::{Many, One, Switch};

/// A row: all that is known of an option, besides its type.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The flag, without dashes. The variable and the tag have its name.
    pub flag: &'static str,
    /// How its value is written.
    pub value: Words,
    /// The value that it has if it is neither given nor saved.
    pub default: Option<&'static str>,
    /// The help, without the default.
    pub help: &'static str,
    /// Whether a tag alone may set it.
    pub by_tag_alone: ByTagAlone,
    /// The documents of `kibus policy` that depend on it.
    pub documents: Option<Documents>,
    /// Whether the short help has it, which fits on a screen.
    pub in_short_help: bool,
}

/// How the value of an option is written on the command line, and what help calls it.
#[derive(Clone, Copy, Debug)]
pub enum Words {
    /// Once.
    One(&'static str),
    /// With the flag repeated, or with commas in the variable.
    Many(&'static str),
    /// As `true` or `false`; the flag without a value is `true`.
    Switch,
}

/// Whether a tag alone may set an option: someone who may only tag could write it (decisions 29 and 31).
#[derive(Clone, Copy, Debug)]
pub enum ByTagAlone {
    /// It may. The option opens nothing, and the plan shows the change.
    Set,
    /// It may not: one of these must say the same; a message names the first that says something. The option could open this.
    RefusedUnless(&'static [Witness], Opens),
}

/// What an option could open. Messages name the options in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opens {
    /// Queues that belong to no cluster, which the router could send to, while those of clusters are not found.
    Queues,
    /// Messages, to whoever may use the key.
    Messages,
    /// The permissions of the router role.
    Permissions,
    /// The router role, to whoever may use roles at this path.
    RolesAtPath,
    /// Resources, to whoever may use those with these tags.
    TaggedResources,
    /// The queues, to other senders.
    Senders,
}

/// The documents of `kibus policy` that depend on an option.
#[derive(Clone, Copy, Debug)]
pub struct Documents {
    /// The first kind of them; those after it depend on the option too.
    pub from: DocumentFor,
    /// The help of the option there, without the default.
    pub help: &'static str,
    /// What must agree with the saved option, if something must.
    pub witness: Option<Witness>,
}

/// Whose document is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DocumentFor {
    /// The router's, or a controller's.
    Reader,
    /// An operator's who may change nothing.
    ReadingOperator,
    /// An operator's.
    Operator,
    /// The same, with a permissions boundary that the router role must have.
    BoundedOperator,
}

impl Row {
    /// The environment variable.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("KIBUS_{}", self.flag.to_uppercase().replace('-', "_"))
    }

    /// What it could open; nothing if a tag alone may set it.
    #[must_use]
    pub fn opens(&self) -> Option<Opens> {
        match self.by_tag_alone {
            ByTagAlone::Set => None,
            ByTagAlone::RefusedUnless(_, opens) => Some(opens),
        }
    }

    /// What confirms it; nothing if a tag alone may set it.
    #[must_use]
    pub fn witnesses(&self) -> &'static [Witness] {
        match self.by_tag_alone {
            ByTagAlone::Set => &[],
            ByTagAlone::RefusedUnless(witnesses, _) => witnesses,
        }
    }

    /// The option with these values, as one types it.
    #[must_use]
    pub fn typed(&self, words: &[String]) -> String {
        let between = match self.value {
            Words::One(_) | Words::Many(_) => ' ',
            Words::Switch => '=',
        };
        let one = |word: &String| format!("--{}{between}{}", self.flag, quoted(word));
        words.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

/// An option of a table.
pub trait OptionKey: Copy + fmt::Debug + Send + Sync + 'static {
    /// The values of all options.
    type Options: Default;
    /// All options, in the order of the table, which is that of the help.
    const ALL: &'static [Self];

    /// Its row.
    fn row(self) -> &'static Row;

    /// Sets it to what was given.
    ///
    /// # Errors
    /// When it does not accept these values.
    fn set(self, options: &mut Self::Options, words: &[String]) -> Result<(), BadValue>;
}

/// Retention of the hub queue. At most what SQS takes; at least an hour, because a message that expires is lost
/// silently.
pub type Retention = BoundedDuration<3_600, 1_209_600>;
/// Memory of the router function, in MB, within the bounds of Lambda.
pub type Memory = Bounded<128, 10_240>;
/// Reserved concurrency of the router. The event source mapping requires at least 2.
pub type ReservedConcurrency = Bounded<2, 1_000_000>;

// Of each option: its name, field and type, its default, its flag and how the value is written, its help, whether a tag
// alone may set it, the documents of `kibus policy` that depend on it, and whether the short help has it.
options! {
    /// Options of a hub, given or saved.
    HubOptions,
    /// An option of a hub.
    HubOption;

    Tag, tags: UserTags, "tag", Many("KEY=VALUE"),
        "Tag for all resources; repeat for more. Replaces all saved tags; `none` removes them",
        by_tag_alone: RefusedUnless(&[TAGS_OF_ROLE, TAGS_OF_FUNCTION], Opens::TaggedResources),
        documents: Documents {
            from: BoundedOperator,
            help: "Tag that the router role may have if a boundary is required; repeat for more [default: the saved tags]",
            witness: Some(TAG_KEYS_OF_ROLE),
        };
    KmsKey, kms_key: OrNone<KmsKey> = "none", "kms-key", One("ARN"),
        "KMS key that encrypts the queues; `none` selects SSE-SQS",
        by_tag_alone: RefusedUnless(&[KEY_OF_POLICY, KEY_OF_QUEUE], Opens::Messages),
        documents: Documents { from: Reader, help: "KMS key of the queues, or `none`", witness: Some(KEY_OF_QUEUE) };
    Retention, retention: Retention = "1d", "retention", One("DURATION"),
        "Retention of the hub queue, from 1h to 14d",
        by_tag_alone: Set;
    PermissionsBoundary, permissions_boundary: OrNone<PermissionsBoundary> = "none", "permissions-boundary", One("ARN"),
        "Permissions boundary of the router role; `none` removes it",
        by_tag_alone: RefusedUnless(&[BOUNDARY_OF_ROLE, Witness::TagOfFunction], Opens::Permissions),
        documents: Documents {
            from: Operator,
            help: "Permissions boundary that the router role must have, or `none`",
            witness: Some(BOUNDARY_OF_ROLE),
        };
    RolePath, role_path: RolePath = "/", "role-path", One("PATH"),
        "Path of the router role",
        by_tag_alone: RefusedUnless(&[PATH_OF_ROLE, PATH_OF_FUNCTION], Opens::RolesAtPath),
        documents: Documents { from: ReadingOperator, help: "Path of the router role", witness: Some(PATH_OF_ROLE) };
    QueuePrefix, queue_prefix: QueuePrefix = "karpenter-", "queue-prefix", One("PREFIX"),
        "Prefix of cluster queue names, or empty",
        by_tag_alone: RefusedUnless(&[PREFIX_OF_FUNCTION, PREFIX_OF_POLICY], Opens::Queues),
        documents: Documents { from: Reader, help: "Prefix of cluster queue names", witness: Some(PREFIX_OF_FUNCTION) };
    Memory, memory: Memory = "256", "memory", One("MB"),
        "Memory for the router function, in MB",
        by_tag_alone: Set;
    Architecture, architecture: Architecture = "x86_64", "arch", One("ARCH"),
        "Architecture of the router: x86_64 or arm64",
        by_tag_alone: Set;
    ReservedConcurrency, reserved_concurrency: OrNone<ReservedConcurrency> = "none", "reserved-concurrency", One("N"),
        "Reserved concurrency of the router, at least 2; `none` removes it",
        by_tag_alone: Set;
    LogRetention, log_retention: LogRetention = "14d", "log-retention", One("DURATION"),
        "Retention of the router log",
        by_tag_alone: Set;
    Rebalance, rebalance: bool = "false", "rebalance", Switch,
        "Route rebalance recommendations, which Karpenter only reports",
        by_tag_alone: Set;
    LockQueues, lock_queues: bool = "true", "lock-queues", Switch,
        "Deny messages from all senders except the bus",
        by_tag_alone: RefusedUnless(&[LOCK_OF_QUEUE], Opens::Senders);
}

impl HubOptions {
    /// The KMS key, if one is set.
    #[must_use]
    pub fn key(&self) -> Option<&KmsKey> {
        self.kms_key.as_ref()?.0.as_ref()
    }

    /// The permissions boundary of the router role, if one is set.
    #[must_use]
    pub fn boundary(&self) -> Option<&PermissionsBoundary> {
        self.permissions_boundary.as_ref()?.0.as_ref()
    }

    /// Which principals may send to the queues.
    #[must_use]
    pub fn senders(&self) -> Senders {
        match self.lock_queues() {
            true => Senders::Locked,
            false => Senders::ByTheirPolicies,
        }
    }

    /// The reserved concurrency of the router, if it is set.
    #[must_use]
    pub fn reserved(&self) -> Option<u32> {
        self.reserved_concurrency.as_ref()?.0.map(Bounded::get)
    }
}
