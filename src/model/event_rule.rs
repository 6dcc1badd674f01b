//! Rules on the default event bus, whoever created them, and which of Karpenter's events their patterns match (EventBridge user
//! guide, "Comparison operators for use in event patterns").

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::{Document, Region, RuleName, Signal, signal::PROBE_SOURCE, texts};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRule {
    pub name: RuleName,
    /// Its event pattern; `None` for a rule by schedule.
    pub pattern: Option<Document>,
    pub enabled: bool,
    /// The AWS service that created it and manages it, if one did.
    pub managed_by: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedTarget {
    /// Unique within its rule.
    pub id: String,
    pub arn: String,
}

/// The default number of rules that an event bus may have (Service Quotas, Amazon EventBridge).
pub fn rule_limit(region: &Region) -> usize {
    match region.as_str() {
        "af-south-1" | "eu-south-1" => 100,
        _ => 300,
    }
}

/// The source of the events for which the node termination handler has a rule, and Karpenter has none.
const AUTO_SCALING: &str = "aws.autoscaling";
/// Members of a pattern that say which kind of event it matches.
const KIND: [&str; 2] = ["source", "detail-type"];
/// A member that every event of the account has with the same value.
const SAME_FOR_ALL: &str = "account";

/// What a pattern matches, as far as Karpenter is concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulePattern {
    /// The signals of which it matches some events, or may.
    pub signals: BTreeSet<Signal>,
    /// Its other members, which match fewer of these events.
    pub filters: BTreeSet<String>,
    /// Whether it matches events that Karpenter does not know, or may.
    pub is_broad: bool,
    /// Whether it names EC2 Auto Scaling as a source.
    pub of_auto_scaling: bool,
}

impl RulePattern {
    /// What a pattern matches. Text that is no pattern matches nothing. An operator that kibus does not know may match.
    pub fn from_document(pattern: &Document) -> Self {
        let Value::Object(members) = pattern.value() else {
            return Self::default();
        };
        let [source, kind] = KIND.map(|name| members.get(name));
        let matches = |signal: &Signal| {
            let mut kinds = signal.detail_types().iter();
            accepts(source, signal.source()) && kinds.any(|name| accepts(kind, name))
        };
        let signals: BTreeSet<Signal> = of_aws().filter(matches).collect();
        let filters = members.keys().map(String::as_str).filter(|name| !KIND.contains(name) && *name != SAME_FOR_ALL);
        let known_source = |text: &str| of_aws().any(|signal| signal.source() == text);
        let known_kind = |text: &str| of_aws().any(|signal| signal.detail_types().contains(&text));
        Self {
            filters: filters.map(str::to_owned).collect(),
            is_broad: !only(source, known_source) || !only(kind, known_kind),
            of_auto_scaling: texts(source).contains(&AUTO_SCALING),
            signals,
        }
    }

    /// Whether the targets of such a rule can tell something about a Karpenter.
    pub fn may_concern_karpenter(&self) -> bool {
        !self.signals.is_empty() || self.of_auto_scaling
    }
}

/// The signals that AWS sends.
fn of_aws() -> impl Iterator<Item = Signal> {
    Signal::ALL.into_iter().filter(|signal| signal.source() != PROBE_SOURCE)
}

/// Whether a member accepts a text. Without the member, every text is accepted.
fn accepts(member: Option<&Value>, text: &str) -> bool {
    match member {
        None => true,
        Some(Value::Array(items)) => items.iter().any(|item| accepts_one(item, text)),
        Some(_) => false,
    }
}

fn accepts_one(item: &Value, text: &str) -> bool {
    let operator = match item {
        Value::String(exact) => return exact == text,
        Value::Object(operators) => operators.iter().next(),
        _ => None,
    };
    let Some((operator, value)) = operator else {
        return false;
    };
    match (operator.as_str(), value) {
        ("prefix", Value::String(start)) => text.starts_with(start.as_str()),
        ("suffix", Value::String(end)) => text.ends_with(end.as_str()),
        ("equals-ignore-case", Value::String(other)) => text.eq_ignore_ascii_case(other),
        ("anything-but", Value::String(other)) => text != other,
        ("anything-but", Value::Array(others)) => !others.iter().any(|other| other == text),
        ("exists", Value::Bool(exists)) => *exists,
        _ => true,
    }
}

/// Whether a member lists only texts that are known.
fn only(member: Option<&Value>, is_known: impl Fn(&str) -> bool) -> bool {
    let Some(Value::Array(items)) = member else {
        return false;
    };
    items.iter().all(|item| item.as_str().is_some_and(&is_known))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::scope::tests::scope;

    const SPOT: &str = "EC2 Spot Instance Interruption Warning";
    const HEALTH: &str = "AWS Health Event";

    #[test]
    fn a_pattern_is_read_as_eventbridge_reads_it() {
        use Signal::{CapacityReservation, Rebalance, ScheduledChange, SpotInterruption, StateChange};
        let of_ec2 = [SpotInterruption, StateChange, CapacityReservation, Rebalance];
        let all = [SpotInterruption, StateChange, ScheduledChange, CapacityReservation, Rebalance];
        for (case, pattern, signals, is_broad, filters) in [
            (
                "Karpenter's template",
                json!({"source": ["aws.ec2"], "detail-type": [SPOT]}),
                &[SpotInterruption][..],
                false,
                &[][..],
            ),
            (
                "its rule for health",
                json!({"source": ["aws.health"], "detail-type": [HEALTH]}),
                &[ScheduledChange],
                false,
                &[],
            ),
            (
                "an older name of a signal",
                json!({"source": ["aws.ec2"], "detail-type": ["EC2 Interruptible Capacity Reservation Instance Interruption Warning"]}),
                &[CapacityReservation],
                false,
                &[],
            ),
            (
                "several kinds in one rule",
                json!({"source": ["aws.ec2"], "detail-type": [SPOT, "EC2 Instance Rebalance Recommendation"], "account": ["1"]}),
                &[SpotInterruption, Rebalance],
                false,
                &[],
            ),
            (
                "a filter",
                json!({"source": ["aws.ec2"], "detail-type": [SPOT], "detail": {"a": ["b"]}}),
                &[SpotInterruption],
                false,
                &["detail"],
            ),
            ("every event of EC2", json!({"source": ["aws.ec2"]}), &of_ec2, true, &[]),
            ("every event", json!({"account": ["111122223333"]}), &all, true, &[]),
            ("any source", json!({"detail-type": [SPOT]}), &[SpotInterruption], true, &[]),
            (
                "one unknown kind more",
                json!({"source": ["aws.ec2"], "detail-type": [SPOT, "x"]}),
                &[SpotInterruption],
                true,
                &[],
            ),
            (
                "a prefix",
                json!({"source": [{"prefix": "aws."}], "detail-type": [{"prefix": "EC2 Spot"}]}),
                &[SpotInterruption],
                true,
                &[],
            ),
            (
                "a suffix",
                json!({"source": ["aws.health"], "detail-type": [{"suffix": "Event"}]}),
                &[ScheduledChange],
                true,
                &[],
            ),
            (
                "any case",
                json!({"source": ["aws.health"], "detail-type": [{"equals-ignore-case": "aws health event"}]}),
                &[ScheduledChange],
                true,
                &[],
            ),
            (
                "all but one",
                json!({"source": ["aws.health"], "detail-type": [{"anything-but": HEALTH}]}),
                &[],
                true,
                &[],
            ),
            (
                "all but some",
                json!({"source": ["aws.health"], "detail-type": [{"anything-but": ["x"]}]}),
                &[ScheduledChange],
                true,
                &[],
            ),
            (
                "an operator of tomorrow",
                json!({"source": ["aws.health"], "detail-type": [{"sounds-like": "x"}]}),
                &[ScheduledChange],
                true,
                &[],
            ),
            ("no such member", json!({"source": [{"exists": false}], "detail-type": [HEALTH]}), &[], true, &[]),
            ("alternatives", json!({"$or": [{"source": ["aws.ec2"]}, {"source": ["x"]}]}), &all, true, &["$or"]),
            (
                "a spelling error",
                json!({"source": ["aws.ec2"], "detail-type": ["C2 Instance State-change Notification"]}),
                &[],
                true,
                &[],
            ),
            ("another service", json!({"source": ["aws.s3"], "detail-type": [SPOT]}), &[], true, &[]),
            ("no list", json!({"source": "aws.ec2", "detail-type": [SPOT]}), &[], true, &[]),
            ("numbers and nothing", json!({"source": [1, null, {}]}), &[], true, &[]),
            ("an empty list", json!({"source": [], "detail-type": []}), &[], false, &[]),
        ] {
            let read = RulePattern::from_document(&Document::new(pattern));
            assert_eq!(read.signals, signals.iter().copied().collect(), "{case}");
            assert_eq!(read.is_broad, is_broad, "{case}");
            assert_eq!(read.filters, filters.iter().map(ToString::to_string).collect(), "{case}");
        }
    }

    #[test]
    fn what_is_no_pattern_matches_nothing() {
        for text in [json!("{"), json!(null), json!([]), json!(7)] {
            assert_eq!(RulePattern::from_document(&Document::new(text)), RulePattern::default());
        }
    }

    #[test]
    fn only_a_rule_that_says_so_is_about_auto_scaling() {
        for (pattern, of_auto_scaling) in [
            (json!({"source": ["aws.autoscaling"], "detail-type": ["EC2 Instance-terminate Lifecycle Action"]}), true),
            (json!({"source": ["aws.ec2", "aws.autoscaling"]}), true),
            (json!({"source": ["aws.ec2"], "detail-type": [SPOT]}), false),
        ] {
            let read = RulePattern::from_document(&Document::new(pattern));
            assert_eq!(read.of_auto_scaling, of_auto_scaling);
            assert!(read.may_concern_karpenter());
        }
    }

    #[test]
    fn a_rule_of_kibus_matches_its_signal_and_has_filters() {
        for signal in of_aws() {
            let read = RulePattern::from_document(&signal.pattern(&scope().account));
            assert_eq!(read.signals, BTreeSet::from([signal]));
            assert!(read.filters.contains("replay-name") && !read.is_broad, "{signal:?}");
        }
    }
}
