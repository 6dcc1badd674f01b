//! Rules on the default event bus, whoever created them.

use super::document::Document;
use super::name::{Region, RuleName};

/// A rule on the default event bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRule {
    pub name: RuleName,
    /// Its event pattern; `None` for a rule by schedule.
    pub pattern: Option<Document>,
    pub enabled: bool,
    /// The AWS service that created it and manages it, if one did.
    pub managed_by: Option<String>,
}

/// A target of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleTarget {
    /// Unique within its rule.
    pub id: String,
    /// The ARN that receives the event.
    pub arn: String,
}

/// The default number of rules that an event bus may have (Service Quotas, Amazon EventBridge).
pub fn rule_limit(region: &Region) -> usize {
    match region.as_str() {
        "af-south-1" | "eu-south-1" => 100,
        _ => 300,
    }
}
