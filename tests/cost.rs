//! The cost of one bus for all clusters, compared with rules for each cluster, computed from list prices.
//!
//! Tests check that the documentation has the computed table and monthly bills. To print them:
//!
//! ```text
//! cargo test --test main cost -- --nocapture
//! ```

use std::fmt::Write;

use kibus::model::{GlobalOptions, HubOptions, Scope, watch};

/// List prices of us-east-1 in US dollars, without free tiers, as of November 2026. AWS's price pages:
/// <https://aws.amazon.com/sqs/pricing/>, <https://aws.amazon.com/lambda/pricing/>,
/// <https://aws.amazon.com/cloudwatch/pricing/>. EventBridge events of AWS services are free, and so is
/// their delivery within an account: <https://aws.amazon.com/eventbridge/pricing/>.
mod price {
    /// A million requests of a standard queue, each of up to 64 KB; a send of ten events is smaller.
    pub(super) const SQS_REQUESTS: f64 = 0.40;
    /// A million invocations.
    pub(super) const INVOCATIONS: f64 = 0.20;
    /// One gigabyte-second on x86_64.
    pub(super) const GB_SECOND: f64 = 0.000_016_666_7;
    /// One gigabyte of ingested logs.
    pub(super) const LOG_GB: f64 = 0.50;
    /// A million requests that publish, each of up to 64 KB: <https://aws.amazon.com/sns/pricing/>.
    pub(super) const SNS_REQUESTS: f64 = 0.50;
    /// One custom metric for one month.
    pub(super) const METRIC: f64 = 0.30;
    /// One alarm on one metric of standard resolution for one month.
    pub(super) const ALARM: f64 = 0.10;
    /// One dashboard for one month.
    pub(super) const DASHBOARD: f64 = 3.00;
    /// One customer managed key for one month: <https://aws.amazon.com/kms/pricing/>.
    pub(super) const KEY: f64 = 1.00;
    /// Ten thousand requests of KMS.
    pub(super) const KEY_REQUESTS: f64 = 0.03;
}

/// The function's memory in gigabytes.
const MEMORY: f64 = 0.25;
/// The duration of a round trip of an invocation, in seconds. This is an assumption; the benchmark measures the router.
const ROUND_TRIP: f64 = 0.025;
/// The log of an invocation, in gigabytes: the metrics line and three lines of Lambda.
const LOG: f64 = 1.0e-6;
/// The additional log for each cluster that receives an event, in gigabytes.
const LOG_OF_CLUSTER: f64 = 0.25e-6;

/// The line of a delivery, in gigabytes: docs/router.md has its size, which a test of the router measures.
const LOG_OF_DELIVERY: f64 = 0.386e-6;

/// How events arrive.
#[derive(Clone, Copy)]
enum Arrival {
    /// One at a time.
    Single,
    /// Many at a time, spread evenly over the clusters.
    Burst,
}

/// The cost of a million events.
struct Cost {
    /// Messages, in millions.
    messages: f64,
    /// SQS requests, in millions.
    requests: f64,
    /// US dollars.
    cost: f64,
}

/// Every cluster has its own rules: each event goes to every queue, where its Karpenter receives and deletes it.
/// Karpenter receives up to ten at a time, and deletes one at a time.
fn rules_for_each(clusters: f64, arrival: Arrival) -> Cost {
    let receives = match arrival {
        Arrival::Single => 1.0,
        Arrival::Burst => 0.1,
    };
    let requests = clusters * (1.0 + receives + 1.0);
    Cost { messages: clusters, requests, cost: requests * price::SQS_REQUESTS }
}

/// One bus: each event goes to the hub queue, through the router, and to the queue of its own cluster.
fn one_bus(clusters: f64, arrival: Arrival) -> Cost {
    // Events per invocation, events per receive and per send, clusters and round trips per invocation.
    let (routed, batch, together, served, round_trips) = match arrival {
        Arrival::Single => (1.0, 1.0, 1.0, 1.0, 2.0),
        Arrival::Burst => (200.0, 10.0, (200.0 / clusters).clamp(1.0, 10.0), f64::min(clusters, 200.0), 4.0),
    };
    // Lambda, or in a storm the router, receives and deletes a batch at a time.
    let hub = 1.0 + 2.0 / batch;
    let cluster = 1.0 / together + 1.0 / together + 1.0;
    let requests = hub + cluster;
    let invocations = 1.0 / routed;
    let millions = 1.0e6;
    let function = invocations * (price::INVOCATIONS + millions * round_trips * ROUND_TRIP * MEMORY * price::GB_SECOND);
    let log = millions * (invocations * (LOG + served * LOG_OF_CLUSTER) + LOG_OF_DELIVERY) * price::LOG_GB;
    Cost { messages: 2.0, requests, cost: requests * price::SQS_REQUESTS + function + log }
}

/// The monthly cost of one bus without events: Lambda polls the hub queue with five long polls of 20s, and CloudWatch
/// stores the metrics of the bus. Karpenter polls its queue in both setups.
fn monthly() -> (f64, f64) {
    let polls = 5.0 * 3.0 * 60.0 * 24.0 * 30.0 / 1.0e6;
    let metrics = 15.0;
    (polls * price::SQS_REQUESTS, metrics * price::METRIC)
}

fn table() -> String {
    let mut table = String::from(
        "| clusters | events come | rules for each: messages | SQS requests | cost | one bus: messages | SQS requests | cost |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for clusters in [10.0, 50.0, 200.0] {
        for (arrival, how) in [(Arrival::Single, "one by one"), (Arrival::Burst, "in full batches")] {
            let (each, one) = (rules_for_each(clusters, arrival), one_bus(clusters, arrival));
            writeln!(
                table,
                "| {clusters} | {how} | {:.0} M | {:.1} M | ${:.2} | {:.0} M | {:.1} M | ${:.2} |",
                each.messages, each.requests, each.cost, one.messages, one.requests, one.cost
            )
            .unwrap();
        }
    }
    let (polls, metrics) = monthly();
    write!(table, "\nStanding, a month at most: ${polls:.2} for polling the hub queue, and ${metrics:.2} for metrics.")
        .unwrap();
    table
}

/// How many instances each cluster ends in a month, for the monthly bill: 100 a day. This is an assumption.
const ENDED: f64 = 3_000.0;
/// How many clusters the monthly bill is for.
const FLEETS: [f64; 3] = [10.0, 50.0, 200.0];

/// A line of the monthly bill: what it is for, how it is computed, and its cost for a number of clusters.
struct Line {
    what: &'static str,
    how: &'static str,
    cost: fn(f64) -> f64,
}

/// Karpenter receives with long polls of 20s, one after the other.
const LONG_POLLS: Line = Line {
    what: "each Karpenter's long polls",
    how: "N × 3 a minute × 43,200 minutes × $0.40 a million",
    cost: |clusters| clusters * 3.0 * 43_200.0 / 1.0e6 * price::SQS_REQUESTS,
};

const ONE_BUS: [Line; 4] = [
    LONG_POLLS,
    Line {
        what: "Lambda's long polls of the hub queue",
        how: "5 × 3 a minute × 43,200 minutes × $0.40 a million",
        cost: |_| monthly().0,
    },
    // The rules of the bus match two state changes of an instance that ends: shutting-down and terminated.
    Line {
        what: "routing: SQS, Lambda, logs",
        how: "N × 3,000 instances × 2 events × $3.63 a million",
        cost: |clusters| clusters * ENDED * 2.0 / 1.0e6 * one_bus(clusters, Arrival::Single).cost,
    },
    Line { what: "metrics of the bus", how: "15 × $0.30", cost: |_| monthly().1 },
];

/// What each option adds. The heartbeat is an invocation every five minutes, and a metric. With alarms it is on.
const ON_REQUEST: [Line; 6] = [
    Line {
        what: "one metric per cluster (`--cluster-metrics=cluster`)",
        how: "N × $0.30",
        cost: |clusters| clusters * price::METRIC,
    },
    Line {
        what: "notices (`--notify`), without what their subscriptions cost",
        how: "N × 3,000 instances × 2 events × $0.50 a million",
        cost: |clusters| clusters * ENDED * 2.0 / 1.0e6 * price::SNS_REQUESTS,
    },
    Line {
        what: "heartbeat",
        how: "8,640 events × $3.43 a million + 1 × $0.30",
        cost: |_| {
            let event = one_bus(1.0, Arrival::Single).cost - LOG_OF_DELIVERY * 1.0e6 * price::LOG_GB;
            8_640.0 / 1.0e6 * event + price::METRIC
        },
    },
    Line { what: "alarms (`--alarms`)", how: "26 × $0.10", cost: |_| alarms() * price::ALARM },
    // An alarm costs as much as the metrics that it evaluates.
    Line {
        what: "alarms on clusters (`--reader-alarms`)",
        how: "N × 2 metrics × $0.10",
        cost: |clusters| clusters * 2.0 * price::ALARM,
    },
    Line { what: "dashboard (`--dashboard`)", how: "$3.00", cost: |_| price::DASHBOARD },
];

/// How many alarms a hub has with `--alarms`.
fn alarms() -> f64 {
    let options = HubOptions { alarms: Some("true".parse().unwrap()), ..HubOptions::default() };
    let scope = Scope {
        bus: "kibus".parse().unwrap(),
        account: "111122223333".parse().unwrap(),
        region: "us-east-1".parse().unwrap(),
        partition: "aws".parse().unwrap(),
        options: GlobalOptions::default(),
    };
    let alarms = watch::alarms(&scope, &options);
    let number = u32::try_from(alarms.len()).unwrap();
    f64::from(number)
}

const RULES_FOR_EACH: [Line; 2] = [
    LONG_POLLS,
    // The rules of Karpenter's own setup match all four state changes of an instance: also pending and running.
    Line {
        what: "copies of events",
        how: "N × 3,000 instances × 4 events × N queues × 3 requests × $0.40 a million",
        cost: |clusters| clusters * ENDED * 4.0 / 1.0e6 * rules_for_each(clusters, Arrival::Single).cost,
    },
];

/// For each queue and principal, SQS requests a data key from KMS every five minutes: two requests for one that sends, one
/// for one that receives (SQS developer guide, "Key management"). Each queue of the bus has one of each.
const KEY: [Line; 2] = [
    Line { what: "the key", how: "$1.00", cost: |_| price::KEY },
    Line {
        what: "requests of KMS",
        how: "(N + 1) queues × 8,640 × 3 requests × $0.03 per 10,000",
        cost: |clusters| (clusters + 1.0) * 8_640.0 * 3.0 / 1.0e4 * price::KEY_REQUESTS,
    },
];

/// The sum of lines for a number of clusters.
fn total(lines: &[Line], clusters: f64) -> f64 {
    lines.iter().map(|line| (line.cost)(clusters)).sum()
}

/// A table of lines with their sum.
fn bill(lines: &[Line], sum: &str) -> String {
    let mut table = String::from("| | N = 10 | N = 50 | N = 200 | computed as |\n| --- | --- | --- | --- | --- |\n");
    let mut row = |what: &str, cost: &dyn Fn(f64) -> f64, how: &str| {
        let [few, some, many] = FLEETS.map(cost);
        writeln!(table, "| {what} | ${few:.2} | ${some:.2} | ${many:.2} | {how} |").unwrap();
    };
    for line in lines {
        row(line.what, &line.cost, line.how);
    }
    row(&format!("**{sum}**"), &|clusters| total(lines, clusters), "");
    table
}

#[test]
fn the_documentation_has_the_computed_bills() {
    let documented = include_str!("../docs/faq.md");
    for (lines, sum) in [
        (&ONE_BUS[..], "one bus"),
        (&ON_REQUEST, "on request, in addition"),
        (&RULES_FOR_EACH, "rules and a queue per cluster"),
        (&KEY, "a customer key, in addition"),
    ] {
        let bill = bill(lines, sum);
        println!("{bill}");
        assert!(documented.contains(&bill), "docs/faq.md should have:\n{bill}");
    }
}

#[test]
fn one_bus_costs_less_from_the_documented_number_of_clusters_on() {
    let saves = |clusters: &u32| {
        let clusters = f64::from(*clusters);
        total(&ONE_BUS, clusters) < total(&RULES_FOR_EACH, clusters)
    };
    let first = (1..=200).find(saves).unwrap();
    assert!((first..=1_000).all(|clusters| saves(&clusters)));
    let sentence = format!("one bus costs less from {first} clusters on");
    println!("{sentence}");
    assert!(include_str!("../docs/faq.md").contains(&sentence), "{sentence}");
}

#[test]
fn the_documentation_has_the_bill_with_a_metric_per_cluster() {
    let bill = total(&ONE_BUS, 50.0);
    let sentence = format!("the bill of 50 clusters rises from ${bill:.2} to ${:.2}", bill + 50.0 * price::METRIC);
    println!("{sentence}");
    assert!(include_str!("../docs/faq.md").contains(&sentence), "{sentence}");
}

#[test]
fn the_documentation_has_the_computed_table() {
    let table = table();
    println!("{table}");
    let documented = include_str!("../docs/performance.md");
    assert!(documented.contains(&table), "docs/performance.md should have:\n{table}");
}
