//! The table of the simulation, and its targets.

use super::simulation::{Drained, Setup};
use super::{CLUSTERS, CONCURRENCY, LATENCY};

/// Prints a row for each storm.
pub fn print(rows: &[(Setup, Drained)]) {
    println!(
        "| events | instances | clusters | they arrive | a call takes | a full batch becomes | maximum concurrency | drained after \
         | median delay | longest delay | `DescribeTags` | throttled | retried | dead letters |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (setup, drained) in rows {
        let arrive = if setup.spread == 0.0 { "at once".to_owned() } else { format!("within {} s", setup.spread) };
        println!(
            "| {} | {} | {} | {arrive} | {:.0} ms | {} | {} | {:.0} s | {:.1} s | {:.1} s | {} | {} | {} | {} |",
            setup.events,
            setup.instances,
            setup.clusters,
            setup.latency * 1000.0,
            if setup.receives { "200" } else { "10" },
            setup.concurrency,
            drained.after,
            drained.median_delay,
            drained.longest_delay,
            drained.calls,
            drained.throttled,
            drained.retried,
            drained.dead,
        );
    }
}

/// Prints the targets, for 20,000 new instances at once. Gives whether all are met.
pub fn targets(rows: &[(Setup, Drained)]) -> bool {
    let storm = |latency| {
        let found = rows.iter().find(|(setup, _)| {
            let is_default = setup.receives && setup.concurrency == CONCURRENCY[1] && setup.clusters == CLUSTERS[0];
            let is_new = setup.instances == 20_000 && setup.spread == 0.0;
            is_default && is_new && setup.latency == latency
        });
        &found.expect("a row for each latency").1
    };
    let (usual, slow) = (storm(LATENCY[0]), storm(LATENCY[1]));
    println!("\n| target | | simulated | |");
    println!("| --- | --- | --- | --- |");
    let mut all = true;
    for (what, bound, value) in [
        ("drained, s, at most", 15.0, usual.after),
        ("`DescribeTags`, at most", 150.0, usual.calls as f64),
        ("drained with calls of 400 ms, s, at most", 40.0, slow.after),
    ] {
        all &= value <= bound;
        let met = if value <= bound { "met" } else { "missed" };
        println!("| {what} | {bound} | {value:.1} | {met} |");
    }
    all
}
