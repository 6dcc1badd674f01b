//! Saved options: their copy, and invalid ones.

use kibus::cloud::Read;
use kibus::model::resource::{Resource, ResourceId};
use serde_json::json;

use super::bench::{Bench, text};

#[tokio::test]
async fn a_hub_without_its_dead_letter_queue_keeps_its_options() {
    let bench = Bench::new().await;
    bench.role("KarpenterServiceAccount-base").await;
    let options = [
        "--memory=512",
        "--retention=7200",
        "--queue-prefix=x-",
        "--tag=team=a b",
    ];
    let set_up: Vec<&str> = ["bootstrap-hub", "--yes"].into_iter().chain(options).collect();
    bench.done(&set_up);
    bench.done(&["add-cluster", "base", "--yes"]);
    bench.forget().await;
    let (document, _) = bench.json(&["bootstrap-hub", "--dry-run"], &[]);
    let hub = &document["hubs"][0];
    assert_eq!(
        (&hub["summary"]["create"], &hub["summary"]["update"], &hub["warnings"]),
        (&json!(1), &json!(0), &json!([])),
        "the function has a copy: {document}"
    );
    bench.done(&["bootstrap-hub", "--yes"]);
    bench.done(&["verify"]);
}

#[tokio::test]
async fn the_dead_letter_queue_wins_over_the_copy_on_the_function() {
    let bench = Bench::new().await;
    bench.done(&["bootstrap-hub", "--yes", "--memory=512"]);
    bench.remember("kibus:option:memory", "1024").await;
    bench.done(&["bootstrap-hub", "--yes"]);
    let function = ResourceId::Function(bench.cloud.scope().router_function());
    let function = bench.cloud.read(&function).await.unwrap().unwrap();
    let Resource::Function(live) = &function else {
        panic!("{function:?}")
    };
    assert_eq!((live.settings.memory, live.tags.option("memory")), (1024, Some("1024")));
}

#[tokio::test]
async fn an_invalid_saved_option_is_refused_until_it_is_set_again() {
    let bench = Bench::new().await;
    bench.done(&["bootstrap-hub", "--yes", "--memory=512"]);
    bench.remember("kibus:option:memory", "lots").await;
    let output = bench.run(&["bootstrap-hub", "--yes"], &[]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("pass --memory to save it again"));
    bench.done(&["bootstrap-hub", "--yes", "--memory=512"]);
    bench.done(&["verify"]);
}
