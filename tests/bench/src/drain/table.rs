//! The table of the simulation.

use super::simulation::{Drained, Setup};

/// Prints a row for each storm.
pub fn print(rows: &[(Setup, Drained)]) {
    println!(
        "| events | instances | they arrive | a call takes | batch | maximum concurrency | drained after | median delay | longest delay \
         | `DescribeTags` | throttled | retried | dead letters |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (setup, drained) in rows {
        let arrive = if setup.spread == 0.0 {
            "at once".to_owned()
        } else {
            format!("within {} s", setup.spread)
        };
        println!(
            "| {} | {} | {arrive} | {:.0} ms | {} | {} | {:.0} s | {:.1} s | {:.1} s | {} | {} | {} | {} |",
            setup.events,
            setup.instances,
            setup.latency * 1000.0,
            setup.batch,
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
