//! The alarms and the dashboard of a hub. An alarm fires while events are lost or late, or are about to be. None
//! watches the age of the oldest message: SQS ignores messages that were received three times or more, which are the
//! ones that the router returns (SQS developer guide, "Available CloudWatch metrics for Amazon SQS").

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::document::{Document, fill_members, fill_template};
use super::name::{ClusterName, QueueName};
use super::options::{ClusterMetrics, HubOptions};
use super::resource::{Alarm, AlarmName, Dashboard, Resource, ResourceId};
use super::scope::{Scope, fixed};
use super::signal::Signal;
use super::tags::{CLUSTER, Tags};

/// The alarms of a hub with these options.
pub fn alarms(scope: &Scope, options: &HubOptions) -> Vec<Resource> {
    let templates = templates(scope, options).into_iter();
    let alarms = templates.flat_map(|(template, values)| filled(scope, options, template, &values));
    alarms.map(Resource::Alarm).collect()
}

/// The ids of these alarms, without their content: every pass over a hub requests them.
pub fn alarm_ids(scope: &Scope, options: &HubOptions) -> BTreeSet<ResourceId> {
    let templates = templates(scope, options).into_iter();
    let names = templates.flat_map(|(template, values)| fill_members(template, "AlarmName", &values));
    names.map(|name| ResourceId::Alarm(fixed(name))).collect()
}

/// The templates of the alarms of a hub with these options, each with its values.
fn templates(scope: &Scope, options: &HubOptions) -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
    let bus = || [("bus", scope.bus.as_str().into()), ("region", scope.region.as_str().into())];
    let of_hub = [
        ("function", scope.router_function().as_str().into()),
        ("hub", scope.hub_queue().as_str().into()),
        ("dead_letters", scope.dead_letter_queue().as_str().into()),
    ];
    let mut templates =
        vec![(include_str!("../../templates/alarms/hub.json"), bus().into_iter().chain(of_hub).collect())];
    if options.has_heartbeat() {
        templates.push((include_str!("../../templates/alarms/heartbeat.json"), bus().into()));
    }
    for signal in Signal::ALL.into_iter().filter(|signal| options.has_rule(*signal)) {
        let of_rule = bus().into_iter().chain([("rule", scope.rule(signal).as_str().into())]);
        templates.push((include_str!("../../templates/alarms/rule.json"), of_rule.collect()));
    }
    templates
}

pub fn reader_alarm_name(scope: &Scope, cluster: &ClusterName) -> AlarmName {
    fixed(format!("{}-reader-{cluster}", scope.bus))
}

/// The alarm of a cluster: nothing polls its queue. It also fires if SQS reports no data.
pub fn reader_alarm(scope: &Scope, options: &HubOptions, cluster: &ClusterName, queue: &QueueName) -> Option<Alarm> {
    let values = [
        ("bus", scope.bus.as_str().into()),
        ("region", scope.region.as_str().into()),
        ("cluster", cluster.as_str().into()),
        ("queue", queue.as_str().into()),
    ];
    let template = include_str!("../../templates/alarms/reader.json");
    let alarm = filled(scope, options, template, &values).pop()?;
    let tags = alarm.tags.with(CLUSTER, cluster.as_str());
    let name = reader_alarm_name(scope, cluster);
    Some(Alarm { name, tags, ..alarm })
}

/// The alarms of a template, which contains the requests that create them, without the members that most of them share.
fn filled(scope: &Scope, options: &HubOptions, template: &str, values: &[(&str, Value)]) -> Vec<Alarm> {
    let document = fill_template(template, values);
    let topic = options.alarm_topic().map(|topic| json!([scope.topic_arn(topic)]));
    let alarm = |request: &Value| {
        let mut members = request.as_object()?.clone();
        let name = members.remove("AlarmName")?.as_str()?.to_owned();
        for (member, value) in [
            ("ActionsEnabled", Some(true.into())),
            ("ComparisonOperator", Some("GreaterThanThreshold".into())),
            ("TreatMissingData", Some("notBreaching".into())),
            ("AlarmActions", topic.clone()),
            ("OKActions", topic.clone()),
        ] {
            members.extend(value.filter(|_| !members.contains_key(member)).map(|value| (member.to_owned(), value)));
        }
        Some(Alarm {
            name: fixed(name),
            definition: Document::new(Value::Object(members)),
            tags: Tags::of_bus(&scope.bus).with_all(&options.tags()),
        })
    };
    document.value().as_array().into_iter().flatten().filter_map(alarm).collect()
}

/// The dashboard of a hub with these options.
pub fn dashboard(scope: &Scope, options: &HubOptions) -> Dashboard {
    let bus = scope.bus.as_str();
    // The busiest clusters, because a graph of hundreds of lines shows nothing.
    let (search, label) = match options.cluster_metrics() {
        // SQS's own metric is free. A search matches whole words of a name, so this finds each queue with those of the template.
        ClusterMetrics::None => {
            let template = options.queue_template();
            let fixed = template.as_str().replace("{cluster}", " ");
            let words = fixed.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
            let names: String = words.map(|word| format!(" QueueName={word}")).collect();
            (format!("{{AWS/SQS,QueueName}} MetricName=\"NumberOfMessagesSent\"{names}"), "QueueName")
        }
        ClusterMetrics::Cluster | ClusterMetrics::NodePool => {
            (format!("{{Kibus,bus,cluster}} bus=\"{bus}\" MetricName=\"Delivered\""), "cluster")
        }
    };
    let expression = format!("SORT(SEARCH('{search}', 'Sum', 300), SUM, DESC, 20)");
    let delivered = json!([[{"expression": expression, "label": format!("${{PROP('Dim.{label}')}}")}]]);
    let heartbeat = if options.has_heartbeat() { "one every 5 minutes" } else { "switched off" };
    let values = [
        ("marker", scope.dashboard_marker().into()),
        ("bus", bus.into()),
        ("region", scope.region.as_str().into()),
        ("function", scope.router_function().as_str().into()),
        ("hub", scope.hub_queue().as_str().into()),
        ("dead_letters", scope.dead_letter_queue().as_str().into()),
        ("delivered", delivered),
        ("heartbeat", heartbeat.into()),
    ];
    Dashboard { name: scope.dashboard(), body: fill_template(include_str!("../../templates/dashboard.json"), &values) }
}

#[cfg(test)]
mod tests;
