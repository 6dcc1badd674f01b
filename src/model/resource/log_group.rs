//! CloudWatch log groups.

use crate::model::field::{Field, field, field_names};
use crate::model::name::LogGroupName;
use crate::model::tags::Tags;

field_names! {
    /// The fields of a log group.
    LogGroupField {
        RetentionDays = "retention_days",
    }
}

/// A log group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogGroup {
    pub name: LogGroupName,
    /// How long events are kept, in days; `None` means forever.
    pub retention_days: Option<u32>,
    pub tags: Tags,
}

impl LogGroup {
    pub(super) fn fields(&self) -> Vec<Field> {
        let Self {
            name: _, // names the resource
            retention_days,
            tags: _, // compared key by key
        } = self;
        vec![field(LogGroupField::RetentionDays, *retention_days)]
    }
}
