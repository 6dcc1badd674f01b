//! Options of a cluster.

use super::saved::{BadSavedOption, memo, recall};
use super::user_tags::UserTags;
use crate::model::karpenter::KarpenterVersion;
use crate::model::tags::Tags;

/// Options of a cluster, except its controller role, which has a tag of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the flag of its name, which documents it")]
pub struct ClusterOptions {
    pub tags: Option<UserTags>,
    pub karpenter_version: Option<KarpenterVersion>,
}

impl ClusterOptions {
    /// The options that are saved in the tags of the cluster's queue.
    ///
    /// # Errors
    /// When a tag contains an invalid value.
    pub fn saved(tags: &Tags) -> Result<Self, BadSavedOption> {
        Ok(Self {
            tags: tags.option("tag").map(|keys| UserTags::saved(keys, tags)),
            karpenter_version: recall(tags, "karpenter-version")?,
        })
    }

    /// These options; those that are not set come from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            tags: self.tags.or(other.tags),
            karpenter_version: self.karpenter_version.or(other.karpenter_version),
        }
    }

    /// The tags that save the options.
    #[must_use]
    pub fn saved_tags(&self) -> Tags {
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
