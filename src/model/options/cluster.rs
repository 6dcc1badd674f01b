//! The options of a cluster.

use super::saved::{BadSavedOption, memo, recall};
use super::user_tags::UserTags;
use crate::model::karpenter::KarpenterVersion;
use crate::model::tags::Tags;

/// The options of a cluster, without its controller role, which has a tag of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the flag of its name, which documents it")]
pub struct ClusterOptions {
    pub tags: Option<UserTags>,
    pub karpenter_version: Option<KarpenterVersion>,
}

impl ClusterOptions {
    /// The options that the tags of the cluster's queue save.
    ///
    /// # Errors
    /// When a tag has a value that its option does not accept.
    pub fn saved(tags: &Tags) -> Result<Self, BadSavedOption> {
        Ok(Self {
            tags: tags.option("tag").map(|keys| UserTags::saved(keys, tags)),
            karpenter_version: recall(tags, "karpenter-version")?,
        })
    }

    /// These options; an option that is not set takes the value of `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            tags: self.tags.or(other.tags),
            karpenter_version: self.karpenter_version.or(other.karpenter_version),
        }
    }

    /// The tags that save them.
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
