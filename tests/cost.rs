//! What an operator pays: a bus of one's own for every cluster beside one for all, computed from list prices.
//!
//! The table in the documentation is what this computes; a test holds that. To see it:
//!
//! ```text
//! cargo test --test main cost -- --nocapture
//! ```

use std::fmt::Write;

/// List prices of us-east-1 in US dollars, without free tiers, as of November 2026. AWS's pages of prices:
/// <https://aws.amazon.com/sqs/pricing/>, <https://aws.amazon.com/lambda/pricing/>,
/// <https://aws.amazon.com/cloudwatch/pricing/>. EventBridge takes nothing for the events of AWS's own services, and
/// nothing for their delivery within an account: <https://aws.amazon.com/eventbridge/pricing/>.
mod price {
    /// A million requests of a standard queue, each of up to 64 KB; a send of ten events is smaller.
    pub(super) const SQS_REQUESTS: f64 = 0.40;
    /// A million invocations.
    pub(super) const INVOCATIONS: f64 = 0.20;
    /// A gigabyte for a second, on x86_64.
    pub(super) const GB_SECOND: f64 = 0.000_016_666_7;
    /// A gigabyte of log that is taken in.
    pub(super) const LOG_GB: f64 = 0.50;
    /// A custom metric for a month.
    pub(super) const METRIC: f64 = 0.30;
}

/// The function's memory in gigabytes.
const MEMORY: f64 = 0.25;
/// What an invocation takes, in seconds: two round trips. An assumption; the benchmark has what the router adds.
const DURATION: f64 = 0.05;
/// What an invocation writes into its log, in gigabytes: the line of metrics, and Lambda's own three.
const LOG: f64 = 1.0e-6;
/// What it writes besides for each cluster that gets something, in gigabytes.
const LOG_OF_CLUSTER: f64 = 0.25e-6;

/// How events come.
#[derive(Clone, Copy)]
enum Weather {
    /// Each alone.
    Calm,
    /// A hundred at a time, spread evenly over the clusters.
    Storm,
}

/// What a million events cost.
struct Sum {
    /// Messages, in millions.
    messages: f64,
    /// Requests of SQS, in millions.
    requests: f64,
    /// US dollars.
    cost: f64,
}

/// Every cluster has its own rules: each event goes to every queue, where its Karpenter receives and deletes it.
/// Karpenter receives up to ten at a time, and deletes one at a time.
fn rules_for_each(clusters: f64, weather: Weather) -> Sum {
    let receives = match weather {
        Weather::Calm => 1.0,
        Weather::Storm => 0.1,
    };
    let requests = clusters * (1.0 + receives + 1.0);
    Sum {
        messages: clusters,
        requests,
        cost: requests * price::SQS_REQUESTS,
    }
}

/// One bus: each event goes to the hub queue, through the router, and to the queue of its own cluster.
fn one_bus(clusters: f64, weather: Weather) -> Sum {
    // Events of an invocation, events of one send, clusters of an invocation.
    let (batch, together, served) = match weather {
        Weather::Calm => (1.0, 1.0, 1.0),
        Weather::Storm => (100.0, (100.0 / clusters).clamp(1.0, 10.0), f64::min(clusters, 100.0)),
    };
    // Lambda receives and deletes up to ten at a time.
    let hub = 1.0 + 2.0 / f64::min(batch, 10.0);
    let cluster = 1.0 / together + 1.0 / together + 1.0;
    let requests = hub + cluster;
    let invocations = 1.0 / batch;
    let millions = 1.0e6;
    let function = invocations * (price::INVOCATIONS + millions * DURATION * MEMORY * price::GB_SECOND);
    let log = invocations * millions * (LOG + served * LOG_OF_CLUSTER) * price::LOG_GB;
    Sum {
        messages: 2.0,
        requests,
        cost: requests * price::SQS_REQUESTS + function + log,
    }
}

/// What one bus costs a month before any event comes: Lambda asks the hub queue with five long polls of 20 s, and
/// CloudWatch keeps the metrics: the bus's, and one of each cluster that gets something. Karpenter asks its queue
/// either way.
fn standing() -> (f64, f64, f64) {
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
        for (weather, how) in [(Weather::Calm, "one by one"), (Weather::Storm, "by the hundred")] {
            let (each, one) = (rules_for_each(clusters, weather), one_bus(clusters, weather));
            writeln!(
                table,
                "| {clusters} | {how} | {:.0} M | {:.1} M | ${:.2} | {:.0} M | {:.1} M | ${:.2} |",
                each.messages, each.requests, each.cost, one.messages, one.requests, one.cost
            )
            .unwrap();
        }
    }
    let (polls, metrics, of_cluster) = standing();
    write!(
        table,
        "\nStanding, a month at most: ${polls:.2} for polling the hub queue, ${metrics:.2} for metrics, and ${of_cluster:.2} for \
         the metric of each cluster."
    )
    .unwrap();
    table
}

#[test]
fn the_documentation_has_the_sum() {
    let table = table();
    println!("{table}");
    let documented = include_str!("../docs/performance.md");
    assert!(documented.contains(&table), "docs/performance.md should have:\n{table}");
}

#[test]
fn one_bus_sends_less_from_three_clusters_on() {
    for clusters in [3.0, 10.0, 200.0] {
        for weather in [Weather::Calm, Weather::Storm] {
            let (each, one) = (rules_for_each(clusters, weather), one_bus(clusters, weather));
            assert!(
                one.messages < each.messages && one.requests <= each.requests,
                "{clusters}"
            );
        }
    }
}
