//! The options of a hub, as they are given and as its parameter saves them. An option that was never given has no value
//! and takes its default, so a default that changes later still changes.
//!
//! The doc comment of an option is its help on the command line, the name of its field is its flag and its key in the
//! parameter.

mod text;
mod user_tags;
mod value;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use user_tags::{UserTag, UserTags};
pub use value::{Bounded, BoundedDuration, LogRetention, OrNone, OutOfBounds};

use super::name::{KmsKey, PermissionsBoundary, QueuePrefix, Region, RolePath};
use super::policy::queue_policy::Senders;
use super::resource::Architecture;
use super::scope::fixed;
use crate::error::quoted;

/// Retention of the hub queue. At most what SQS takes; at least an hour, because a message that expires is lost
/// silently.
pub type Retention = BoundedDuration<3_600, 1_209_600>;
/// Memory of the router function, in MB, within the bounds of Lambda.
pub type Memory = Bounded<128, 10_240>;
/// Reserved concurrency of the router. The event source mapping requires at least 2.
pub type ReservedConcurrency = Bounded<2, 1_000_000>;

/// Options of a hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HubOptions {
    /// Tag for all resources; repeat for more. Replaces all saved tags; `none` removes them
    #[cfg_attr(
        feature = "cli",
        arg(long, env = "KIBUS_TAG", value_name = "KEY=VALUE", value_delimiter = ',')
    )]
    #[serde(with = "user_tags", skip_serializing_if = "Option::is_none")]
    pub tag: Option<Vec<OrNone<UserTag>>>,
    /// KMS key that encrypts the queues; `none` selects SSE-SQS
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_KMS_KEY", value_name = "ARN"))]
    #[serde(with = "text", skip_serializing_if = "Option::is_none")]
    pub kms_key: Option<OrNone<KmsKey>>,
    /// Retention of the hub queue, from 1h to 14d [default: 1d]
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_RETENTION", value_name = "DURATION"))]
    #[serde(with = "text", skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
    /// Permissions boundary of the router role; `none` removes it
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_PERMISSIONS_BOUNDARY", value_name = "ARN"))]
    #[serde(with = "text", skip_serializing_if = "Option::is_none")]
    pub permissions_boundary: Option<OrNone<PermissionsBoundary>>,
    /// Path of the router role [default: /]
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_ROLE_PATH", value_name = "PATH"))]
    #[serde(with = "text", skip_serializing_if = "Option::is_none")]
    pub role_path: Option<RolePath>,
    /// Prefix of cluster queue names, or empty [default: karpenter-]
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_QUEUE_PREFIX", value_name = "PREFIX"))]
    #[serde(with = "text", skip_serializing_if = "Option::is_none")]
    pub queue_prefix: Option<QueuePrefix>,
    /// Memory for the router function, in MB [default: 256]
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_MEMORY", value_name = "MB"))]
    #[serde(with = "text", skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Architecture of the router: x86_64 or arm64 [default: x86_64]
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_ARCH", value_name = "ARCH"))]
    #[serde(with = "text", skip_serializing_if = "Option::is_none")]
    pub arch: Option<Architecture>,
    /// Reserved concurrency of the router, at least 2; `none` removes it
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_RESERVED_CONCURRENCY", value_name = "N"))]
    #[serde(with = "text", skip_serializing_if = "Option::is_none")]
    pub reserved_concurrency: Option<OrNone<ReservedConcurrency>>,
    /// Retention of the router log [default: 14d]
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_LOG_RETENTION", value_name = "DURATION"))]
    #[serde(with = "text", skip_serializing_if = "Option::is_none")]
    pub log_retention: Option<LogRetention>,
    /// Route rebalance recommendations, which Karpenter only reports [default: false]
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_REBALANCE", value_name = "BOOL",
        num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true,
        value_parser = clap::builder::BoolishValueParser::new()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebalance: Option<bool>,
    /// Deny messages from all senders except the bus [default: true]
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_LOCK_QUEUES", value_name = "BOOL",
        num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true,
        value_parser = clap::builder::BoolishValueParser::new()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_queues: Option<bool>,
    /// Require tags of queues in IAM policies; false where SQS does not support that [default: by Region]
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_TAG_CONDITIONS", value_name = "BOOL", hide_short_help = true,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true,
        value_parser = clap::builder::BoolishValueParser::new()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag_conditions: Option<bool>,
}

impl HubOptions {
    /// These options; those that are not given come from `saved`.
    pub fn or(self, saved: Self) -> Self {
        Self {
            tag: self.tag.or(saved.tag),
            kms_key: self.kms_key.or(saved.kms_key),
            retention: self.retention.or(saved.retention),
            permissions_boundary: self.permissions_boundary.or(saved.permissions_boundary),
            role_path: self.role_path.or(saved.role_path),
            queue_prefix: self.queue_prefix.or(saved.queue_prefix),
            memory: self.memory.or(saved.memory),
            arch: self.arch.or(saved.arch),
            reserved_concurrency: self.reserved_concurrency.or(saved.reserved_concurrency),
            log_retention: self.log_retention.or(saved.log_retention),
            rebalance: self.rebalance.or(saved.rebalance),
            lock_queues: self.lock_queues.or(saved.lock_queues),
            tag_conditions: self.tag_conditions.or(saved.tag_conditions),
        }
    }

    /// The options that are given, by their flags.
    pub fn values(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(values)) => values,
            // A struct with text keys is always an object.
            _ => Map::new(),
        }
    }

    /// Keeps the options with these flags.
    pub fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        let kept = self.values().into_iter().filter(|(flag, _)| keeps(flag)).collect();
        // A part of valid options is valid.
        *self = serde_json::from_value(Value::Object(kept)).unwrap_or_default();
    }

    /// The options that are given, as one types them.
    pub fn typed(&self) -> Vec<String> {
        let typed = |(flag, value): (String, Value)| match value {
            Value::Object(tags) if tags.is_empty() => vec![format!("--{flag} none")],
            Value::Object(tags) => {
                let tag = |(key, value): (&String, &Value)| format!("{key}={}", value.as_str().unwrap_or_default());
                let tags = tags.iter().map(|pair| format!("--{flag} {}", quoted(&tag(pair))));
                tags.collect()
            }
            Value::Bool(on) => vec![format!("--{flag}={on}")],
            value => vec![format!("--{flag} {}", quoted(value.as_str().unwrap_or_default()))],
        };
        self.values().into_iter().flat_map(typed).collect()
    }

    /// The user's tags.
    pub fn tags(&self) -> UserTags {
        UserTags::of(self.tag.as_deref().unwrap_or_default())
    }

    /// The KMS key, if one is set.
    pub fn key(&self) -> Option<&KmsKey> {
        self.kms_key.as_ref()?.0.as_ref()
    }

    /// Retention of the hub queue.
    pub fn retention(&self) -> Retention {
        self.retention.unwrap_or(const { Retention::of(86_400) })
    }

    /// The permissions boundary of the router role, if one is set.
    pub fn boundary(&self) -> Option<&PermissionsBoundary> {
        self.permissions_boundary.as_ref()?.0.as_ref()
    }

    /// The path of the router role.
    pub fn role_path(&self) -> RolePath {
        self.role_path.clone().unwrap_or_else(|| fixed("/".to_owned()))
    }

    /// The prefix of cluster queues.
    pub fn queue_prefix(&self) -> QueuePrefix {
        let default = || fixed("karpenter-".to_owned());
        self.queue_prefix.clone().unwrap_or_else(default)
    }

    /// The memory of the router.
    pub fn memory(&self) -> Memory {
        self.memory.unwrap_or(const { Memory::of(256) })
    }

    /// The architecture of the router.
    pub fn architecture(&self) -> Architecture {
        self.arch.unwrap_or(Architecture::X86_64)
    }

    /// The reserved concurrency of the router, if it is set.
    pub fn reserved(&self) -> Option<u32> {
        self.reserved_concurrency.as_ref()?.0.map(Bounded::get)
    }

    /// The retention of the router log.
    pub fn log_retention(&self) -> LogRetention {
        self.log_retention.unwrap_or_default()
    }

    /// Which principals may send to the queues.
    pub fn senders(&self) -> Senders {
        match self.lock_queues {
            Some(false) => Senders::ByTheirPolicies,
            Some(true) | None => Senders::Locked,
        }
    }

    /// Whether the policies require tags on queues; else they name queues by their prefix alone.
    pub fn tag_conditions(&self, region: &Region) -> bool {
        self.tag_conditions.unwrap_or(region.has_queue_tag_conditions())
    }
}

#[cfg(test)]
mod tests;
