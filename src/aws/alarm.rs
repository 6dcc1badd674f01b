//! CloudWatch alarms.

use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::error::if_present;
use super::read::whole;
use super::write::{Changes, Update, Writing};
use super::{AwsCloud, still_absent};
use crate::cloud::Fault;
use crate::model::{Alarm, AlarmField, AlarmName, AlarmState, Document, ResourceId, Tags, WARM_UP, calls::cloudwatch};

/// The members of an answer that are compared: those that kibus sends, and others that determine when the alarm fires or what it notifies
/// (CloudWatch API reference, `MetricAlarm`). CloudWatch adds new members over time, and may return them with defaults.
const COMPARED: [&str; 21] = [
    "ActionsEnabled",
    "AlarmActions",
    "AlarmDescription",
    "ComparisonOperator",
    "DatapointsToAlarm",
    "Dimensions",
    "EvaluationPeriods",
    "EvaluationWindow",
    "ExtendedStatistic",
    "InsufficientDataActions",
    "MetricName",
    "Metrics",
    "Namespace",
    "OKActions",
    "Period",
    "Statistic",
    "Threshold",
    "ThresholdMetricId",
    "TreatMissingData",
    "Unit",
    WARM_UP,
];

pub(super) async fn read(cloud: &AwsCloud, name: &AlarmName) -> Result<Option<(Alarm, AlarmState)>, Fault> {
    let tags = async {
        let input = json!({ "ResourceARN": cloud.scope.alarm_arn(name) });
        let answer = cloud.json::<Value>(&cloud.metrics, cloudwatch::LIST_TAGS_FOR_RESOURCE, input);
        if_present(answer.await)
    };
    let described = async {
        let input = json!({ "AlarmNames": [name.as_str()], "AlarmTypes": ["MetricAlarm"] });
        let answer: Value = cloud.json(&cloud.metrics, cloudwatch::DESCRIBE_ALARMS, input).await?;
        Ok(answer["MetricAlarms"][0].as_object().cloned())
    };
    let (Some(alarm), Some(tags)) = tokio::try_join!(described, tags)? else {
        return Ok(None);
    };
    let text = |tag: &Value, member: &str| tag[member].as_str().map(str::to_owned);
    let tags = tags["Tags"].as_array().into_iter().flatten();
    let tags = tags.filter_map(|tag| Some((text(tag, "Key")?, text(tag, "Value")?)));
    let changed =
        ["StateTransitionedTimestamp", "StateUpdatedTimestamp"].iter().find_map(|member| alarm.get(*member)?.as_f64());
    let state =
        AlarmState { fires: alarm.get("StateValue").is_some_and(|state| state == "ALARM"), since: changed.map(whole) };
    let alarm = Alarm { name: name.clone(), definition: Document::new(definition(alarm)), tags: tags.collect() };
    Ok(Some((alarm, state)))
}

/// The request that creates an alarm like the one in an answer. Empty members and a default window count as not set.
fn definition(mut alarm: Map<String, Value>) -> Value {
    alarm.retain(|member, value| {
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        !is_empty && value.get("SlidingWindow").is_none() && COMPARED.contains(&member.as_str())
    });
    if let Some(Value::Object(warm_up)) = alarm.get_mut(WARM_UP) {
        warm_up.retain(|member, _| member == "WarmUpPeriodDurationInMinutes");
    }
    // CloudWatch returns every threshold with a fraction.
    if let Some(threshold) = alarm.get_mut("Threshold")
        && let Some(number) = threshold.as_f64().and_then(|number| format!("{number}").parse::<i64>().ok())
    {
        *threshold = json!(number);
    }
    Value::Object(alarm)
}

pub(super) async fn create(cloud: &Writing<'_>, alarm: &Alarm) -> Result<(), Fault> {
    // The call silently replaces an alarm of this name.
    still_absent(cloud, cloudwatch::PUT_METRIC_ALARM, &ResourceId::Alarm(alarm.name.clone())).await?;
    put(cloud, alarm).await
}

pub(super) async fn update(cloud: &Writing<'_>, update: Update<'_, Alarm>) -> Result<(), Fault> {
    let Changes { fields, tags } = Changes::among(cloudwatch::PUT_METRIC_ALARM, update.fields)?;
    for field in fields {
        match field {
            // CloudWatch ignores the tags of an alarm that exists (API reference, `PutMetricAlarm`).
            AlarmField::Definition => put(cloud, update.to).await?,
        }
    }
    let arn = cloud.scope.alarm_arn(&update.to.name);
    let untag = json!({ "ResourceARN": arn, "TagKeys": tags.remove });
    let tag = json!({ "ResourceARN": arn, "Tags": listed(&tags.set) });
    tags.write(
        cloud.json::<IgnoredAny>(&cloud.metrics, cloudwatch::UNTAG_RESOURCE, untag),
        cloud.json::<IgnoredAny>(&cloud.metrics, cloudwatch::TAG_RESOURCE, tag),
    )
    .await
}

pub(super) async fn delete(cloud: &Writing<'_>, name: &AlarmName) -> Result<(), Fault> {
    let input = json!({ "AlarmNames": [name.as_str()] });
    let send = || cloud.json::<IgnoredAny>(&cloud.metrics, cloudwatch::DELETE_ALARMS, input.clone());
    if_present(cloud.until_seen(cloudwatch::DELETE_ALARMS, &[], send).await).map(drop)
}

async fn put(cloud: &Writing<'_>, alarm: &Alarm) -> Result<(), Fault> {
    let mut input = alarm.definition.value().clone();
    input["AlarmName"] = json!(alarm.name);
    input["Tags"] = json!(listed(&alarm.tags));
    let send = || cloud.json::<IgnoredAny>(&cloud.metrics, cloudwatch::PUT_METRIC_ALARM, input.clone());
    cloud.until_seen(cloudwatch::PUT_METRIC_ALARM, &[], send).await.map(drop)
}

fn listed(tags: &Tags) -> Vec<Value> {
    let tags = tags.0.iter();
    tags.map(|(key, value)| json!({ "Key": key, "Value": value })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Resource, scope::tests::scope, table::rows, watch::reader_alarm};
    use crate::plan::diff;

    /// A6: CloudWatch adds members to its answers, and may not know one in the request.
    #[test]
    fn what_cloudwatch_adds_or_leaves_out_is_no_difference() {
        let (base, queue) = ("base".parse().unwrap(), "q".parse().unwrap());
        let wanted = reader_alarm(&scope(), &Default::default(), &base, &queue).unwrap();
        let table = r#"
            {} | true
            {"StateValue": "OK", "Invented": 1, "InsufficientDataActions": [], "Threshold": 1.0} | true
            {"EvaluationWindow": {"SlidingWindow": {}}, "EvaluationInterval": 60} | true
            {"WarmUpConfiguration": null} | true
            {"WarmUpConfiguration": {"WarmUpPeriodDurationInMinutes": 60, "OnlyStartEvaluatingAfterWarmUpPeriodEnds": false}} | true
            {"WarmUpConfiguration": {"WarmUpPeriodDurationInMinutes": 2880}} | false
            {"EvaluationWindow": {"WallClockWindow": {}}} | false
            {"ActionsEnabled": false} | false
            {"InsufficientDataActions": ["arn"]} | false
            {"Unit": "Bytes"} | false
            {"Threshold": null, "WarmUpConfiguration": null} | false"#;
        for [more, same] in rows(table) {
            let mut answer = wanted.definition.value().as_object().unwrap().clone();
            answer.extend(serde_json::from_str::<Map<String, Value>>(more).unwrap());
            let seen = Alarm { definition: Document::new(definition(answer)), ..wanted.clone() };
            let changes = diff(&Resource::Alarm(wanted.clone()), &Resource::Alarm(seen), &Default::default());
            assert_eq!(changes.is_empty().to_string(), same, "{more}: {changes:?}");
        }
    }
}
