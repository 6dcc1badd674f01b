//! CloudWatch log groups.

use crate::model::field::{Field, field};
use crate::model::name::LogGroupName;
use crate::model::tags::Tags;

/// A log group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogGroup {
    /// Its name.
    pub name: LogGroupName,
    /// How long events are kept, in days; nothing means for ever.
    pub retention_days: Option<u32>,
    /// Its tags.
    pub tags: Tags,
}

impl LogGroup {
    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            name: _, // names the resource
            retention_days,
            tags: _, // compared key by key
        } = self;
        vec![field("retention_days", *retention_days)]
    }
}
