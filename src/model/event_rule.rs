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
    /// Which events of an account it matches.
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

/// The default quota for rules per event bus (Service Quotas, Amazon EventBridge).
pub fn rule_limit(region: &Region) -> usize {
    match region.as_str() {
        "af-south-1" | "eu-south-1" => 100,
        _ => 300,
    }
}

/// The source of events for which the node termination handler has a rule, but Karpenter has none.
const AUTO_SCALING: &str = "aws.autoscaling";
/// Members of a pattern that define which kind of event it matches.
const KIND: [&str; 2] = ["source", "detail-type"];
/// The members of an event (EventBridge user guide, "Event structure"). A pattern without one matches any value.
const ENVELOPE: [&str; 9] =
    ["version", "id", "detail-type", "source", "account", "time", "region", "resources", "detail"];
/// The member that only replayed events have.
const REPLAY: &str = "replay-name";
const OR: &str = "$or";
/// The pattern value for a member that an event must not have.
const ABSENT: &str = r#"{"exists":false}"#;

/// What a pattern matches, as far as it concerns Karpenter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulePattern {
    /// The signals of which it matches, or may match, some events.
    pub signals: BTreeSet<Signal>,
    /// The members by which it matches, or may match, events of these kinds that the rules of the hub do not match. A
    /// filter that only excludes some of the hub's events is not one of them.
    pub further: BTreeSet<String>,
    /// Whether it matches, or may match, events that Karpenter does not handle.
    pub is_broad: bool,
    /// Whether it names EC2 Auto Scaling as a source.
    pub of_auto_scaling: bool,
    /// Why it matches no event, although it is meant for some of Karpenter's events.
    pub nothing: Option<String>,
}

impl RulePattern {
    /// What a pattern matches. Text that is not a pattern matches nothing. An operator that kibus does not know may match.
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

    /// Whether it is for Karpenter's events.
    pub fn is_of_karpenter(&self) -> bool {
        !self.signals.is_empty() || self.nothing.is_some()
    }

    /// Whether the targets of such a rule can be evidence of a Karpenter.
    pub fn may_concern_karpenter(&self) -> bool {
        self.is_of_karpenter() || self.of_auto_scaling
    }
}

/// The members by which a pattern matches events of a signal that the hub's rule does not match, or why it matches none.
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
            (name, _) => return Err(format!("events do not have the member `{}`", name.escape_debug())),
        }
    }
    Ok(further)
}

/// Whether the values of a detail member match events that the hub's own filter does not, or why none can occur.
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
    use crate::model::table::{cell, rows};

    const SPOT: &str = "EC2 Spot Instance Interruption Warning";
    const HEALTH: &str = "AWS Health Event";

    fn read(pattern: Value) -> RulePattern {
        RulePattern::from_document(&Document::new(pattern), &scope().account)
    }

    fn read_text(pattern: &str) -> RulePattern {
        read(serde_json::from_str(pattern).unwrap())
    }

    /// The pattern, the signals that it matches, whether it is broad, and what it filters further.
    #[test]
    fn a_pattern_is_read_as_eventbridge_reads_it() {
        let of_ec2 = "SpotInterruption StateChange CapacityReservation Rebalance";
        let all = "SpotInterruption StateChange CapacityReservation Rebalance ScheduledChange";
        let table = r#"
            Karpenter's template            | {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]} | SpotInterruption | false |
            its rule for health             | {"source": ["aws.health"], "detail-type": ["AWS Health Event"]} | ScheduledChange | false |
            an older name of a signal       | {"source": ["aws.ec2"], "detail-type": ["EC2 Interruptible Capacity Reservation Instance Interruption Warning"]} | CapacityReservation | false |
            several kinds in one rule       | {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation"], "account": ["111122223333"]} | SpotInterruption Rebalance | false |
            a filter that leaves out some   | {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"], "detail": {"instance-id": ["i-1"]}, "region": ["eu-west-1"]} | SpotInterruption | false |
            every event of EC2              | {"source": ["aws.ec2"]} | of EC2 | true |
            every event                     | {"account": ["111122223333"]} | all | true |
            any source                      | {"detail-type": ["EC2 Spot Instance Interruption Warning"]} | SpotInterruption | true |
            one unknown kind more           | {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning", "x"]} | SpotInterruption | true |
            a prefix                        | {"source": [{"prefix": "aws."}], "detail-type": [{"prefix": "EC2 Spot"}]} | SpotInterruption | true |
            a suffix                        | {"source": ["aws.health"], "detail-type": [{"suffix": "Event"}]} | ScheduledChange | true |
            any case                        | {"source": ["aws.health"], "detail-type": [{"equals-ignore-case": "aws health event"}]} | ScheduledChange | true |
            all but one                     | {"source": ["aws.health"], "detail-type": [{"anything-but": "AWS Health Event"}]} | | true |
            all but some                    | {"source": ["aws.health"], "detail-type": [{"anything-but": ["x"]}]} | ScheduledChange | true |
            an operator of tomorrow         | {"source": ["aws.health"], "detail-type": [{"sounds-like": "x"}]} | ScheduledChange | true |
            no such member                  | {"source": [{"exists": false}], "detail-type": ["AWS Health Event"]} | | true |
            alternatives                    | {"$or": [{"source": ["aws.ec2"]}, {"source": ["x"]}]} | all | true | $or
            a spelling error                | {"source": ["aws.ec2"], "detail-type": ["C2 Instance State-change Notification"]} | | true |
            another service                 | {"source": ["aws.s3"], "detail-type": ["EC2 Spot Instance Interruption Warning"]} | | true |
            no list                         | {"source": "aws.ec2", "detail-type": ["EC2 Spot Instance Interruption Warning"]} | | true |
            numbers and nothing             | {"source": [1, null, {}]} | | true |
            an empty list                   | {"source": [], "detail-type": []} | | false |"#;
        for [case, pattern, signals, is_broad, further] in rows(table) {
            let read = read_text(pattern);
            let signals = signals.replace("of EC2", of_ec2).replace("all", all);
            let found = read.signals.iter().map(|signal| format!("{signal:?}")).collect::<BTreeSet<_>>();
            assert_eq!(found, signals.split_whitespace().map(str::to_owned).collect(), "{case}");
            assert_eq!(read.is_broad.to_string(), is_broad, "{case}");
            assert_eq!(read.further, further.split_whitespace().map(str::to_owned).collect(), "{case}");
        }
    }

    /// The members of three real patterns, and similar ones: further filters, and why nothing matches.
    #[test]
    fn a_filter_is_compared_with_that_of_the_signal() {
        let table = r#"
            EC2 Instance State-change Notification | "detail": {"state": ["terminated", "Stopping", {"equals-ignore-case": "STOPPED"}]} | - | -
            EC2 Instance State-change Notification | "detail": {"state": ["terminated", "running"]}                    | detail.state             | -
            EC2 Instance State-change Notification | "detail": {"state": [{"anything-but": ["running"]}]}              | detail.state             | -
            EC2 Instance State-change Notification | "detail": {"state": []}                                           | detail.state             | -
            AWS Health Event | "detail": {"service": ["EC2"], "eventTypeCategory": ["scheduledChange"]}                | -                        | -
            AWS Health Event | "detail": {"service": ["EC2"], "eventTypeCategory": ["issue"]}                          | detail.eventTypeCategory | -
            AWS Health Event | "detail": {"service": ["EC2", "RDS"]}                                                   | detail.service           | -
            AWS Health Event | "detail": {"service": ["ec2", "EC2"]}                                                   | -                        | -
            AWS Health Event | "detail": {"service": ["ec2"]} | - | AWS writes `EC2` in `detail.service`
            AWS Health Event | "detail": {"$or": [{"service": ["RDS"]}]}                                               | detail.$or               | -
            AWS Health Event | "detail": [{"exists": true}]                                                            | detail                   | -
            EC2 Spot Instance Interruption Warning | "account": ["111122223333"]                                       | -                        | -
            EC2 Spot Instance Interruption Warning | "account": ["444455556666"]                                       | account                  | -
            EC2 Spot Instance Interruption Warning | "replay-name": [{"exists": false}]                                | -                        | -
            EC2 Spot Instance Interruption Warning | "replay-name": [{"exists": true}]                                 | replay-name              | -
            EC2 Spot Instance Interruption Warning | "detail_type": ["x"] | - | events do not have the member `detail_type`
            EC2 Spot Instance Interruption Warning | "details": {"x": [{"exists": false}]}                             | -                        | -"#;
        for [kind, member, further, nothing] in rows(table) {
            let source = if kind == HEALTH { "aws.health" } else { "aws.ec2" };
            let read = read_text(&format!(r#"{{"source": ["{source}"], "detail-type": ["{kind}"], {member}}}"#));
            assert_eq!(read.further, cell(further).into_iter().map(str::to_owned).collect(), "{kind} {member}");
            assert_eq!((read.nothing.as_deref(), read.signals.is_empty()), (cell(nothing), nothing != "-"), "{member}");
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
        let table = r#"
            {"source": ["aws.autoscaling"], "detail-type": ["EC2 Instance-terminate Lifecycle Action"]} | true
            {"source": ["aws.ec2", "aws.autoscaling"]} | true
            {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]} | false"#;
        for [pattern, of_auto_scaling] in rows(table) {
            let read = read_text(pattern);
            assert_eq!(read.of_auto_scaling.to_string(), of_auto_scaling, "{pattern}");
            assert!(read.may_concern_karpenter(), "{pattern}");
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
