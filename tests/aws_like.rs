//! An emulator that behaves like AWS: the server that tests share, and what each behavior does, by calls of the SDK.

mod server;
mod tests;

use crate::scenario::all_together;
pub(crate) use kibus_harness::aws_like::{AwsLike, Behavior, Caller, Proxy, operation};
pub(crate) use server::Server;

#[test]
fn the_clusters_scenario_through_all_together() {
    assert_eq!(all_together::differences("clusters"), None);
}

#[test]
fn the_teardown_scenario_through_all_together() {
    assert_eq!(all_together::differences("teardown"), None);
}

/// `cargo test --test main aws_like::every_scenario -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes; a sample runs with all tests"]
fn every_scenario() {
    let failed =
        all_together::every_difference(|name, is_same| println!("{name}: {}", if is_same { "ok" } else { "failed" }));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// `cargo test --test main aws_like::ten_first_hubs -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes; prints how many succeeded, and the wall times"]
fn ten_first_hubs() {
    let hubs: Vec<_> = (0..10).map(|number| std::thread::spawn(move || all_together::first_hub(number))).collect();
    let hubs: Vec<_> = hubs.into_iter().map(|hub| hub.join().unwrap()).collect();
    for step in 0..hubs[0].len() {
        let runs: Vec<_> = hubs.iter().map(|hub| &hub[step]).collect();
        let good = runs.iter().filter(|run| run.came.succeeded()).count();
        let mut took: Vec<_> = runs.iter().map(|run| run.took.as_secs_f64()).collect();
        took.sort_by(f64::total_cmp);
        println!("{}: {good} of 10, {:.1} s to {:.1} s, median {:.1} s", runs[0].line, took[0], took[9], took[5]);
    }
    let failed = hubs.iter().flatten().filter(|run| !run.came.succeeded());
    let failed: Vec<_> = failed.map(|run| format!("{}\n{}", run.line, run.came)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
