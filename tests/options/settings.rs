//! The parameter with the settings of a hub.

use serde_json::json;

use super::bench::{Bench, SETTINGS, text};

#[tokio::test]
async fn the_parameter_has_the_tags_of_the_hub() {
    let bench = Bench::new().await;
    bench.done(&["bootstrap-hub", "--yes", "--tag=team=a b"]);
    let list = json!({ "ResourceType": "Parameter", "ResourceId": SETTINGS }).to_string();
    let mut tags = bench.0.account.json("ssm", "ListTagsForResource", &list).await["TagList"].take();
    tags.as_array_mut().unwrap().sort_by_key(|tag| tag["Key"].to_string());
    assert_eq!(tags, json!([{ "Key": "kibus:bus", "Value": "kibus" }, { "Key": "team", "Value": "a b" }]));
}

#[tokio::test]
async fn bad_settings_harm_no_other_hub_and_no_command_that_needs_none() {
    let bench = Bench::new().await;
    for bus in ["kibus", "two"] {
        bench.done(&["bootstrap-hub", "--yes", "--bus", bus]);
    }
    for value in ["hello", r#"{"format": 2, "options": {}}"#] {
        bench.write_settings(value).await;
        for line in ["discover", "policy operator", "policy router", "verify --bus=two"] {
            bench.done(&line.split(' ').collect::<Vec<_>>());
        }
        // It lists the other bus, and fails because of the unknown one.
        let list = bench.run(&["list"], &[]);
        assert_eq!(list.status.code(), Some(4), "{value}: {}", text(&list.stderr));
        assert!(text(&list.stdout).contains("two"), "{value}: {}", text(&list.stdout));
    }
}

#[tokio::test]
async fn a_teardown_finds_cluster_queues_of_any_name_without_settings() {
    let bench = Bench::new().await;
    for name in ["{cluster}-x", "{cluster}"] {
        bench.done(&["bootstrap-hub", "--yes", "--queue-name", name]);
        bench.done(&["add-cluster", "base", "--no-controller-role", "--yes"]);
        bench.0.account.call("ssm", "DeleteParameter", &json!({ "Name": SETTINGS }).to_string()).await;
        bench.done(&["teardown", "--yes"]);
        assert_eq!(bench.resources().await, [], "{name}");
        let left = bench.0.account.json("sqs", "ListQueues", "{}").await;
        assert_eq!(left["QueueUrls"].as_array().map_or(0, Vec::len), 0, "{name}: {left}");
    }
}
