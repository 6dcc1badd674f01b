//! Rules on the default event bus, whoever created them, and which of Karpenter's events their patterns match (EventBridge user
//! guide, "Comparison operators for use in event patterns").

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::error::listed;
use crate::model::{
    AccountId, Document, Region, RuleName, Signal,
    signal::{DetailFilter, PROBE_SOURCE},
    texts,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRule {
    pub name: RuleName,
    /// Its event pattern; `None` for a rule by schedule.
    pub pattern: Option<Document>,
    pub enabled: bool,
    /// The AWS service that created it and manages it, if one did.
    pub managed_by: Option<String>,
}

impl EventRule {
    /// What it matches of the events of an account.
    pub fn matched(&self, account: &AccountId) -> RulePattern {
        self.pattern.as_ref().map(|pattern| RulePattern::from_document(pattern, account)).unwrap_or_default()
    }
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
/// The members of an event (EventBridge user guide, "Event structure"). A pattern without one matches any value.
const ENVELOPE: [&str; 9] =
    ["version", "id", "detail-type", "source", "account", "time", "region", "resources", "detail"];
/// The member that only an event of a replay has.
const REPLAY: &str = "replay-name";
const OR: &str = "$or";
/// What a pattern says of a member that an event must not have.
const ABSENT: &str = r#"{"exists":false}"#;

/// What a pattern matches, as far as Karpenter is concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulePattern {
    /// The signals of which it matches some events, or may.
    pub signals: BTreeSet<Signal>,
    /// The members by which it asks for events of these kinds that the rules of the hub do not match, or may. A filter that only
    /// leaves out some of the hub's events is not one of them.
    pub further: BTreeSet<String>,
    /// Whether it matches events that Karpenter does not know, or may.
    pub is_broad: bool,
    /// Whether it names EC2 Auto Scaling as a source.
    pub of_auto_scaling: bool,
    /// Why it matches no event, though it asks for some of Karpenter's.
    pub nothing: Option<String>,
}

impl RulePattern {
    /// What a pattern matches. Text that is no pattern matches nothing. An operator that kibus does not know may match.
    pub fn from_document(pattern: &Document, account: &AccountId) -> Self {
        let Value::Object(members) = pattern.value() else {
            return Self::default();
        };
        let [source, kind] = KIND.map(|name| members.get(name));
        let is_source = |text: &str, signal: &Signal| text.eq_ignore_ascii_case(signal.source());
        let is_kind =
            |text: &str, signal: &Signal| signal.detail_types().iter().any(|name| text.eq_ignore_ascii_case(name));
        let mut found = Self {
            is_broad: !only(source, is_source) || !only(kind, is_kind),
            of_auto_scaling: texts(source).contains(&AUTO_SCALING),
            ..Self::default()
        };
        if !found.is_broad {
            found.nothing = Some("AWS sends no event with this `source` and `detail-type`".to_owned());
        }
        let matches = |signal: &Signal| {
            let mut kinds = signal.detail_types().iter();
            accepts(source, signal.source()) && kinds.any(|name| accepts(kind, name))
        };
        for signal in of_aws().filter(matches) {
            match further(members, signal, account) {
                Ok(further) => {
                    found.signals.insert(signal);
                    found.further.extend(further);
                }
                Err(why) => found.nothing = Some(why),
            }
        }
        found.nothing = found.nothing.filter(|_| found.signals.is_empty());
        found
    }

    /// Whether it asks for events of Karpenter.
    pub fn is_of_karpenter(&self) -> bool {
        !self.signals.is_empty() || self.nothing.is_some()
    }

    /// Whether the targets of such a rule can tell something about a Karpenter.
    pub fn may_concern_karpenter(&self) -> bool {
        self.is_of_karpenter() || self.of_auto_scaling
    }
}

/// The members by which a pattern asks for events of a signal that the hub's rule does not match, or why it matches none.
fn further(members: &Map<String, Value>, signal: Signal, account: &AccountId) -> Result<Vec<String>, String> {
    let mut further = Vec::new();
    for (name, asked) in members {
        let accepts_absence = || asked.to_string().contains(ABSENT);
        match (name.as_str(), asked) {
            ("account", _) if accepts(Some(asked), account.as_str()) => {}
            ("detail", Value::Object(detail)) => {
                for filter in signal.filters() {
                    if let Some(asked) = detail.get(filter.member)
                        && is_further(asked, filter)?
                    {
                        further.push(format!("detail.{}", filter.member));
                    }
                }
                further.extend(detail.contains_key(OR).then(|| format!("detail.{OR}")));
            }
            (REPLAY, _) if accepts_absence() => {}
            ("account" | "detail" | REPLAY | OR, _) => further.push(name.clone()),
            (name, _) if ENVELOPE.contains(&name) || accepts_absence() => {}
            (name, _) => return Err(format!("no event has the member `{}`", name.escape_debug())),
        }
    }
    Ok(further)
}

/// Whether values of a member of the detail let in events that the hub's own filter does not, or why none can occur.
fn is_further(asked: &Value, filter: &DetailFilter) -> Result<bool, String> {
    let items = asked.as_array().map_or(&[][..], Vec::as_slice);
    let is_within = |item: &Value| {
        let text = item.as_str().or(item["equals-ignore-case"].as_str());
        text.is_some_and(|text| filter.values.iter().any(|known| known.eq_ignore_ascii_case(text)))
    };
    let is_misspelled = |item: &Value| item.as_str().is_some_and(|text| filter.accepted(text).is_none());
    if items.is_empty() || !items.iter().all(is_within) {
        Ok(true)
    } else if items.iter().all(is_misspelled) {
        Err(format!("AWS writes {} in `detail.{}`", listed(filter.values), filter.member))
    } else {
        Ok(false)
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

/// Whether a member lists only texts that a signal has.
fn only(member: Option<&Value>, has: impl Fn(&str, &Signal) -> bool) -> bool {
    let Some(Value::Array(items)) = member else {
        return false;
    };
    items.iter().all(|item| item.as_str().is_some_and(|text| of_aws().any(|signal| has(text, &signal))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::scope::tests::scope;

    const SPOT: &str = "EC2 Spot Instance Interruption Warning";
    const HEALTH: &str = "AWS Health Event";
    const STATE: &str = "EC2 Instance State-change Notification";

    fn read(pattern: Value) -> RulePattern {
        RulePattern::from_document(&Document::new(pattern), &scope().account)
    }

    #[test]
    fn a_pattern_is_read_as_eventbridge_reads_it() {
        use Signal::{CapacityReservation, Rebalance, ScheduledChange, SpotInterruption, StateChange};
        let of_ec2 = [SpotInterruption, StateChange, CapacityReservation, Rebalance];
        let all = [SpotInterruption, StateChange, ScheduledChange, CapacityReservation, Rebalance];
        for (case, pattern, signals, is_broad, further) in [
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
                json!({"source": ["aws.ec2"], "detail-type": [SPOT, "EC2 Instance Rebalance Recommendation"], "account": ["111122223333"]}),
                &[SpotInterruption, Rebalance],
                false,
                &[],
            ),
            (
                "a filter that leaves out some",
                json!({"source": ["aws.ec2"], "detail-type": [SPOT], "detail": {"instance-id": ["i-1"]}, "region": ["eu-west-1"]}),
                &[SpotInterruption],
                false,
                &[],
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
            let read = read(pattern);
            assert_eq!(read.signals, signals.iter().copied().collect(), "{case}");
            assert_eq!(read.is_broad, is_broad, "{case}");
            assert_eq!(read.further, further.iter().map(ToString::to_string).collect(), "{case}");
        }
    }

    /// The members of three real patterns, and their siblings.
    #[test]
    fn a_filter_is_compared_with_that_of_the_signal() {
        let state = |values: Value| json!({"source": ["aws.ec2"], "detail-type": [STATE], "detail": {"state": values}});
        let health = |detail: Value| json!({"source": ["aws.health"], "detail-type": [HEALTH], "detail": detail});
        let spot = |member: &str, value: Value| json!({"source": ["aws.ec2"], "detail-type": [SPOT], member: value});
        let ec2 = "AWS writes `EC2` in `detail.service`";
        for (pattern, further, nothing) in [
            (state(json!(["terminated", "Stopping", {"equals-ignore-case": "STOPPED"}])), &[][..], None),
            (state(json!(["terminated", "running"])), &["detail.state"], None),
            (state(json!([{"anything-but": ["running"]}])), &["detail.state"], None),
            (state(json!([])), &["detail.state"], None),
            (health(json!({"service": ["EC2"], "eventTypeCategory": ["scheduledChange"]})), &[], None),
            (health(json!({"service": ["EC2"], "eventTypeCategory": ["issue"]})), &["detail.eventTypeCategory"], None),
            (health(json!({"service": ["EC2", "RDS"]})), &["detail.service"], None),
            (health(json!({"service": ["ec2", "EC2"]})), &[], None),
            (health(json!({"service": ["ec2"]})), &[], Some(ec2)),
            (health(json!({"$or": [{"service": ["RDS"]}]})), &["detail.$or"], None),
            (health(json!([{"exists": true}])), &["detail"], None),
            (spot("account", json!(["111122223333"])), &[], None),
            (spot("account", json!(["444455556666"])), &["account"], None),
            (spot("replay-name", json!([{"exists": false}])), &[], None),
            (spot("replay-name", json!([{"exists": true}])), &["replay-name"], None),
            (spot("detail_type", json!([SPOT])), &[], Some("no event has the member `detail_type`")),
            (spot("details", json!({"x": [{"exists": false}]})), &[], None),
        ] {
            let case = pattern.to_string();
            let read = read(pattern);
            assert_eq!(read.further, further.iter().map(ToString::to_string).collect(), "{case}");
            assert_eq!(read.nothing.as_deref(), nothing, "{case}");
            assert_eq!(read.signals.is_empty(), nothing.is_some(), "{case}");
        }
        let kinds = Some("AWS sends no event with this `source` and `detail-type`");
        for (source, kind, nothing) in [
            ("aws.health", SPOT, kinds),
            ("aws.ec2", "EC2 spot instance interruption warning", kinds),
            ("aws.ec2", "EC2 Instance Launch Successful", None),
            ("my.app", SPOT, None),
        ] {
            let read = read(json!({"source": [source], "detail-type": [kind]}));
            assert_eq!((read.nothing.as_deref(), read.signals.is_empty()), (nothing, true), "{source} {kind}");
        }
    }

    #[test]
    fn what_is_no_pattern_matches_nothing() {
        for text in [json!("{"), json!(null), json!([]), json!(7)] {
            assert_eq!(read(text), RulePattern::default());
        }
    }

    #[test]
    fn only_a_rule_that_says_so_is_about_auto_scaling() {
        for (pattern, of_auto_scaling) in [
            (json!({"source": ["aws.autoscaling"], "detail-type": ["EC2 Instance-terminate Lifecycle Action"]}), true),
            (json!({"source": ["aws.ec2", "aws.autoscaling"]}), true),
            (json!({"source": ["aws.ec2"], "detail-type": [SPOT]}), false),
        ] {
            let read = read(pattern);
            assert_eq!(read.of_auto_scaling, of_auto_scaling);
            assert!(read.may_concern_karpenter());
        }
    }

    #[test]
    fn a_rule_of_kibus_matches_its_signal_and_nothing_further() {
        for signal in of_aws() {
            let read = read(signal.pattern(&scope().account).value().clone());
            assert_eq!(read, RulePattern { signals: [signal].into(), ..RulePattern::default() });
        }
    }
}
