//! CloudWatch log groups.

use super::particulars::{Particulars, Unit, fields};
use crate::model::{LogGroupName, Scope, Tags, scope::fixed};

fields! {
    LogGroupField of LogGroup {
        name: _, // names the resource
        retention_days,
        tags: _, // compared key by key
    } {
        RetentionDays = "retention_days": retention_days.map(|days| (days, Unit::Days)),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogGroup {
    pub name: LogGroupName,
    /// How long events are kept, in days; `None` means forever.
    pub retention_days: Option<u32>,
    pub tags: Tags,
}

impl Scope {
    /// The log group that Lambda writes the router's output to.
    pub fn router_log_group(&self) -> LogGroupName {
        fixed(format!("/aws/lambda/{}-router", self.bus))
    }

    /// The ARN of a log group, without the trailing `:*` that stands for its streams.
    pub fn log_group_arn(&self, group: &LogGroupName) -> String {
        self.arn("logs", &format!("log-group:{group}"))
    }
}

impl Particulars for LogGroup {
    fn summary(&self) -> String {
        match self.retention_days {
            Some(days) => Unit::Days.text(days.into()),
            None => "unlimited retention".to_owned(),
        }
    }
}
