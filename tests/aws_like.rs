//! An emulator that behaves like AWS: the server that tests share, and the effect of each behavior, shown by SDK calls.

mod server;
mod tests;

use crate::scenario::all_together;
pub(crate) use kibus_harness::aws_like::{AwsLike, Behavior, Caller, Proxy};
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
