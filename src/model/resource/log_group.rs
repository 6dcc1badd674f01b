//! CloudWatch log groups.

use super::particulars::{Particulars, Unit, fields};
use crate::model::{LogGroupName, Resource, Scope, Tags, scope::fixed};

fields! {
    LogGroupField of LogGroup {
        name: _, // names the resource
        retention_days,
        account_policy: _, // overrides the retention if it exists
        protected: _, // prevents its deletion
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
    /// The account's retention policy, if one overrides the setting of the group (CloudWatch Logs API reference,
    /// `LogGroup`).
    pub account_policy: Option<String>,
    /// Whether CloudWatch Logs refuses to delete it.
    pub protected: bool,
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
    fn comparable(&self, observed: &Resource) -> Option<Resource> {
        let observed = observed.as_log_group().filter(|observed| observed.account_policy.is_some())?;
        Some(Resource::LogGroup(Self { retention_days: observed.retention_days, ..self.clone() }))
    }

    fn summary(&self) -> String {
        match self.retention_days {
            Some(days) => Unit::Days.text(days.into()),
            None => "unlimited retention".to_owned(),
        }
    }
}
