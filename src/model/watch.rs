//! What the alarms of a hub watch, and what its dashboard shows. An alarm goes off when events are lost or late, or are about to be, and comes back when they
//! are not. None watches the age of the oldest message: SQS leaves out messages that were received three times or more, which
//! are those that the router returns (SQS developer guide, "Available CloudWatch metrics for Amazon SQS").

use serde_json::{Value, json};

use super::document::{Document, fill_template};
use super::name::{ClusterName, QueueName};
use super::options::{ClusterMetrics, HubOptions};
use super::resource::{Alarm, AlarmName, Dashboard, Resource};
use super::scope::{Scope, fixed};
use super::signal::Signal;
use super::tags::{CLUSTER, Tags};

/// An alarm, without what all of them share.
struct Watch {
    /// The end of its name, which is also its section in the runbook.
    slug: String,
    section: &'static str,
    meaning: &'static str,
    metric: Value,
    /// How many of how many periods of how many seconds are beyond the threshold when it goes off.
    periods: (u32, u32, u32),
    threshold: u32,
    /// Whether too little sets it off, as no data does, or too much.
    is_silence: bool,
}

/// The alarms of a hub with these options.
pub fn alarms(scope: &Scope, options: &HubOptions) -> Vec<Resource> {
    let mut watches = of_hub(scope);
    if options.has_heartbeat() {
        let silence = "no heartbeat went through the bus for a quarter of an hour";
        watches.push(Watch {
            is_silence: true,
            ..above("heartbeat", of_bus(scope, "Heartbeat"), 1, (3, 3, 300), silence)
        });
    }
    let signals = Signal::ALL.into_iter().filter(|signal| options.has_rule(*signal));
    watches.extend(signals.flat_map(|signal| of_rule(scope, signal)));
    let alarms = watches.into_iter().map(|watch| watch.alarm(scope, options));
    alarms.map(Resource::Alarm).collect()
}

/// What is watched whichever signals a hub has.
fn of_hub(scope: &Scope) -> Vec<Watch> {
    let of_queue = |queue: QueueName, metric| of("AWS/SQS", metric, "Maximum", ("QueueName", queue.to_string()));
    let of_function = |metric| {
        of(
            "AWS/Lambda",
            metric,
            "Sum",
            ("FunctionName", scope.router_function().to_string()),
        )
    };
    vec![
        above(
            "dead-letters",
            of_queue(scope.dead_letter_queue(), "ApproximateNumberOfMessagesVisible"),
            0,
            (1, 1, 60),
            "events reached no cluster and wait in the dead-letter queue",
        ),
        above(
            "waiting",
            of_queue(scope.hub_queue(), "ApproximateNumberOfMessagesVisible"),
            200,
            (2, 3, 60),
            "events wait in the hub queue longer than a Spot warning leaves",
        ),
        above(
            "in-flight",
            of_queue(scope.hub_queue(), "ApproximateNumberOfMessagesNotVisible"),
            1_000,
            (2, 3, 60),
            "the router takes events from the hub queue and does not finish them",
        ),
        above(
            "errors",
            of_function("Errors"),
            0,
            (3, 5, 60),
            "invocations of the router fail",
        ),
        above(
            "throttles",
            of_function("Throttles"),
            0,
            (3, 5, 60),
            "Lambda does not run the router",
        ),
        above(
            "foreign-queue",
            of_bus(scope, "DroppedQueueNotOurs"),
            0,
            (1, 1, 60),
            "events are dropped because a cluster's queue lost the tags of this bus",
        ),
        above(
            "queue-denied",
            of_bus(scope, "RetriedQueueDenied"),
            0,
            (3, 5, 60),
            "a cluster's queue denies the router",
        ),
    ]
}

/// What is watched of the rule of a signal.
fn of_rule(scope: &Scope, signal: Signal) -> impl Iterator<Item = Watch> {
    let rule = scope.rule(signal);
    let failures = [
        (
            "failed",
            "FailedInvocations",
            "EventBridge could not send an event to the hub queue",
        ),
        (
            "sent-to-dlq",
            "InvocationsSentToDlq",
            "EventBridge sent an event to the dead-letter queue",
        ),
        ("lost", "InvocationsFailedToBeSentToDlq", "EventBridge lost an event"),
    ];
    failures.into_iter().map(move |(section, metric, meaning)| {
        let metric = of("AWS/Events", metric, "Sum", ("RuleName", rule.to_string()));
        Watch {
            slug: format!("{}-{section}", signal.slug()),
            ..above(section, metric, 0, (1, 1, 60), meaning)
        }
    })
}

fn above(
    section: &'static str,
    metric: Value,
    threshold: u32,
    periods: (u32, u32, u32),
    meaning: &'static str,
) -> Watch {
    Watch {
        slug: section.to_owned(),
        section,
        meaning,
        metric,
        periods,
        threshold,
        is_silence: false,
    }
}

fn of_bus(scope: &Scope, metric: &str) -> Value {
    of("Kibus", metric, "Sum", ("bus", scope.bus.to_string()))
}

/// The dashboard of a hub with these options.
pub fn dashboard(scope: &Scope, options: &HubOptions) -> Dashboard {
    let bus = scope.bus.as_str();
    // The busiest clusters, because a graph of hundreds of lines shows nothing.
    let search = format!(
        "SORT(SEARCH('{{Kibus,bus,cluster}} bus=\"{bus}\" MetricName=\"Delivered\"', 'Sum', 300), SUM, DESC, 20)"
    );
    let delivered = match options.cluster_metrics() {
        ClusterMetrics::None => json!([["Kibus", "Delivered", "bus", bus, {"label": "all clusters"}]]),
        ClusterMetrics::Cluster | ClusterMetrics::NodePool => {
            json!([[{"expression": search, "label": "${PROP('Dim.cluster')}"}]])
        }
    };
    let heartbeat = match options.has_heartbeat() {
        true => "one every 5 minutes",
        false => "switched off",
    };
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
    Dashboard {
        name: scope.dashboard(),
        body: fill_template(include_str!("../../templates/dashboard.json"), &values),
    }
}

pub fn reader_alarm_name(scope: &Scope, cluster: &ClusterName) -> AlarmName {
    fixed(format!("{}-reader-{cluster}", scope.bus))
}

/// The alarm of a cluster: nobody asks its queue for messages, also if SQS reports nothing of it.
pub fn reader_alarm(scope: &Scope, options: &HubOptions, cluster: &ClusterName, queue: &QueueName) -> Alarm {
    let received = |id: &str, metric: &str| {
        let dimensions = json!([{"Name": "QueueName", "Value": queue.as_str()}]);
        let metric = json!({"Namespace": "AWS/SQS", "MetricName": metric, "Dimensions": dimensions});
        json!({"Id": id, "MetricStat": {"Metric": metric, "Period": 300, "Stat": "Sum"}, "ReturnData": false})
    };
    let watch = Watch {
        slug: format!("reader-{cluster}"),
        section: "reader",
        meaning: "nothing has read the queue of this cluster for a quarter of an hour",
        metric: json!({"Metrics": [
            received("empty", "NumberOfEmptyReceives"),
            received("full", "NumberOfMessagesReceived"),
            {"Id": "receives", "Expression": "FILL(empty, 0) + FILL(full, 0)", "Label": "receives", "ReturnData": true},
        ]}),
        periods: (3, 3, 300),
        threshold: 1,
        is_silence: true,
    };
    let alarm = watch.alarm(scope, options);
    let tags = alarm.tags.with(CLUSTER, cluster.as_str());
    Alarm { tags, ..alarm }
}

fn of(namespace: &str, metric: &str, statistic: &str, (dimension, value): (&str, String)) -> Value {
    json!({
        "Namespace": namespace,
        "MetricName": metric,
        "Statistic": statistic,
        "Dimensions": [{"Name": dimension, "Value": value}],
    })
}

impl Watch {
    fn alarm(self, scope: &Scope, options: &HubOptions) -> Alarm {
        let (breaches, periods, seconds) = self.periods;
        let (comparison, missing) = match self.is_silence {
            true => ("LessThanThreshold", "breaching"),
            false => ("GreaterThanThreshold", "notBreaching"),
        };
        let mut definition = self.metric;
        let rest = json!({
            "AlarmDescription": format!("Kibus: {}. See `{}` in docs/runbook.md", self.meaning, self.section),
            "ActionsEnabled": true,
            // Each metric of a calculation has its own.
            "Period": definition.get("Metrics").is_none().then_some(seconds),
            "EvaluationPeriods": periods,
            "DatapointsToAlarm": breaches,
            "Threshold": self.threshold,
            "ComparisonOperator": comparison,
            "TreatMissingData": missing,
        });
        let topic = options.alarm_topic().map(|topic| scope.topic_arn(topic));
        let members = definition.as_object_mut().into_iter();
        for (members, rest) in members.zip(rest.as_object()) {
            members.extend(rest.clone());
            members.retain(|_, value| !value.is_null());
            for actions in ["AlarmActions", "OKActions"] {
                members.extend(topic.clone().map(|topic| (actions.to_owned(), json!([topic]))));
            }
        }
        Alarm {
            name: fixed(format!("{}-{}", scope.bus, self.slug)),
            definition: Document::new(definition),
            tags: Tags::of(&scope.bus).with_all(&options.tags()),
        }
    }
}

#[cfg(test)]
mod tests;
