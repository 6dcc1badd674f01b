//! A simulation: how fast a storm of events drains through the hub queue while EC2 allows few calls.
//!
//! Time is in seconds. Nothing here runs a router or waits; the numbers that it needs are measured by the benchmark.

mod simulation;
mod table;

use simulation::{Setup, simulate};

/// The values of the mapping's maximum concurrency.
const CONCURRENCY: [usize; 4] = [2, 5, 10, 20];
/// Batches of ten, as fast as they come.
const SMALL: (usize, f64) = (10, 0.0);
/// Batches of a hundred, with the window that AWS demands for them.
const LARGE: (usize, f64) = (100, 1.0);
/// The latency of a call to EC2 or SQS, as in the benchmark of the router, and of slow services.
const LATENCY: [f64; 2] = [0.04, 0.4];

/// Simulates every storm and prints the table.
pub fn run() {
    let mut rows = Vec::new();
    for (events, instances, spread, latency) in [
        (20_000, 20_000, 0.0, LATENCY[0]),
        (20_000, 20_000, 60.0, LATENCY[0]),
        (20_000, 2_000, 0.0, LATENCY[0]),
        (20_000, 2_000, 60.0, LATENCY[0]),
        (2_000, 2_000, 0.0, LATENCY[0]),
        (20_000, 20_000, 0.0, LATENCY[1]),
    ] {
        for (concurrency, (batch, window)) in CONCURRENCY.map(|most| (most, SMALL)).into_iter().chain([(10, LARGE)]) {
            let setup = Setup {
                events,
                instances,
                spread,
                batch,
                window,
                concurrency,
                latency,
            };
            rows.push((setup, simulate(setup)));
        }
    }
    table::print(&rows);
}
