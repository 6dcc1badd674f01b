//! The options of a hub, on the command line and in its parameter. An option that was never set has no value and uses
//! its default, so a later change of the default takes effect.
//!
//! The doc comment of an option is its help on the command line, the name of its field is its flag and its key in the
//! parameter.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::name::{KmsKey, NameError, PermissionsBoundary, QueueTemplate, Region, RolePath, Topic};
use super::notation::{duration_text, parse_duration};
use super::resource::Architecture;
use super::scope::fixed;
use super::signal::Signal;
use super::tags::{NAMESPACE, Tags};
use super::words::words;
use crate::error::quoted;

/// Retention of the hub queue: at most the SQS maximum; at least an hour, because a message that expires is lost silently.
pub type Retention = Bounded<3_600, 1_209_600, true>;
/// Memory of the router function, in MB, within the bounds of Lambda.
pub type Memory = Bounded<128, 10_240>;
/// Reserved concurrency of the router. The event source mapping requires at least 2.
pub type ReservedConcurrency = Bounded<2, 1_000_000>;

/// Declares each option: its help, its name, its type, its form in a document unless JSON has one, its variable, and
/// the placeholder for its value.
macro_rules! options {
    ($($(#[$help:meta])* $name:ident: $type:ty $(as $form:literal)?, $env:literal, $value:literal $([$($more:tt)*])?;)*) => {
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "cli", derive(clap::Args), command(mut_args = standing_alone))]
        #[serde(default, rename_all = "kebab-case")]
        pub struct HubOptions {
            $(
                $(#[$help])*
                #[cfg_attr(feature = "cli", arg(long, env = $env, value_name = $value, $($($more)*)?))]
                #[serde($(with = $form,)? skip_serializing_if = "Option::is_none")]
                pub $name: Option<$type>,
            )*
            /// Options of a newer kibus. They are kept.
            #[cfg_attr(feature = "cli", arg(skip))]
            #[serde(flatten)]
            pub unknown: Map<String, Value>,
        }

        impl HubOptions {
            fn or_saved(self, saved: Self) -> Self {
                Self { $($name: self.$name.or(saved.$name),)* unknown: saved.unknown }
            }

            /// Removes the options whose flags are not kept, and those of a newer kibus.
            pub fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
                $(
                    if !keeps(&stringify!($name).replace('_', "-")) {
                        self.$name = None;
                    }
                )*
                self.unknown.clear();
            }
        }
    };
}

options! {
    /// Tag to add or change on all resources; repeatable; `none` removes all tags
    tag: Vec<OrNone<UserTag>> as "tag_map", "KIBUS_TAG", "KEY=VALUE" [value_delimiter = ','];
    /// KMS key that encrypts the queues; `none` selects SSE-SQS
    kms_key: OrNone<KmsKey> as "text", "KIBUS_KMS_KEY", "ARN";
    /// Retention of the hub queue, from 1h to 14d [default: 1d]
    retention: Retention as "text", "KIBUS_RETENTION", "DURATION";
    /// Permissions boundary of the router role; `none` removes it
    permissions_boundary: OrNone<PermissionsBoundary> as "text", "KIBUS_PERMISSIONS_BOUNDARY", "ARN";
    /// Path of the router role [default: /]
    role_path: RolePath as "text", "KIBUS_ROLE_PATH", "PATH" [hide_short_help = true];
    /// Name of each cluster's queue [default: karpenter-{cluster}]
    queue_name: QueueTemplate as "text", "KIBUS_QUEUE_NAME", "TEMPLATE";
    /// Memory for the router function, in MB [default: 256]
    memory: Memory as "text", "KIBUS_MEMORY", "MB";
    /// Architecture of the router: x86_64 or arm64 [default: x86_64]
    arch: Architecture as "text", "KIBUS_ARCH", "ARCH";
    /// Reserved concurrency, at least 2; `none` removes it
    reserved_concurrency: OrNone<ReservedConcurrency> as "text", "KIBUS_RESERVED_CONCURRENCY", "N";
    /// Retention of the router log [default: 14d]
    log_retention: LogRetention as "text", "KIBUS_LOG_RETENTION", "DURATION";
    /// Route rebalance recommendations, which Karpenter only reports [default: false]
    rebalance: bool, "KIBUS_REBALANCE", "BOOL";
    /// Create alarms for the hub that notify this SNS topic, or no one; `false` removes them [default: false]
    alarms: Alarms as "text", "KIBUS_ALARMS", "TOPIC_ARN";
    /// Send a heartbeat through the bus every five minutes [default: with alarms]
    heartbeat: bool, "KIBUS_HEARTBEAT", "BOOL" [hide_short_help = true];
    /// Create a CloudWatch dashboard for the bus [default: false]
    dashboard: bool, "KIBUS_DASHBOARD", "BOOL";
    /// Create an alarm for each cluster that fires when nothing reads its queue, at $0.20 a month each [default: false]
    reader_alarms: bool, "KIBUS_READER_ALARMS", "BOOL" [hide_short_help = true];
    /// Require queue tags in IAM policies; false where SQS does not support that [default: depends on the Region]
    tag_conditions: bool, "KIBUS_TAG_CONDITIONS", "BOOL" [hide_short_help = true];
    /// Delivery metrics: by `cluster`, by cluster and `nodepool`, or `none` [default: none]
    cluster_metrics: ClusterMetrics as "text", "KIBUS_CLUSTER_METRICS", "WHAT" [hide_short_help = true];
    /// SNS topic that receives a notice of each delivery; `none` removes it
    notify: OrNone<Topic> as "text", "KIBUS_NOTIFY", "TOPIC";
}

/// Allows on/off options without a value.
#[cfg(feature = "cli")]
fn standing_alone(arg: clap::Arg) -> clap::Arg {
    let stands_for = |name: &str| arg.get_value_names().is_some_and(|names| names == [name]);
    let (is_switch, is_topic) = (stands_for("BOOL"), stands_for("TOPIC_ARN"));
    if !is_switch && !is_topic {
        return arg;
    }
    let arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
    if is_switch { arg.hide_possible_values(true).value_parser(clap::builder::BoolishValueParser::new()) } else { arg }
}

/// Returns each of these options, or its default.
macro_rules! defaults {
    ($($name:ident of $option:ident: $type:ty = $default:expr;)*) => {
        impl HubOptions {
            $(
                pub fn $name(&self) -> $type {
                    self.$option.clone().unwrap_or_else(|| $default)
                }
            )*
        }
    };
}

defaults! {
    retention of retention: Retention = const { Retention::known(86_400) };
    role_path of role_path: RolePath = fixed("/".to_owned());
    queue_template of queue_name: QueueTemplate = fixed("karpenter-{cluster}".to_owned());
    memory of memory: Memory = const { Memory::known(256) };
    architecture of arch: Architecture = Architecture::X86_64;
    log_retention of log_retention: LogRetention = LogRetention::default();
    cluster_metrics of cluster_metrics: ClusterMetrics = ClusterMetrics::default();
}

impl HubOptions {
    /// These options; omitted ones come from `saved`. Tags are added to the saved tags.
    pub fn or(self, saved: Self) -> Self {
        let Some(given) = &self.tag else { return self.or_saved(saved) };
        let clears = given.contains(&OrNone(None));
        let saved_tags = if clears { Tags::default() } else { saved.tags() };
        let tag = Some(tag_option(saved_tags.with_all(&self.tags())));
        Self { tag, ..self.or_saved(saved) }
    }

    /// Removes the tags with these keys.
    pub fn untag(&mut self, keys: &[String]) {
        let mut tags = self.tags();
        tags.0.retain(|key, _| !keys.contains(key));
        if tags != self.tags() {
            self.tag = Some(tag_option(tags));
        }
    }

    /// Every optional part.
    pub fn all_parts() -> Self {
        Self {
            alarms: Some(Alarms::On(None)),
            dashboard: Some(true),
            reader_alarms: Some(true),
            rebalance: Some(true),
            ..Self::default()
        }
    }

    /// These options, and the optional parts that a hub with the options `before` has.
    pub fn with_parts_of(mut self, before: &Self) -> Self {
        if before.has_alarms() && !self.has_alarms() {
            self.alarms.clone_from(&before.alarms);
        }
        // Each rule has alarms.
        if before.has_alarms() && before.rebalance == Some(true) {
            self.rebalance = before.rebalance;
        }
        if before.has_reader_alarms() {
            self.reader_alarms = before.reader_alarms;
        }
        if before.has_heartbeat() && !self.has_heartbeat() {
            self.heartbeat = Some(true);
        }
        if before.dashboard == Some(true) {
            self.dashboard = before.dashboard;
        }
        self
    }

    pub fn has_alarms(&self) -> bool {
        matches!(self.alarms, Some(Alarms::On(_)))
    }

    /// The topic that alarms notify.
    pub fn alarm_topic(&self) -> Option<&Topic> {
        match &self.alarms {
            Some(Alarms::On(topic)) => topic.as_ref(),
            Some(Alarms::Off) | None => None,
        }
    }

    /// Whether a hub with these options has the rule of a signal.
    pub fn has_rule(&self, signal: Signal) -> bool {
        match signal {
            Signal::Rebalance => self.rebalance == Some(true),
            Signal::Heartbeat => self.has_heartbeat(),
            _ => true,
        }
    }

    pub fn has_heartbeat(&self) -> bool {
        self.heartbeat.unwrap_or_else(|| self.has_alarms())
    }

    pub fn has_reader_alarms(&self) -> bool {
        self.reader_alarms == Some(true)
    }

    /// The options that are set, by their flags.
    pub fn values(&self) -> Map<String, Value> {
        match serde_json::to_value(Self { unknown: Map::new(), ..self.clone() }) {
            Ok(Value::Object(values)) => values,
            // A struct with text keys is always an object.
            _ => Map::new(),
        }
    }

    /// The options that are set, as typed on the command line.
    pub fn typed(&self) -> Vec<String> {
        let typed = |(flag, value): (String, Value)| match value {
            Value::Object(tags) if tags.is_empty() => vec![format!("--{flag} none")],
            Value::Object(tags) => {
                let tag = |(key, value): (&String, &Value)| format!("{key}={}", value.as_str().unwrap_or_default());
                let tags = tags.iter().map(|pair| format!("--{flag} {}", quoted(&tag(pair))));
                tags.collect()
            }
            Value::Bool(on) => vec![format!("--{flag}={on}")],
            // It needs no value.
            Value::String(topic) if flag == "alarms" => vec![format!("--{flag}={}", quoted(&topic))],
            value => vec![format!("--{flag} {}", quoted(value.as_str().unwrap_or_default()))],
        };
        self.values().into_iter().flat_map(typed).collect()
    }

    /// The user's tags. `none` adds no tags. If a key repeats, the last one counts.
    pub fn tags(&self) -> Tags {
        let tags = self.tag.iter().flatten().filter_map(|tag| tag.0.clone());
        tags.map(|tag| (tag.key, tag.value)).collect()
    }

    pub fn key(&self) -> Option<&KmsKey> {
        self.kms_key.as_ref()?.0.as_ref()
    }

    pub fn boundary(&self) -> Option<&PermissionsBoundary> {
        self.permissions_boundary.as_ref()?.0.as_ref()
    }

    pub fn reserved(&self) -> Option<u32> {
        self.reserved_concurrency.as_ref()?.0.map(Bounded::get)
    }

    pub fn topic(&self) -> Option<&Topic> {
        self.notify.as_ref()?.0.as_ref()
    }

    /// Whether the policies require tags on queues; else they name queues by the pattern of their names alone.
    pub fn tag_conditions(&self, region: &Region) -> bool {
        self.tag_conditions.unwrap_or(region.has_queue_tag_conditions())
    }
}

words! {
    /// What has its own delivery metrics.
    #[derive(Default)]
    pub ClusterMetrics, "cluster metric", "`cluster`, `nodepool` or `none`" {
        #[default]
        None = "none" | "false" | "no" | "off" | "0",
        Cluster = "cluster" | "true" | "yes" | "on" | "1",
        /// Each cluster, and each of its node pools.
        NodePool = "nodepool",
    }
}

/// How an option is written in a document: as typed on the command line.
mod text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(super) fn serialize<T: Display, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.collect_str(value),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        text.parse().map(Some).map_err(D::Error::custom)
    }
}

/// How tags are written in a document: as a map; `none` is an empty one.
mod tag_map {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    use super::{BTreeMap, OrNone, UserTag, tag_option};
    use crate::model::Tags;

    pub(super) fn serialize<S: Serializer>(given: &Option<Vec<OrNone<UserTag>>>, to: S) -> Result<S::Ok, S::Error> {
        let tags = given.iter().flatten().filter_map(|tag| tag.0.as_ref());
        to.collect_map(tags.map(|tag| (&tag.key, &tag.value)).collect::<BTreeMap<_, _>>())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<OrNone<UserTag>>>, D::Error> {
        let tags = Tags(BTreeMap::deserialize(from)?);
        for (key, value) in &tags.0 {
            format!("{key}={value}").parse::<UserTag>().map_err(D::Error::custom)?;
        }
        Ok(Some(tag_option(tags)))
    }
}

pub fn tag_option(tags: Tags) -> Vec<OrNone<UserTag>> {
    let tag = |(key, value)| OrNone(Some(UserTag { key, value }));
    if tags.0.is_empty() { vec![OrNone(None)] } else { tags.0.into_iter().map(tag).collect() }
}

/// A tag as typed: `KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserTag {
    pub key: String,
    pub value: String,
}

impl FromStr for UserTag {
    type Err = NameError;

    /// Refuses a tag without `=`, with a reserved prefix, or with a character that a service rejects.
    fn from_str(tag: &str) -> Result<Self, NameError> {
        let refuse = || {
            let expected = "`KEY=VALUE` of letters, digits and `_.:/=+-@`, with spaces only in the value; the key has \
                up to 128 characters and does not begin with `kibus:` or `aws:`; the value has up to 256";
            NameError::new("tag", tag, expected)
        };
        let valid = |text: &str, others: &str| text.chars().all(|c| c.is_alphanumeric() || others.contains(c));
        let (key, value) = tag.split_once('=').ok_or_else(refuse)?;
        let reserved = key.to_lowercase().starts_with("aws:") || key.starts_with(NAMESPACE);
        let fits = !key.is_empty() && key.chars().count() <= 128 && value.chars().count() <= 256;
        if !fits || reserved || !valid(key, "_.:/+-@") || !valid(value, "_.:/=+-@ ") {
            return Err(refuse());
        }
        let (key, value) = (key.to_owned(), value.to_owned());
        Ok(Self { key, value })
    }
}

/// An option that can be set to `none`, which differs from an unset option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrNone<T>(pub Option<T>);

impl<T: FromStr> FromStr for OrNone<T> {
    type Err = T::Err;

    fn from_str(s: &str) -> Result<Self, T::Err> {
        match s {
            "none" | "false" => Ok(Self(None)),
            value => value.parse().map(|value| Self(Some(value))),
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

/// Whether a hub has alarms, and the topic that they notify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alarms {
    Off,
    On(Option<Topic>),
}

impl FromStr for Alarms {
    type Err = NameError;

    fn from_str(s: &str) -> Result<Self, NameError> {
        match s.to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(Self::On(None)),
            "false" | "no" | "off" | "0" => Ok(Self::Off),
            _ => s.parse().map(|topic| Self::On(Some(topic))),
        }
    }
}

impl fmt::Display for Alarms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("false"),
            Self::On(None) => f.write_str("true"),
            Self::On(Some(topic)) => topic.fmt(f),
        }
    }
}

/// A number from `MIN` to `MAX`, or a duration from `MIN` to `MAX` seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounded<const MIN: u32, const MAX: u32, const IS_DURATION: bool = false>(u32);

impl<const MIN: u32, const MAX: u32, const IS_DURATION: bool> Bounded<MIN, MAX, IS_DURATION> {
    const fn known(number: u32) -> Self {
        assert!(MIN <= number && number <= MAX);
        Self(number)
    }

    /// The number, or the seconds.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl<const MIN: u32, const MAX: u32, const IS_DURATION: bool> FromStr for Bounded<MIN, MAX, IS_DURATION> {
    type Err = OutOfBounds;

    /// Parses a number. A duration may have a unit.
    fn from_str(s: &str) -> Result<Self, OutOfBounds> {
        let with_unit = parse_duration(s).filter(|_| IS_DURATION);
        let number = with_unit.map_or_else(|| s.parse().ok(), |seconds| u32::try_from(seconds).ok());
        let expected = || {
            if IS_DURATION {
                let (min, max) = (duration_text(MIN.into()), duration_text(MAX.into()));
                format!("a duration from {min} to {max}, such as `90m`, `2h` or `1d`")
            } else {
                format!("a whole number from {MIN} to {MAX}")
            }
        };
        let refuse = || OutOfBounds { value: s.to_owned(), expected: expected() };
        number.filter(|number| (MIN..=MAX).contains(number)).map(Self).ok_or_else(refuse)
    }
}

impl<const MIN: u32, const MAX: u32, const IS_DURATION: bool> fmt::Display for Bounded<MIN, MAX, IS_DURATION> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if IS_DURATION { f.write_str(&duration_text(self.0.into())) } else { self.0.fmt(f) }
    }
}

/// Not a number or duration within the bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not {expected}", .value.escape_debug())]
pub struct OutOfBounds {
    value: String,
    pub expected: String,
}

/// Retention of the router log, in days: one of the values that CloudWatch Logs accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRetention(u32);

impl LogRetention {
    /// The values that `PutRetentionPolicy` accepts (CloudWatch Logs API reference).
    const DAYS: [u32; 22] =
        [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653];

    pub fn days(self) -> u32 {
        self.0
    }
}

impl Default for LogRetention {
    fn default() -> Self {
        Self(14)
    }
}

impl FromStr for LogRetention {
    type Err = NameError;

    /// Parses a duration with a unit, or a number of days.
    fn from_str(s: &str) -> Result<Self, NameError> {
        const DAY: u64 = 86_400;
        let days = match parse_duration(s) {
            Some(seconds) if seconds.is_multiple_of(DAY) => (seconds / DAY).try_into().ok(),
            Some(_) => None,
            None => s.parse().ok(),
        };
        match days {
            Some(days) if Self::DAYS.contains(&days) => Ok(Self(days)),
            _ => Err(NameError::new(
                "log retention",
                s,
                "a number of days that CloudWatch Logs accepts, such as `14d`: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, \
                 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653",
            )),
        }
    }
}

impl fmt::Display for LogRetention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}d", self.0)
    }
}

#[cfg(test)]
mod tests;
