//! Options of a hub.

use super::saved::{BadSavedOption, memo, recall};
use super::user_tags::UserTags;
use super::value::{Bounded, LogRetention, Memory, OrNone, ReservedConcurrency, Retention};
use crate::model::hub::default_queue_prefix;
use crate::model::name::{KmsKey, PermissionsBoundary, QueuePrefix, RolePath};
use crate::model::queue_policy::Senders;
use crate::model::resource::Architecture;
use crate::model::tags::Tags;

/// Options of a hub, given or saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the flag of its name, which documents it")]
pub struct HubOptions {
    pub tags: Option<UserTags>,
    pub kms_key: Option<OrNone<KmsKey>>,
    pub retention: Option<Retention>,
    pub permissions_boundary: Option<OrNone<PermissionsBoundary>>,
    pub role_path: Option<RolePath>,
    pub queue_prefix: Option<QueuePrefix>,
    pub memory: Option<Memory>,
    pub architecture: Option<Architecture>,
    pub reserved_concurrency: Option<OrNone<ReservedConcurrency>>,
    pub log_retention: Option<LogRetention>,
    pub rebalance: Option<bool>,
    pub lock_queues: Option<bool>,
}

impl HubOptions {
    /// The options that are saved in tags.
    ///
    /// # Errors
    /// When a tag contains an invalid value.
    pub fn saved(tags: &Tags) -> Result<Self, BadSavedOption> {
        Ok(Self {
            tags: tags.option("tag").map(|keys| UserTags::saved(keys, tags)),
            kms_key: recall(tags, "kms-key")?,
            retention: recall(tags, "retention")?,
            permissions_boundary: recall(tags, "permissions-boundary")?,
            role_path: recall(tags, "role-path")?,
            queue_prefix: recall(tags, "queue-prefix")?,
            memory: recall(tags, "memory")?,
            architecture: recall(tags, "arch")?,
            reserved_concurrency: recall(tags, "reserved-concurrency")?,
            log_retention: recall(tags, "log-retention")?,
            rebalance: recall(tags, "rebalance")?,
            lock_queues: recall(tags, "lock-queues")?,
        })
    }

    /// The prefix of cluster queues: the option, else the default.
    #[must_use]
    pub fn prefix(&self) -> QueuePrefix {
        self.queue_prefix.clone().unwrap_or_else(default_queue_prefix)
    }

    /// The path of the router role: the option, else `/`.
    #[must_use]
    pub fn path(&self) -> RolePath {
        #[expect(clippy::expect_used, reason = "`/` is the path of every role that has none")]
        self.role_path
            .clone()
            .unwrap_or_else(|| "/".parse().expect("the root path"))
    }

    /// The KMS key, if one is set.
    #[must_use]
    pub fn key(&self) -> Option<&KmsKey> {
        self.kms_key.as_ref()?.0.as_ref()
    }

    /// Which principals may send to the queues. They are locked unless the option says otherwise.
    #[must_use]
    pub fn senders(&self) -> Senders {
        match self.lock_queues {
            None | Some(true) => Senders::Locked,
            Some(false) => Senders::ByTheirPolicies,
        }
    }

    /// The reserved concurrency of the router, if it is set.
    #[must_use]
    pub fn reserved(&self) -> Option<u32> {
        self.reserved_concurrency.as_ref()?.0.map(Bounded::get)
    }

    /// These options; those that are not set come from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            tags: self.tags.or(other.tags),
            kms_key: self.kms_key.or(other.kms_key),
            retention: self.retention.or(other.retention),
            permissions_boundary: self.permissions_boundary.or(other.permissions_boundary),
            role_path: self.role_path.or(other.role_path),
            queue_prefix: self.queue_prefix.or(other.queue_prefix),
            memory: self.memory.or(other.memory),
            architecture: self.architecture.or(other.architecture),
            reserved_concurrency: self.reserved_concurrency.or(other.reserved_concurrency),
            log_retention: self.log_retention.or(other.log_retention),
            rebalance: self.rebalance.or(other.rebalance),
            lock_queues: self.lock_queues.or(other.lock_queues),
        }
    }

    /// The tags that save the options.
    #[must_use]
    pub fn saved_tags(&self) -> Tags {
        let Self {
            tags,
            kms_key,
            retention,
            permissions_boundary,
            role_path,
            queue_prefix,
            memory,
            architecture,
            reserved_concurrency,
            log_retention,
            rebalance,
            lock_queues,
        } = self;
        [
            memo("tag", tags.as_ref().map(UserTags::keys)),
            memo("kms-key", kms_key.as_ref()),
            memo("retention", retention.as_ref()),
            memo("permissions-boundary", permissions_boundary.as_ref()),
            memo("role-path", role_path.as_ref()),
            memo("queue-prefix", queue_prefix.as_ref()),
            memo("memory", memory.as_ref()),
            memo("arch", architecture.as_ref()),
            memo("reserved-concurrency", reserved_concurrency.as_ref()),
            memo("log-retention", log_retention.as_ref()),
            memo("rebalance", rebalance.as_ref()),
            memo("lock-queues", lock_queues.as_ref()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
