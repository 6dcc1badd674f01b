//! CloudWatch log groups.

use super::edge::Edge;
use super::particulars::Particulars;
use crate::model::field::{Field, Unit, field, field_names};
use crate::model::finding_code::FindingCode;
use crate::model::name::LogGroupName;
use crate::model::scope::{Scope, fixed};
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
    /// The path of the field with the retention.
    pub const RETENTION: &str = LogGroupField::RetentionDays.path();
}

impl Scope {
    /// The log group that Lambda writes the router's output to.
    #[must_use]
    pub fn router_log_group(&self) -> LogGroupName {
        fixed(format!("/aws/lambda/{}-router", self.bus))
    }
}

impl Particulars for LogGroup {
    fn fields(&self) -> Vec<Field> {
        let Self {
            name: _, // names the resource
            retention_days,
            tags: _, // compared key by key
        } = self;
        vec![field(
            LogGroupField::RetentionDays,
            retention_days.map(|days| (days, Unit::Days)),
        )]
    }

    fn edges(&self, _scope: &Scope) -> Vec<Edge> {
        Vec::new()
    }

    fn codes(&self, _of_cluster: bool) -> (FindingCode, FindingCode) {
        (FindingCode::LogGroupMissing, FindingCode::LogGroupChanged)
    }

    fn summary(&self) -> String {
        match self.retention_days {
            Some(days) => Unit::Days.text(days.into()),
            None => "unlimited retention".to_owned(),
        }
    }
}
