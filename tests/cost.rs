//! The cost of one bus for all clusters, compared with separate rules for each cluster, from list prices of us-east-1 in US dollars,
//! without free tiers, as of November 2026. `docs/faq.md` has the formulas, which a test computes again, and `docs/performance.md` a
//! table of this file. `KIBUS_TEST_UPDATE=1` writes the numbers of both.

use std::fmt::Write;
use std::path::Path;

use kibus::model::{GlobalOptions, HubOptions, Scope, watch};

/// The prices in the formulas of the page, with AWS's price pages. EventBridge events of AWS services are free, and so is their delivery
/// within an account: <https://aws.amazon.com/eventbridge/pricing/>.
const PRICES: [(&str, &str); 8] = [
    ("$0.40 a million", "requests of a standard queue, each of up to 64 KB: https://aws.amazon.com/sqs/pricing/"),
    ("$0.50 a million", "requests that publish, each of up to 64 KB: https://aws.amazon.com/sns/pricing/"),
    ("$0.30", "a custom metric for a month: https://aws.amazon.com/cloudwatch/pricing/"),
    ("$0.10", "an alarm on one metric of standard resolution for a month: https://aws.amazon.com/cloudwatch/pricing/"),
    ("$3.00", "a dashboard for a month: https://aws.amazon.com/cloudwatch/pricing/"),
    ("$1.00", "a customer managed key for a month: https://aws.amazon.com/kms/pricing/"),
    ("$0.03 per 10,000", "requests of KMS: https://aws.amazon.com/kms/pricing/"),
    ("$3.63 a million", "events through one bus, computed here"),
];

/// A million SQS requests, and a million invocations: <https://aws.amazon.com/lambda/pricing/>.
const SQS_REQUESTS: f64 = 0.40;
const INVOCATIONS: f64 = 0.20;
/// One gigabyte-second on x86_64.
const GB_SECOND: f64 = 0.000_016_666_7;
/// One gigabyte of ingested logs: <https://aws.amazon.com/cloudwatch/pricing/>.
const LOG_GB: f64 = 0.50;

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

/// The messages and the SQS requests of a million events, in millions, and their cost.
type Cost = [f64; 3];

/// Every cluster has its own rules: each event goes to every queue, where its Karpenter receives and deletes it.
/// Karpenter receives up to ten messages at a time, and deletes one at a time.
fn rules_for_each(clusters: f64, arrival: Arrival) -> Cost {
    let receives = match arrival {
        Arrival::Single => 1.0,
        Arrival::Burst => 0.1,
    };
    let requests = clusters * (1.0 + receives + 1.0);
    [clusters, requests, requests * SQS_REQUESTS]
}

/// One bus: each event goes to the hub queue, through the router, and to the queue of its own cluster.
fn one_bus(clusters: f64, arrival: Arrival) -> Cost {
    // Events per invocation, events per receive and per send, clusters and round trips per invocation.
    let (routed, batch, together, served, round_trips) = match arrival {
        Arrival::Single => (1.0, 1.0, 1.0, 1.0, 2.0),
        Arrival::Burst => (200.0, 10.0, (200.0 / clusters).clamp(1.0, 10.0), f64::min(clusters, 200.0), 4.0),
    };
    // Lambda or, in a storm, the router receives and deletes a batch at a time.
    let requests = 1.0 + 2.0 / batch + 2.0 / together + 1.0;
    let invocations = 1.0 / routed;
    let memory: f64 = HubOptions::default().memory().to_string().parse().unwrap();
    let function = invocations * (INVOCATIONS + 1.0e6 * round_trips * ROUND_TRIP * memory / 1024.0 * GB_SECOND);
    let log = 1.0e6 * invocations * (LOG + served * LOG_OF_CLUSTER) * LOG_GB + logged_deliveries();
    [2.0, requests, requests * SQS_REQUESTS + function + log]
}

/// The lines of a million deliveries, whose size a test of the router measures.
fn logged_deliveries() -> f64 {
    let (_, rest) = include_str!("../docs/router.md").split_once("The line above has ").unwrap();
    let bytes: f64 = rest.split(' ').next().unwrap().parse().unwrap();
    bytes * 1.0e6 / 1.0e9 * LOG_GB
}

/// The value of a formula on the page for a number of clusters: a sum of products. The text after a number names what it counts.
fn value(formula: &str, clusters: f64) -> f64 {
    let formula = formula.replace("(N + 1)", &(clusters + 1.0).to_string());
    let factor = |factor: &str| {
        let known = PRICES.iter().any(|(price, _)| *price == factor) || factor == "$3.43 a million";
        assert!(known || !factor.starts_with('$'), "{factor} is not a price");
        let number = factor.split(' ').next().unwrap().trim_start_matches('$').replace(',', "");
        let number =
            if number == "N" { clusters } else { number.parse().unwrap_or_else(|_| panic!("{formula}: {factor}")) };
        number
            / [(" a million", 1.0e6), (" per 10,000", 1.0e4)]
                .iter()
                .find(|(per, _)| factor.ends_with(per))
                .map_or(1.0, |per| per.1)
    };
    formula.split(" + ").map(|product| product.split(" × ").map(factor).product::<f64>()).sum()
}

/// The formulas of the bill with this total.
fn formulas<'a>(page: &'a str, sum: &str) -> Vec<&'a str> {
    let (before, _) = page.split_once(&format!("| **{sum}** |")).unwrap();
    let (_, bill) = before.rsplit_once("computed as |\n").unwrap();
    bill.lines().skip(1).map(|line| line.rsplit(" | ").next().unwrap().trim_end_matches(" |")).collect()
}

fn total(formulas: &[&str], clusters: f64) -> f64 {
    formulas.iter().map(|formula| value(formula, clusters)).sum()
}

/// Compares a page with its expected content, line by line.
fn assert_page(page: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    if std::env::var_os("KIBUS_TEST_UPDATE").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let text = std::fs::read_to_string(path).unwrap();
    let differing = text.lines().zip(expected.lines()).filter(|(found, expected)| found != expected);
    assert_eq!(differing.collect::<Vec<_>>(), [], "{page} differs; `KIBUS_TEST_UPDATE=1` writes it");
}

#[test]
fn the_bills_are_what_their_formulas_say() {
    let page = include_str!("../docs/faq.md");
    let (mut expected, mut bill) = (String::new(), Vec::new());
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let rewritten = match cells[..] {
            ["", what, few, _, _, how, ""] if few.starts_with('$') => {
                bill.push(how);
                let formulas = if how.is_empty() { &bill[..bill.len() - 1] } else { &[how] };
                let [few, some, many] = [10.0, 50.0, 200.0].map(|clusters| total(formulas, clusters));
                format!("| {what} | ${few:.2} | ${some:.2} | ${many:.2} | {how} |")
            }
            _ => {
                bill.clear();
                line.to_owned()
            }
        };
        writeln!(expected, "{rewritten}").unwrap();
    }
    assert_page("docs/faq.md", &expected);
}

#[test]
fn the_formulas_and_sentences_have_the_numbers_of_the_product() {
    let page = include_str!("../docs/faq.md");
    let scope = Scope {
        bus: "kibus".parse().unwrap(),
        account: "111122223333".parse().unwrap(),
        region: "us-east-1".parse().unwrap(),
        partition: "aws".parse().unwrap(),
        options: GlobalOptions::default(),
    };
    let options = HubOptions { alarms: Some("true".parse().unwrap()), ..HubOptions::default() };
    let alarms = watch::alarms(&scope, &options).len();
    let of_a_cluster = include_str!("../templates/alarms/reader.json").matches("\"MetricStat\"").count();
    let [_, _, routed] = one_bus(1.0, Arrival::Single);
    let (one, each) = (formulas(page, "one bus"), formulas(page, "rules and a queue per cluster"));
    let saves = |clusters: &u32| total(&one, f64::from(*clusters)) < total(&each, f64::from(*clusters));
    let first = (1..=200).find(saves).unwrap();
    assert!((first..=1_000).all(|clusters| saves(&clusters)));
    let bill = total(&one, 50.0);
    for expected in [
        format!("| {alarms} × $0.10 |"),
        // An alarm costs as much as the metrics that it evaluates.
        format!("| N × {of_a_cluster} metrics × $0.10 |"),
        format!("events × ${routed:.2} a million |"),
        format!("events × ${:.2} a million + 1 × $0.30 |", routed - logged_deliveries()),
        format!("costs ${routed:.2} a million events"),
        format!("one bus costs less from {first} clusters on"),
        format!("the bill of 50 clusters rises from ${bill:.2} to ${:.2}", bill + value("50 × $0.30", 50.0)),
    ] {
        assert!(page.contains(&expected), "docs/faq.md should have: {expected}");
    }
}

#[test]
fn the_table_of_a_million_events_is_computed() {
    let page = include_str!("../docs/performance.md");
    let mut table = String::new();
    for clusters in [10.0, 50.0, 200.0] {
        for (arrival, how) in [(Arrival::Single, "one by one"), (Arrival::Burst, "in full batches")] {
            let cells = [rules_for_each(clusters, arrival), one_bus(clusters, arrival)];
            let cells =
                cells.map(|[messages, requests, cost]| format!("{messages:.0} M | {requests:.1} M | ${cost:.2}"));
            writeln!(table, "| {clusters} | {how} | {} |", cells.join(" | ")).unwrap();
        }
    }
    let faq = include_str!("../docs/faq.md");
    let [polls, metrics] = [1, 3].map(|row| value(formulas(faq, "one bus")[row], 1.0));
    write!(table, "\nStanding, a month at most: ${polls:.2} for polling the hub queue, and ${metrics:.2} for metrics.")
        .unwrap();
    let (before, rest) = page.split_once("| clusters | events come |").unwrap();
    let (heads, rest) = rest.split_once("| --- |\n").unwrap();
    let (_, after) = rest.split_once(" for metrics.").unwrap();
    assert_page(
        "docs/performance.md",
        &[before, "| clusters | events come |", heads, "| --- |\n", &table, after].concat(),
    );
}
