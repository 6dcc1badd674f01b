//! The dashboard of a bus, and each alarm's definition. No emulator evaluates dimensions, how many of how many periods, missing
//! data, or metrics from logs.

use std::collections::BTreeSet;

use super::*;
use crate::model::{
    Alarms, Ownership, Particulars, WARM_UP,
    hub::{BATCH_SIZE, MAXIMUM_CONCURRENCY},
    scope::tests::{scope, scope_in},
};

/// How many messages an invocation takes at most: as many instances as one EC2 call returns tags for.
const INVOCATION: u64 = 200;
const TOPIC: &str = "arn:aws:sns:us-west-2:111122223333:pager";

fn all_parts() -> HubOptions {
    HubOptions { alarms: Some(Alarms::On(Some(TOPIC.parse().unwrap()))), ..HubOptions::all_parts() }
}

fn alarms_with(options: &HubOptions) -> Vec<Alarm> {
    alarms(&scope(), options).iter().filter_map(Resource::as_alarm).cloned().collect()
}

#[test]
fn the_ids_are_those_of_the_alarms() {
    for options in [HubOptions::default(), all_parts()] {
        let all = alarms(&scope(), &options);
        assert_eq!(alarm_ids(&scope(), &options), all.iter().map(Resource::id).collect());
    }
}

/// Name, metric, dimension, statistic, when it fires (the threshold, how many periods out of how many, and their
/// seconds), and how missing data counts. An alarm on missing data has a warm-up in minutes.
#[test]
fn each_alarm_has_its_definition() {
    let of_hub = "
        dead-letters  AWS/SQS ApproximateNumberOfMessagesVisible QueueName kibus-hub-dlq Maximum GreaterThanThreshold 0 1 1 60 notBreaching
        waiting       AWS/SQS ApproximateNumberOfMessagesVisible QueueName kibus-hub Maximum GreaterThanThreshold 200 2 3 60 notBreaching
        in-flight     AWS/SQS ApproximateNumberOfMessagesNotVisible QueueName kibus-hub Maximum GreaterThanThreshold 1000 2 3 60 notBreaching
        errors        AWS/Lambda Errors FunctionName kibus-router Sum GreaterThanThreshold 0 3 5 60 notBreaching
        throttles     AWS/Lambda Throttles FunctionName kibus-router Sum GreaterThanThreshold 0 3 5 60 notBreaching
        foreign-queue Kibus DroppedQueueNotOurs bus kibus Sum GreaterThanThreshold 0 1 1 60 notBreaching
        queue-denied  Kibus RetriedQueueDenied bus kibus Sum GreaterThanThreshold 0 3 5 60 notBreaching
        heartbeat     Kibus Heartbeat bus kibus Sum LessThanThreshold 1 3 3 300 breaching 20";
    let of_a_rule = "failed FailedInvocations, sent-to-dlq InvocationsSentToDlq, lost InvocationsFailedToBeSentToDlq";
    let of_rules = Signal::ALL.into_iter().map(Signal::slug).flat_map(|signal| {
        let each = of_a_rule.split(", ").filter_map(|alarm| alarm.split_once(' '));
        let fires = "Sum GreaterThanThreshold 0 1 1 60 notBreaching";
        each.map(move |(name, metric)| format!("{signal}-{name} AWS/Events {metric} RuleName kibus-{signal} {fires}"))
    });
    let of_hub = of_hub.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let wanted: BTreeSet<String> = of_hub.chain(of_rules).collect();
    let got: BTreeSet<String> = alarms_with(&all_parts()).iter().map(line).collect();
    assert_eq!(got, wanted);
}

fn line(alarm: &Alarm) -> String {
    let definition = alarm.definition.value();
    let members = "Namespace MetricName Dimensions/0/Name Dimensions/0/Value Statistic ComparisonOperator Threshold \
                   DatapointsToAlarm EvaluationPeriods Period TreatMissingData";
    assert_eq!(definition.pointer("/Dimensions/1"), None, "{}", alarm.name);
    let members = members.split(' ').map(|member| definition.pointer(&format!("/{member}")).unwrap());
    let warm_up = definition.get(WARM_UP).map(|of| &of["WarmUpPeriodDurationInMinutes"]);
    let members: Vec<String> = members.chain(warm_up).map(|value| value.to_string().replace('"', "")).collect();
    format!("{} {}", alarm.name.as_str().strip_prefix("kibus-").unwrap(), members.join(" "))
}

#[test]
fn a_topic_is_notified_of_both_changes() {
    for alarm in alarms_with(&all_parts()) {
        let notified = |change: &str| alarm.definition.value().get(change).cloned();
        assert_eq!(["AlarmActions", "OKActions"].map(notified), [Some(json!([TOPIC])), Some(json!([TOPIC]))]);
        assert_eq!(notified("InsufficientDataActions"), None);
        assert!(alarm.tags.belong_to(&scope().bus));
    }
    for alarm in alarms_with(&HubOptions::all_parts()) {
        assert!(alarm.definition.value().get("AlarmActions").is_none());
    }
}

#[test]
fn a_part_that_a_hub_lacks_has_no_alarm() {
    let alarms = alarms_with(&HubOptions { heartbeat: Some(false), rebalance: None, ..all_parts() });
    let of_a_part = |alarm: &&Alarm| ["heartbeat", "rebalance"].iter().any(|part| alarm.name.as_str().contains(part));
    assert_eq!(alarms.iter().find(of_a_part), None);
}

/// CloudWatch API reference, `PutMetricAlarm`: 255 characters of a name, 1,024 of a description, and for a period of less than an
/// hour at most a day in all.
#[test]
fn the_longest_bus_stays_within_the_limits_of_cloudwatch() {
    let mut longest = scope();
    longest.bus = "b".repeat(20).parse().unwrap();
    for alarm in alarms(&longest, &all_parts()) {
        let alarm = alarm.as_alarm().unwrap();
        let definition = alarm.definition.value();
        let number = |member: &str| definition[member].as_u64().unwrap();
        assert!(alarm.name.as_str().starts_with(longest.bus.as_str()));
        assert!(definition["AlarmDescription"].as_str().unwrap().len() <= 1_024);
        assert!(number("DatapointsToAlarm") <= number("EvaluationPeriods"));
        assert!(number("Period") * number("EvaluationPeriods") <= 86_400);
    }
}

/// More messages wait than one invocation can take, and more are in flight than all invocations can hold.
#[test]
fn the_bounds_of_the_hub_queue_are_what_the_router_takes() {
    assert!(INVOCATION > u64::from(BATCH_SIZE));
    for (name, bound) in [("waiting", INVOCATION), ("in-flight", u64::from(MAXIMUM_CONCURRENCY) * INVOCATION)] {
        let alarms = alarms_with(&all_parts());
        let alarm = alarms.iter().find(|alarm| alarm.name.as_str() == format!("kibus-{name}")).unwrap();
        assert_eq!(alarm.definition.value()["Threshold"], bound, "{name}");
    }
}

/// Two of three samples, a minute apart, must see messages wait. In the simulated storms that arrive at once, with calls of 40 ms and
/// the default concurrency, the queue is empty before the second.
#[test]
fn a_storm_at_once_is_over_before_a_second_sample() {
    let page = include_str!("../../../tests/bench/drain.md");
    let rows = page.lines().filter(|line| line.contains("| at once | 40 ms | 200 | 5 |"));
    let drained = rows.map(|row| row.split(" | ").nth(7).unwrap().trim_end_matches(" s"));
    let drained: Vec<u64> = drained.map(|seconds| seconds.parse().unwrap()).collect();
    assert!(drained.len() >= 3);
    assert!(drained.iter().all(|seconds| *seconds < 60), "{drained:?}");
}

#[test]
fn the_runbook_has_a_section_for_each_alarm_and_no_other() {
    let page = include_str!("../../../docs/runbook.md");
    let sections: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let mut alarms = alarms_with(&all_parts());
    let (base, queue) = ("base".parse().unwrap(), "karpenter-base".parse().unwrap());
    alarms.extend(reader_alarm(&scope(), &all_parts(), &base, &queue));
    let section_of = |alarm: &Alarm| {
        let description = alarm.definition.value()["AlarmDescription"].as_str().unwrap().to_owned();
        let command = format!(". What to do: kibus explain {} --region us-west-2", alarm.name);
        assert!(description.ends_with(&command), "{description}");
        sections
            .iter()
            .copied()
            .find(|section| alarm.name.as_str().ends_with(&format!("-{section}")))
            .unwrap_or("reader")
    };
    let mut described: BTreeSet<&str> = alarms.iter().map(section_of).collect();
    described.insert("keep-nodes-safe");
    assert_eq!(sections, described);
    for section in page.split("\n## ").skip(2) {
        for part in ["**It means**", "**Look**", "**Do**", "**Meanwhile**"] {
            assert!(section.contains(part), "{part} in {}", section.lines().next().unwrap());
        }
    }
}

#[test]
fn the_monitor_page_has_each_alarm() {
    let page = include_str!("../../../docs/monitor.md");
    let (_, page) = page.split_once("## Alarms").unwrap();
    let row = |line: &str| Some(line.strip_prefix("| [`BUS-")?.split_once('`')?.0.to_owned());
    let rows: BTreeSet<String> = page.lines().filter_map(row).collect();
    let name = |alarm: &Alarm| {
        let name = alarm.name.as_str().strip_prefix("kibus-").unwrap();
        let of_a_rule = Signal::ALL.iter().find_map(|signal| name.strip_prefix(signal.slug())?.strip_prefix('-'));
        of_a_rule.map_or(name.to_owned(), |end| format!("RULE-{end}"))
    };
    assert_eq!(rows, alarms_with(&all_parts()).iter().map(name).collect());
}

fn shown(options: HubOptions) -> Dashboard {
    dashboard(&scope(), &options)
}

/// All Regions of an account share the names, and another bus or Region must not treat a dashboard as its own.
#[test]
fn a_dashboard_is_of_one_bus_in_one_region() {
    let dashboard = shown(HubOptions::default());
    assert_eq!(dashboard.name.as_str(), "kibus-hub-us-west-2");
    let expected = "arn:aws:cloudwatch::111122223333:dashboard/kibus-hub-us-west-2";
    assert_eq!(scope().dashboard_arn(&dashboard.name), expected);
    let other_bus = Scope { bus: "kib".parse().unwrap(), ..scope() };
    for (of, ours) in [(scope(), true), (scope_in("aws", "us-west-1"), false), (other_bus, false)] {
        assert_eq!(dashboard.ownership(&of), Ownership::Content(ours), "{of:?}");
    }
    let foreign = Dashboard { body: Document::new(json!({"widgets": []})), ..dashboard };
    assert_eq!(foreign.ownership(&scope()), Ownership::Content(false));
}

#[test]
fn a_dashboard_follows_the_metrics_of_the_hub() {
    let default = shown(HubOptions::default()).body.compact();
    assert!(default.contains(r#"NumberOfMessagesSent\" QueueName=karpenter'"#), "{default}");
    assert!(default.contains("switched off"), "{default}");
    let check = "`kibus status --bus kibus --region us-west-2`";
    assert!(default.contains(check) && default.contains("`kibus explain ALARM --region us-west-2`"), "{default}");
    let cluster_metrics = Some(ClusterMetrics::Cluster);
    let metrics = shown(HubOptions { cluster_metrics, heartbeat: Some(true), ..HubOptions::default() }).body.compact();
    assert!(metrics.contains("{Kibus,bus,cluster}") && !metrics.contains("QueueName=karpenter"), "{metrics}");
    assert!(metrics.contains("one every 5 minutes"), "{metrics}");
}

/// CloudWatch API reference, "Dashboard Body Structure and Syntax": a line has a number, and may have a label.
#[test]
fn the_lines_of_the_dashboard_are_the_thresholds_of_the_alarms_of_what_it_shows() {
    let dashboard = shown(all_parts());
    let alarms = alarms_with(&all_parts());
    let metric_of = |alarm: &Alarm| {
        let of = alarm.definition.value();
        let dimension = &of["Dimensions"][0];
        [&of["Namespace"], &of["MetricName"], &dimension["Name"], &dimension["Value"]].map(Value::clone)
    };
    let mut seen = BTreeSet::new();
    for widget in dashboard.body.value()["widgets"].as_array().unwrap() {
        let properties = &widget["properties"];
        for line in properties["annotations"]["horizontal"].as_array().into_iter().flatten() {
            let (side, names) = line["label"].as_str().unwrap().split_once(": ").unwrap();
            for name in names.split(", ") {
                let alarm = alarms.iter().find(|alarm| alarm.name.as_str() == name).unwrap();
                let of = alarm.definition.value();
                assert!(line["value"].is_number() && line["value"] == of["Threshold"], "{line}");
                let fires = if side == "above" { "GreaterThanThreshold" } else { "LessThanThreshold" };
                assert_eq!(of["ComparisonOperator"], fires, "{line}");
                // The graph has the metric of the alarm, with the same statistic and period.
                let mut rows = properties["metrics"].as_array().unwrap().iter();
                assert!(rows.any(|row| row.as_array().unwrap()[..4] == metric_of(alarm)), "{name}");
                for (ours, theirs) in [("stat", "Statistic"), ("period", "Period")] {
                    assert_eq!(properties[ours], of[theirs], "{name}");
                }
                assert!(seen.insert(name.to_owned()), "{name}");
            }
        }
    }
    // One reason of a drop or a retry is a part of a graph, and no graph shows a rule.
    let has_line = |alarm: &&Alarm| {
        let of = alarm.definition.value();
        of["Namespace"] != "AWS/Events" && (of["Namespace"] != "Kibus" || of["MetricName"] == "Heartbeat")
    };
    assert_eq!(seen, alarms.iter().filter(has_line).map(|alarm| alarm.name.to_string()).collect());
}

/// CloudWatch has a grid of 24 columns.
#[test]
fn no_widget_covers_another() {
    let dashboard = shown(HubOptions::default());
    let mut taken = BTreeSet::new();
    for widget in dashboard.body.value()["widgets"].as_array().unwrap() {
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|side| widget[side].as_u64().unwrap());
        assert!(x + width <= 24, "{widget}");
        for cell in (x..x + width).flat_map(|x| (y..y + height).map(move |y| (x, y))) {
            assert!(taken.insert(cell), "{widget}");
        }
    }
    assert_eq!(taken.len() % 24, 0, "a row has a gap");
}
