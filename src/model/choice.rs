//! Options that a user chose, and how they are remembered.
//!
//! There is no state file: what was chosen stands in a tag of the resource that is created first and deleted
//! last, under `kibus:option:` and the flag's name. What was never chosen has no tag and follows the default.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::karpenter::KarpenterVersion;
use super::name::{KmsKey, NameError, PermissionsBoundary, QueuePrefix, RolePath};
use super::resource::Architecture;
use super::tags::{NAMESPACE, OPTION, Tags};
use crate::error::Error;

/// A choice that may be "none at all", which is not the same as no choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrNone<T>(pub Option<T>);

impl<T: FromStr> FromStr for OrNone<T> {
    type Err = T::Err;

    fn from_str(s: &str) -> Result<Self, T::Err> {
        if s == "none" {
            Ok(Self(None))
        } else {
            s.parse().map(|value| Self(Some(value)))
        }
    }
}

impl<T: fmt::Display> fmt::Display for OrNone<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("none"),
        }
    }
}

/// A whole number between two bounds; the type says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounded<const MIN: u32, const MAX: u32>(u32);

impl<const MIN: u32, const MAX: u32> Bounded<MIN, MAX> {
    /// The number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl<const MIN: u32, const MAX: u32> FromStr for Bounded<MIN, MAX> {
    type Err = OutOfBounds;

    fn from_str(s: &str) -> Result<Self, OutOfBounds> {
        match s.parse() {
            Ok(number) if (MIN..=MAX).contains(&number) => Ok(Self(number)),
            _ => Err(OutOfBounds {
                value: s.to_owned(),
                min: MIN,
                max: MAX,
            }),
        }
    }
}

impl<const MIN: u32, const MAX: u32> fmt::Display for Bounded<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Not a number, or not within the bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a whole number from {min} to {max}", .value.escape_debug())]
pub struct OutOfBounds {
    value: String,
    min: u32,
    max: u32,
}

/// How long the hub queue keeps a message, in seconds: what SQS takes, but never less than an hour, because a
/// message that expires is lost without a trace.
pub type Retention = Bounded<3_600, 1_209_600>;
/// The router's memory, in MiB: what Lambda takes.
pub type Memory = Bounded<128, 10_240>;
/// How many invocations of the router may run at once. The event source mapping asks for no less than two.
pub type ReservedConcurrency = Bounded<2, 1_000_000>;

/// How long the router's log is kept, in days: one of the values that CloudWatch Logs takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRetention(u32);

impl LogRetention {
    /// What `PutRetentionPolicy` takes (CloudWatch Logs API reference).
    const DAYS: [u32; 22] = [
        1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
    ];

    /// The number of days.
    #[must_use]
    pub fn days(self) -> u32 {
        self.0
    }
}

impl FromStr for LogRetention {
    type Err = NameError;

    fn from_str(s: &str) -> Result<Self, NameError> {
        match s.parse() {
            Ok(days) if Self::DAYS.contains(&days) => Ok(Self(days)),
            _ => Err(NameError {
                kind: "log retention",
                value: s.to_owned(),
                expected: "a number of days that CloudWatch Logs takes: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, \
                           365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653",
            }),
        }
    }
}

impl fmt::Display for LogRetention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How long the value of a tag may be, where a service counts bytes.
const MEMORY: usize = 256;

/// The user's own tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserTags(BTreeMap<String, String>);

impl UserTags {
    /// Checks the tags of repeated `--tag K=V`; `none` alone is no tags at all.
    ///
    /// # Errors
    /// When one has no `=`, begins with what kibus or AWS keeps for itself, or holds what not every service takes; and
    /// when there are more keys than one tag can remember.
    pub fn parse(given: &[String]) -> Result<Self, NameError> {
        if let [none] = given
            && none == "none"
        {
            return Ok(Self::default());
        }
        let refuse = |value: &str| NameError {
            kind: "tag",
            value: value.to_owned(),
            expected: "`KEY=VALUE` of letters, digits and `_.:/=+-@`, the value also with spaces; the key is up to 128 \
                       long and does not begin with `kibus:` or `aws:`, the value up to 256",
        };
        let valid = |text: &str, others: &str| text.chars().all(|c| c.is_alphanumeric() || others.contains(c));
        given
            .iter()
            .map(|tag| {
                let (key, value) = tag.split_once('=').ok_or_else(|| refuse(tag))?;
                let reserved = key.to_lowercase().starts_with("aws:") || key.starts_with(NAMESPACE);
                let fits = !key.is_empty() && key.chars().count() <= 128 && value.chars().count() <= 256;
                if fits && !reserved && valid(key, "_.:/+-@") && valid(value, "_.:/=+-@ ") {
                    Ok((key.to_owned(), value.to_owned()))
                } else {
                    Err(refuse(tag))
                }
            })
            .collect::<Result<_, _>>()
            .map(Self)
            .and_then(|tags| match tags.keys() {
                keys if keys.len() <= MEMORY => Ok(tags),
                keys => Err(NameError {
                    kind: "set of tags",
                    value: keys,
                    expected: "fewer or shorter keys: all of them together, with a space between, up to 256 long",
                }),
            })
    }

    /// These, as tags to put on a resource.
    #[must_use]
    pub fn tags(&self) -> Tags {
        self.0.clone().into_iter().collect()
    }

    /// The keys, as a tag remembers them. A key holds no space, so spaces part them.
    fn keys(&self) -> String {
        self.0.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// The tag that remembers which tags of a resource the user chose, so that they can be taken away again.
    #[must_use]
    pub fn memory(&self) -> Tags {
        memo("tag", Some(self.keys())).into_iter().collect()
    }

    fn remembered(keys: &str, tags: &Tags) -> Self {
        let tag = |key: &str| tags.get(key).map(|value| (key.to_owned(), value.to_owned()));
        Self(keys.split_whitespace().filter_map(tag).collect())
    }
}

/// A remembered option that cannot be understood: someone edited the tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tag `{OPTION}{flag}` holds `{}`, which is not a value of --{flag}", .value.escape_debug())]
pub struct BadMemory {
    /// The option's flag.
    pub flag: &'static str,
    /// What the tag holds.
    pub value: String,
}

impl From<BadMemory> for Error {
    fn from(e: BadMemory) -> Self {
        Self::refused(e.to_string())
            .note("the tag remembers what was chosen; it was not written by kibus like this")
            .hint(format!("choose again by giving --{}, or mend the tag", e.flag))
    }
}

/// What was chosen for a hub: each option that was given, now or before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the flag of its name, which documents it")]
pub struct HubChoices {
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
}

impl HubChoices {
    /// What the tags of the dead-letter queue remember.
    ///
    /// # Errors
    /// When a tag holds what its option would not take.
    pub fn remembered(tags: &Tags) -> Result<Self, BadMemory> {
        Ok(Self {
            tags: tags.option("tag").map(|keys| UserTags::remembered(keys, tags)),
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
        })
    }

    /// These, and where nothing was chosen, the other's.
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
        }
    }

    /// The tags that remember them.
    #[must_use]
    pub fn memory_tags(&self) -> Tags {
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
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// What was chosen for a cluster, beside its controller role, which has a tag of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the flag of its name, which documents it")]
pub struct ClusterChoices {
    pub tags: Option<UserTags>,
    pub karpenter_version: Option<KarpenterVersion>,
}

impl ClusterChoices {
    /// What the tags of the cluster's queue remember.
    ///
    /// # Errors
    /// When a tag holds what its option would not take.
    pub fn remembered(tags: &Tags) -> Result<Self, BadMemory> {
        Ok(Self {
            tags: tags.option("tag").map(|keys| UserTags::remembered(keys, tags)),
            karpenter_version: recall(tags, "karpenter-version")?,
        })
    }

    /// These, and where nothing was chosen, the other's.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            tags: self.tags.or(other.tags),
            karpenter_version: self.karpenter_version.or(other.karpenter_version),
        }
    }

    /// The tags that remember them.
    #[must_use]
    pub fn memory_tags(&self) -> Tags {
        let Self {
            tags,
            karpenter_version,
        } = self;
        [
            memo("tag", tags.as_ref().map(UserTags::keys)),
            memo("karpenter-version", karpenter_version.as_ref()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn memo(flag: &'static str, value: Option<impl fmt::Display>) -> Option<(String, String)> {
    value.map(|value| (format!("{OPTION}{flag}"), value.to_string()))
}

fn recall<T: FromStr>(tags: &Tags, flag: &'static str) -> Result<Option<T>, BadMemory> {
    tags.option(flag)
        .map(|value| {
            value.parse().map_err(|_| BadMemory {
                flag,
                value: value.to_owned(),
            })
        })
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_choice() -> HubChoices {
        HubChoices {
            tags: Some(UserTags::parse(&["team=a b".to_owned(), "env=x=y".to_owned()]).unwrap()),
            kms_key: Some("arn:aws:kms:us-west-2:111122223333:key/1".parse().unwrap()),
            retention: Some("7200".parse().unwrap()),
            permissions_boundary: Some(OrNone(None)),
            role_path: Some("/x/".parse().unwrap()),
            queue_prefix: Some("".parse().unwrap()),
            memory: Some("512".parse().unwrap()),
            architecture: Some(Architecture::Arm64),
            reserved_concurrency: Some("none".parse().unwrap()),
            log_retention: Some("30".parse().unwrap()),
            rebalance: Some(false),
        }
    }

    #[test]
    fn what_was_chosen_is_remembered() {
        let chosen = every_choice();
        let tags = chosen.memory_tags().with_all(&chosen.tags.as_ref().unwrap().tags());
        assert_eq!(HubChoices::remembered(&tags), Ok(chosen));
        assert_eq!(HubChoices::remembered(&Tags::default()), Ok(HubChoices::default()));
    }

    #[test]
    fn a_new_choice_wins_and_the_rest_stays() {
        let now = HubChoices {
            memory: Some("128".parse().unwrap()),
            ..HubChoices::default()
        };
        let both = now.or(every_choice());
        assert_eq!(
            both,
            HubChoices {
                memory: Some("128".parse().unwrap()),
                ..every_choice()
            }
        );
    }

    #[test]
    fn an_edited_memory_is_named() {
        let tags = Tags::default().with("kibus:option:memory", "lots");
        let e = HubChoices::remembered(&tags).unwrap_err();
        assert_eq!(
            e.to_string(),
            "tag `kibus:option:memory` holds `lots`, which is not a value of --memory"
        );
    }

    #[test]
    fn tags_of_users_are_checked() {
        for (tag, taken) in [
            ("team=a", true),
            ("team=", true),
            ("a/b:c=d e", true),
            ("team", false),
            ("=a", false),
            ("kibus:bus=x", false),
            ("aws:x=y", false),
            ("a b=c", false),
            ("a=<b>", false),
        ] {
            assert_eq!(UserTags::parse(&[tag.to_owned()]).is_ok(), taken, "{tag}");
        }
    }

    #[test]
    fn no_tags_at_all_is_a_choice() {
        let none = UserTags::parse(&["none".to_owned()]).unwrap();
        assert_eq!(none, UserTags::default());
        assert!(UserTags::parse(&["none".to_owned(), "a=b".to_owned()]).is_err());
        let remembered = HubChoices::remembered(&none.memory()).unwrap();
        assert_eq!(remembered.tags, Some(none));
        let many: Vec<String> = (0..90).map(|i| format!("k{i}=v")).collect();
        assert!(UserTags::parse(&many).is_err());
    }

    #[test]
    fn numbers_have_bounds() {
        for (text, taken) in [
            ("128", true),
            ("10240", true),
            ("127", false),
            ("10241", false),
            ("-1", false),
            ("x", false),
        ] {
            assert_eq!(text.parse::<Memory>().is_ok(), taken, "{text}");
        }
        for (text, taken) in [("14", true), ("3653", true), ("0", false), ("15", false), ("x", false)] {
            assert_eq!(text.parse::<LogRetention>().is_ok(), taken, "{text}");
        }
    }
}
