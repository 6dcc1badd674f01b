//! The cost of one bus for all clusters, compared with rules for each cluster, from list prices of us-east-1 in US dollars, without free
//! tiers, as of November 2026. `KIBUS_TEST_UPDATE=1` writes the table of `docs/evaluate.md`.

use std::path::Path;

use kibus::model::{GlobalOptions, HubOptions, Scope, watch};

use crate::shown_in_docs::assert_between;

/// A million SQS requests, each of up to 64 KB: <https://aws.amazon.com/sqs/pricing/>.
const SQS_REQUESTS: f64 = 0.40;
/// A million requests that publish, each of up to 64 KB: <https://aws.amazon.com/sns/pricing/>.
const NOTICES: f64 = 0.50;
/// A million invocations: <https://aws.amazon.com/lambda/pricing/>.
const INVOCATIONS: f64 = 0.20;
/// One gigabyte-second on x86_64.
const GB_SECOND: f64 = 0.000_016_666_7;
/// A gigabyte of ingested logs, a custom metric, an alarm on one metric of standard resolution, and a dashboard, the last three for a
/// month: <https://aws.amazon.com/cloudwatch/pricing/>.
const LOG_GB: f64 = 0.50;
const METRIC: f64 = 0.30;
const ALARM: f64 = 0.10;
const DASHBOARD: f64 = 3.00;
/// A customer managed key for a month, and 10,000 requests: <https://aws.amazon.com/kms/pricing/>.
const KEY: f64 = 1.00;
const KEY_REQUESTS: f64 = 0.03;
const MILLION: f64 = 1.0e6;

/// Each cluster ends 100 instances a day. EventBridge events of AWS services are free, and so is their delivery within an account:
/// <https://aws.amazon.com/eventbridge/pricing/>.
const INSTANCES: f64 = 3_000.0;
/// The long polls of a consumer that waits 20 seconds for a message, in a month of 30 days.
const POLLS: f64 = 3.0 * 60.0 * 24.0 * 30.0;
/// What a hub without options writes: ten metrics of an invocation that delivers, and five of reasons that occur.
const METRICS: f64 = 15.0;
/// The five pollers with which Lambda begins: <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html>.
const POLLERS: f64 = 5.0;
const HEARTBEATS: f64 = 12.0 * 24.0 * 30.0;

/// The duration of a round trip in an invocation, in seconds. This is an assumption; the benchmark measures the router.
const ROUND_TRIP: f64 = 0.025;
/// The log of an invocation, in gigabytes: the metrics line and three lines of Lambda. Then the addition for each
/// cluster that receives an event.
const LOG: f64 = 1.0e-6;
const LOG_OF_CLUSTER: f64 = 0.25e-6;

/// How events arrive: one at a time, or many at a time, spread evenly over the clusters.
#[derive(Clone, Copy)]
enum Arrival {
    Single,
    Burst,
}

/// A million events through one bus: each goes to the hub queue, through the router, and to the queue of its own cluster.
fn routing(clusters: f64, arrival: Arrival) -> f64 {
    // Events per invocation, events per receive and per send, clusters and round trips per invocation.
    let (routed, batch, together, served, round_trips) = match arrival {
        Arrival::Single => (1.0, 1.0, 1.0, 1.0, 2.0),
        Arrival::Burst => (200.0, 10.0, (200.0 / clusters).clamp(1.0, 10.0), f64::min(clusters, 200.0), 4.0),
    };
    // Lambda or, in a storm, the router receives and deletes a batch at a time.
    let requests = 1.0 + 2.0 / batch + 2.0 / together + 1.0;
    let invocations = 1.0 / routed;
    let memory: f64 = HubOptions::default().memory().to_string().parse().unwrap();
    let function = invocations * (INVOCATIONS + MILLION * round_trips * ROUND_TRIP * memory / 1024.0 * GB_SECOND);
    let log = MILLION * invocations * (LOG + served * LOG_OF_CLUSTER) * LOG_GB + logged_deliveries();
    requests * SQS_REQUESTS + function + log
}

/// The lines of a million deliveries, whose size a test of the router measures.
fn logged_deliveries() -> f64 {
    let (_, rest) = include_str!("../docs/router.md").split_once("The line above has ").unwrap();
    let bytes: f64 = rest.split(' ').next().unwrap().parse().unwrap();
    bytes * MILLION / 1.0e9 * LOG_GB
}

/// The long polls of the Karpenters, whatever created their queues.
fn polls_of_karpenter(clusters: f64) -> f64 {
    clusters * POLLS * SQS_REQUESTS / MILLION
}

/// Every queue receives all four states of every instance, and each copy is sent, received and deleted.
fn rules_for_each(clusters: f64) -> f64 {
    polls_of_karpenter(clusters) + clusters * INSTANCES * 4.0 * clusters * 3.0 * SQS_REQUESTS / MILLION
}

/// Two events of an instance are routed, each in an invocation of its own, which is the worst case.
fn one_bus(clusters: f64) -> f64 {
    let events = clusters * INSTANCES * 2.0;
    let polls = polls_of_karpenter(clusters) + POLLERS * POLLS * SQS_REQUESTS / MILLION;
    polls + events * routing(clusters, Arrival::Single) / MILLION + METRICS * METRIC
}

/// The alarms of a hub, with the heartbeat and its metric.
fn alarms(_: f64) -> f64 {
    let scope = Scope {
        bus: "kibus".parse().unwrap(),
        account: "111122223333".parse().unwrap(),
        region: "us-east-1".parse().unwrap(),
        partition: "aws".parse().unwrap(),
        options: GlobalOptions::default(),
    };
    let options = HubOptions { alarms: Some("true".parse().unwrap()), ..HubOptions::default() };
    let count = f64::from(u32::try_from(watch::alarms(&scope, &options).len()).unwrap());
    let heartbeat = HEARTBEATS * (routing(1.0, Arrival::Single) - logged_deliveries()) / MILLION + METRIC;
    count * ALARM + heartbeat
}

/// An alarm costs as much as the metrics that it evaluates.
fn reader_alarms(clusters: f64) -> f64 {
    let metrics = include_str!("../templates/alarms/reader.json").matches("\"MetricStat\"").count();
    clusters * f64::from(u32::try_from(metrics).unwrap()) * ALARM
}

/// With the alarms of the setup for many clusters.
fn recommended(clusters: f64) -> f64 {
    one_bus(clusters) + alarms(clusters) + reader_alarms(clusters)
}

/// SQS requests a data key for each queue every five minutes while messages flow; each request is three of KMS:
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html>.
fn customer_key(clusters: f64) -> f64 {
    KEY + (clusters + 1.0) * HEARTBEATS * 3.0 * KEY_REQUESTS / 1.0e4
}

/// The cost of a month for a number of clusters.
type Bill = fn(f64) -> f64;

/// The rows of the page, each with what it bills.
const BILLS: [(&str, Bill); 9] = [
    ("rules and a queue per cluster", rules_for_each),
    ("**one bus**", one_bus),
    ("one bus, [recommended setup](get-started.md#many-clusters)", recommended),
    ("`--alarms`, with the heartbeat", alarms),
    ("`--reader-alarms`", reader_alarms),
    ("`--cluster-metrics=cluster`", |clusters| clusters * METRIC),
    ("`--dashboard`", |_| DASHBOARD),
    ("`--notify`, without its subscriptions", |clusters| clusters * INSTANCES * 2.0 * NOTICES / MILLION),
    ("`--kms-key`", customer_key),
];

#[test]
fn the_bills_are_computed() {
    let row = |(what, bill): &(&str, Bill)| {
        let cells = [10.0, 50.0, 200.0].map(|clusters| format!("${:.2}", bill(clusters)));
        format!("| {what} | {} |", cells.join(" | "))
    };
    let rows: Vec<String> = BILLS.iter().map(row).collect();
    let heads = "| a month | 10 clusters | 50 clusters | 200 clusters |\n| --- | --- | --- | --- |\n";
    assert_between("docs/evaluate.md", [heads, "\n\n"], &rows.join("\n"));
}

#[test]
fn the_sentences_have_the_numbers_of_the_product() {
    let from = |bill: Bill| {
        let saves = |clusters: &u32| bill(f64::from(*clusters)) < rules_for_each(f64::from(*clusters));
        let first = (1..=200).find(saves).unwrap();
        assert!((first..=1_000).all(|clusters| saves(&clusters)));
        first
    };
    let [first, with_alarms] = [one_bus, recommended].map(from);
    let event = routing(1.0, Arrival::Single);
    let storms = [10.0, 200.0].map(|clusters| format!("${:.2}", routing(clusters, Arrival::Burst)));
    for (page, expected) in [
        (
            "docs/evaluate.md",
            format!(
                "One bus costs less from {first} clusters on, and with the recommended alarms from {with_alarms} on"
            ),
        ),
        ("README.md", format!("Fewer than {first} clusters in one account and Region, or {with_alarms} with alarms")),
        ("README.md", format!("costs ${:.0} a month instead of ${:.0}", recommended(50.0), rules_for_each(50.0))),
        ("docs/performance.md", format!("${event:.2} a million events, and {} in a storm", storms.join(" to "))),
    ] {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&expected), "{page} should have: {expected}");
    }
}
