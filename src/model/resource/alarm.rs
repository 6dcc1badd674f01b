//! CloudWatch alarms.

use std::collections::BTreeMap;

use serde_json::Value;

use super::particulars::{Edge, Particulars, Tie, fields};
use super::record::follows_record;
use super::{PolicyName, Resource, ResourceId};
use crate::model::{
    ClusterName, Document, Scope, Tags, duration_text,
    name::{all, names},
    scope::LIVE,
};

names! {
    /// The name of an alarm (CloudWatch API reference, `PutMetricAlarm`).
    AlarmName: "alarm name",
        "1 to 255 letters, digits, `-` and `_`",
        |s| !s.is_empty() && s.len() <= 255 && all(s, "-_");
}

fields! {
    AlarmField of Alarm {
        name: _, // names the resource
        definition,
        tags: _, // compared key by key
    } {
        Definition = "definition": definition.clone(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alarm {
    pub name: AlarmName,
    /// The request that creates it, without its name and its tags: a call replaces all of it.
    pub definition: Document,
    pub tags: Tags,
}

/// The member with the grace period before a new or changed alarm evaluates missing data (CloudWatch API reference,
/// `PutMetricAlarm`).
pub const WARM_UP: &str = "WarmUpConfiguration";

impl Scope {
    pub fn alarm_arn(&self, alarm: &AlarmName) -> String {
        self.arn("cloudwatch", &format!("alarm:{alarm}"))
    }
}

impl Particulars for Alarm {
    fn cluster(&self, scope: &Scope, _policies: &BTreeMap<PolicyName, ClusterName>) -> Option<ClusterName> {
        self.tags.cluster_of(&scope.bus)
    }

    fn edges(&self, scope: &Scope) -> Vec<Edge> {
        if self.tags.cluster_of(&scope.bus).is_some() {
            return vec![follows_record()];
        }
        let mapping = ResourceId::EventSourceMapping(scope.hub_queue(), scope.router_function(), LIVE.to_owned());
        vec![Tie::Needs.to(mapping, "an alarm on a hub that does not work yet, or no longer works, would page someone")]
    }

    /// Where CloudWatch does not support the warm-up yet, it ignores and does not return the member.
    fn comparable(&self, observed: &Resource) -> Option<Resource> {
        let mut without = self.clone();
        without.definition.value_mut().as_object_mut()?.remove(WARM_UP)?;
        (without.definition == observed.as_alarm()?.definition).then_some(Resource::Alarm(without))
    }

    fn summary(&self) -> String {
        let definition = self.definition.value();
        let number = |member: &str| definition[member].as_u64().unwrap_or_default();
        let comparison = match definition["ComparisonOperator"].as_str() {
            Some("GreaterThanThreshold") => "above",
            Some("LessThanThreshold") => "below",
            _ => "at",
        };
        let result = definition["Metrics"].as_array().and_then(|metrics| metrics.last()?["Label"].as_str());
        let metric = definition["MetricName"].as_str().or(result).unwrap_or("a calculation");
        let (breaches, periods) = (number("DatapointsToAlarm"), number("EvaluationPeriods"));
        let period = number("Period").max(definition["Metrics"][0]["MetricStat"]["Period"].as_u64().unwrap_or(60));
        let within = duration_text(period * periods);
        match definition["Threshold"].as_u64() {
            Some(threshold) if periods == 1 => format!("{metric} {comparison} {threshold}"),
            Some(threshold) => format!("{metric} {comparison} {threshold}, {breaches} of {periods} times in {within}"),
            None => Value::to_string(&definition["Threshold"]),
        }
    }
}
