//! A simulation: how fast a storm of events drains through the hub queue while EC2 allows few calls.
//!
//! Time is in seconds. Nothing here runs a router or waits; the numbers that it needs are measured by the benchmark.

mod simulation;
mod table;

use simulation::{Setup, simulate};

/// The values of the mapping's maximum concurrency. The second is the default.
const CONCURRENCY: [usize; 4] = [2, 5, 10, 20];
/// The latency of a call to EC2 or SQS, as in the benchmark of the router, and of slow services.
const LATENCY: [f64; 2] = [0.04, 0.4];
/// How many clusters the instances belong to, as in the benchmark of the router, and many.
const CLUSTERS: [usize; 2] = [10, 200];

/// Simulates every storm and prints the table. Gives whether every target is met.
pub fn run() -> bool {
    let mut rows = Vec::new();
    for (events, instances, spread, latency, clusters) in [
        (20_000, 20_000, 0.0, LATENCY[0], CLUSTERS[0]),
        (20_000, 20_000, 0.0, LATENCY[0], CLUSTERS[1]),
        (20_000, 20_000, 60.0, LATENCY[0], CLUSTERS[0]),
        (20_000, 2_000, 0.0, LATENCY[0], CLUSTERS[0]),
        (20_000, 2_000, 60.0, LATENCY[0], CLUSTERS[0]),
        (2_000, 2_000, 0.0, LATENCY[0], CLUSTERS[0]),
        (20_000, 20_000, 0.0, LATENCY[1], CLUSTERS[0]),
        (20_000, 20_000, 0.0, LATENCY[1], CLUSTERS[1]),
    ] {
        let only_lambda = (CONCURRENCY[1], false);
        for (concurrency, receives) in CONCURRENCY.map(|most| (most, true)).into_iter().chain([only_lambda]) {
            let setup = Setup { events, instances, clusters, spread, receives, concurrency, latency };
            rows.push((setup, simulate(setup)));
        }
    }
    table::print(&rows);
    table::targets(&rows)
}
