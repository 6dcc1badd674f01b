//! The cost of one bus for all clusters, compared with rules for each cluster, computed from list prices.
//!
//! A test checks that the documentation has the computed table. To print the table:
//!
//! ```text
//! cargo test --test main cost -- --nocapture
//! ```

use std::fmt::Write;

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
    /// One custom metric for one month.
    pub(super) const METRIC: f64 = 0.30;
}

/// The function's memory in gigabytes.
const MEMORY: f64 = 0.25;
/// The duration of a round trip of an invocation, in seconds. This is an assumption; the benchmark measures the router.
const ROUND_TRIP: f64 = 0.025;
/// The log of an invocation, in gigabytes: the metrics line and three lines of Lambda.
const LOG: f64 = 1.0e-6;
/// The additional log for each cluster that receives an event, in gigabytes.
const LOG_OF_CLUSTER: f64 = 0.25e-6;

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
    Cost {
        messages: clusters,
        requests,
        cost: requests * price::SQS_REQUESTS,
    }
}

/// One bus: each event goes to the hub queue, through the router, and to the queue of its own cluster.
fn one_bus(clusters: f64, arrival: Arrival) -> Cost {
    // Events per invocation, events per receive and per send, clusters and round trips per invocation.
    let (routed, batch, together, served, round_trips) = match arrival {
        Arrival::Single => (1.0, 1.0, 1.0, 1.0, 2.0),
        Arrival::Burst => (
            200.0,
            10.0,
            (200.0 / clusters).clamp(1.0, 10.0),
            f64::min(clusters, 200.0),
            4.0,
        ),
    };
    // Lambda, or in a storm the router, receives and deletes a batch at a time.
    let hub = 1.0 + 2.0 / batch;
    let cluster = 1.0 / together + 1.0 / together + 1.0;
    let requests = hub + cluster;
    let invocations = 1.0 / routed;
    let millions = 1.0e6;
    let function = invocations * (price::INVOCATIONS + millions * round_trips * ROUND_TRIP * MEMORY * price::GB_SECOND);
    let log = invocations * millions * (LOG + served * LOG_OF_CLUSTER) * price::LOG_GB;
    Cost {
        messages: 2.0,
        requests,
        cost: requests * price::SQS_REQUESTS + function + log,
    }
}

/// The monthly cost of one bus without events: Lambda polls the hub queue with five long polls of 20s, and CloudWatch
/// stores the metrics of the bus and one metric for each cluster that receives events. Karpenter polls its queue in both
/// setups.
fn monthly() -> (f64, f64, f64) {
    let polls = 5.0 * 3.0 * 60.0 * 24.0 * 30.0 / 1.0e6;
    let metrics = 15.0;
    (polls * price::SQS_REQUESTS, metrics * price::METRIC, price::METRIC)
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
    let (polls, metrics, of_cluster) = monthly();
    write!(
        table,
        "\nStanding, a month at most: ${polls:.2} for polling the hub queue, ${metrics:.2} for metrics, and ${of_cluster:.2} for \
         the metric of each cluster."
    )
    .unwrap();
    table
}

#[test]
fn the_documentation_has_the_computed_table() {
    let table = table();
    println!("{table}");
    let documented = include_str!("../docs/performance.md");
    assert!(documented.contains(&table), "docs/performance.md should have:\n{table}");
}

#[test]
fn one_bus_sends_fewer_messages_for_three_clusters_or_more() {
    for clusters in [3.0, 10.0, 200.0] {
        for arrival in [Arrival::Single, Arrival::Burst] {
            let (each, one) = (rules_for_each(clusters, arrival), one_bus(clusters, arrival));
            assert!(
                one.messages < each.messages && one.requests <= each.requests,
                "{clusters}"
            );
        }
    }
}
