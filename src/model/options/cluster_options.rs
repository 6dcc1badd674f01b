//! The options of a cluster.

use super::{OrNone, UserTag, UserTags};
use crate::model::karpenter::KarpenterVersion;
use crate::model::tags::Tags;

/// Options of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ClusterOptions {
    /// Version of Karpenter in the cluster; it selects the setting to print
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_KARPENTER_VERSION", value_name = "VERSION"))]
    pub karpenter_version: Option<KarpenterVersion>,
    /// Tag for the queue; repeat for more. Replaces all saved tags; `none` removes them
    #[cfg_attr(
        feature = "cli",
        arg(long, env = "KIBUS_TAG", value_name = "KEY=VALUE", value_delimiter = ',')
    )]
    pub tag: Option<Vec<OrNone<UserTag>>>,
    /// Take over the queue of this name that another tool created; it keeps its messages and its senders
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_ADOPT", value_name = "BOOL", hide_short_help = true,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true,
        value_parser = clap::builder::BoolishValueParser::new()))]
    pub adopt: Option<bool>,
    /// Deny messages from the senders that an adopted queue had before
    #[cfg_attr(feature = "cli", arg(long, env = "KIBUS_DROP_OLD_SENDERS", value_name = "BOOL", hide_short_help = true,
        num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true,
        value_parser = clap::builder::BoolishValueParser::new()))]
    pub drop_old_senders: Option<bool>,
}

impl ClusterOptions {
    pub fn or(self, other: Self) -> Self {
        Self {
            karpenter_version: self.karpenter_version.or(other.karpenter_version),
            tag: self.tag.or(other.tag),
            adopt: self.adopt.or(other.adopt),
            drop_old_senders: self.drop_old_senders.or(other.drop_old_senders),
        }
    }

    pub fn adopt(&self) -> bool {
        self.adopt == Some(true)
    }

    pub fn drop_old_senders(&self) -> bool {
        self.drop_old_senders == Some(true)
    }

    pub fn tags(&self) -> UserTags {
        UserTags::of(self.tag.as_deref().unwrap_or_default())
    }

    pub fn saved(tags: &Tags) -> Self {
        let read = |key: &str| tags.get(&format!("kibus:{key}"));
        Self {
            karpenter_version: read("karpenter-version").and_then(|text| text.parse().ok()),
            tag: None,
            adopt: read("adopt").map(|text| text == "true"),
            drop_old_senders: read("drop-old-senders").map(|text| text == "true"),
        }
    }

    pub fn saved_tags(&self) -> Tags {
        let text = |on: bool| on.to_string();
        let tags = [
            (
                "karpenter-version",
                self.karpenter_version.map(|version| version.to_string()),
            ),
            ("adopt", self.adopt.map(text)),
            ("drop-old-senders", self.drop_old_senders.map(text)),
        ];
        tags.into_iter()
            .filter_map(|(key, value)| Some((format!("kibus:{key}"), value?)))
            .collect()
    }
}
