//! The parameter with the settings of a hub: what it shows, what is wrong with it, and what happens without it.

use std::process::Output;

use kibus::model::parse_time;

use serde_json::{Value, json};

use super::bench::{Bench, SETTINGS, planned, text};

#[tokio::test]
async fn the_parameter_is_a_readable_document() {
    let bench = Bench::new().await;
    let options = ["--retention=120m", "--memory=512", "--tag=team=a b", "--tag=env=x", "--reserved-concurrency=none"];
    let set_up: Vec<&str> = ["bootstrap-hub", "--yes", "--rebalance"].into_iter().chain(options).collect();
    bench.done(&set_up);
    let parameter = bench.parameter().await.unwrap();
    assert_eq!(
        (&parameter["Name"], &parameter["Type"], &parameter["Version"]),
        (&json!(SETTINGS), &json!("String"), &json!(1))
    );
    let document = concat!(
        r#"{"format":1,"options":{"memory":"512","rebalance":true,"reserved-concurrency":"none","retention":"2h","#,
        r#""tag":{"env":"x","team":"a b"}}}"#
    );
    assert_eq!(timeless(bench.settings().await), serde_json::from_str::<Value>(document).unwrap(), "{parameter}");
    let list = json!({ "ResourceType": "Parameter", "ResourceId": SETTINGS }).to_string();
    let mut tags = bench.account().json("ssm", "ListTagsForResource", &list).await["TagList"].clone();
    let tags = tags.as_array_mut().unwrap();
    tags.sort_by_key(|tag| tag["Key"].to_string());
    let tag = |key: &str, value: &str| json!({ "Key": key, "Value": value });
    assert_eq!(*tags, [tag("env", "x"), tag("kibus:bus", "kibus"), tag("team", "a b")]);
    // What is given later is added, in one write.
    bench.done(&["bootstrap-hub", "--yes", "--memory=256"]);
    assert_eq!(bench.settings().await["options"]["memory"], "256", "the default as a choice");
    assert_eq!(bench.settings().await["options"]["retention"], "2h");
    assert_eq!(bench.parameter().await.unwrap()["Version"], 2);
    bench.done(&["teardown", "--yes"]);
    assert_eq!(bench.parameter().await, None);
}

/// A document without the time that it says, which it says.
fn timeless(mut document: Value) -> Value {
    let since = document.as_object_mut().unwrap().remove("since").unwrap();
    assert!(since.as_str().and_then(parse_time).is_some(), "{since}");
    document
}

/// The one command after which a person can go on, among what a command has written.
fn restoring(output: &Output) -> String {
    let said = text(&output.stderr);
    let commands: Vec<&str> =
        said.lines().filter_map(|line| Some(&line[line.find("kibus bootstrap-hub --restore-settings")?..])).collect();
    let [command] = commands[..] else { panic!("{said}") };
    command.trim().to_owned()
}

/// Runs these commands at the same time, because each of them believes what is absent only after some seconds.
fn all(bench: &Bench, commands: &[&'static str]) -> Vec<(&'static str, Output)> {
    std::thread::scope(|scope| {
        let run = |line: &'static str| {
            let run = move || (line, bench.run(&line.split(' ').collect::<Vec<_>>(), &[]));
            scope.spawn(run)
        };
        let running: Vec<_> = commands.iter().map(|line| run(line)).collect();
        running.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

/// The commands that need the settings of a hub and are asked to change something.
const CHANGES: [&str; 4] = [
    "bootstrap-hub --yes",
    "add-cluster two --no-controller-role --yes",
    "remove-cluster base --yes",
    "rollback --yes",
];

#[tokio::test]
async fn what_is_no_settings_of_this_kibus_is_one_error_and_nothing_changes() {
    let bench = Bench::new().await;
    bench.done(&["bootstrap-hub", "--yes", "--memory=512", "--retention=2h"]);
    bench.done(&["add-cluster", "base", "--no-controller-role", "--yes"]);
    let good = bench.settings().await.to_string();
    for (value, says, restores) in [
        ("hello", "cannot be used: its document is damaged: expected value", true),
        ("{", "cannot be used: its document is damaged: EOF", true),
        ("[]", "it has no format number of kibus", true),
        (r#"{"owner": "someone else"}"#, "it has no format number of kibus", true),
        (r#"{"format": 2, "options": {}}"#, "has format 2, and this kibus reads format 1", false),
        (r#"{"format": 1, "options": {}}"#, "missing field `since`", true),
        (r#"{"format": 1, "options": {"memory": "64"}}"#, "`64` is not a whole number from 128 to 10240", true),
        (r#"{"format": 1, "options": {"tag": {"kibus:bus": "x"}}}"#, "`kibus:bus=x`", true),
        (r#"{"format": 1, "options": {}, "pinned-version": "x"}"#, "invalid type", true),
        (r#"{"format": 1, "options": {}, "old-keys": {"x": "2026-01-01T00:00:00Z"}}"#, "`x`", true),
    ] {
        bench.write_settings(value).await;
        let version = bench.parameter().await.unwrap()["Version"].clone();
        for (command, output) in all(&bench, &CHANGES) {
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(4), "{value}: {command}: {said}");
            let errors = said.lines().filter(|line| line.starts_with("error")).count();
            let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(errors == 1 && words.contains(says), "{value}: {command}: {said}");
            if restores {
                let command = restoring(&output);
                assert!(command.contains("--memory 512") && command.contains("--retention 2h"), "{command}");
            } else {
                assert!(words.contains("use the version of kibus that wrote it"), "{said}")
            }
        }
        assert_eq!(bench.parameter().await.unwrap()["Version"], version, "{value}");
    }
    bench.write_settings(&good).await;
    bench.done(&["verify"]);
}

#[tokio::test]
async fn bad_settings_harm_no_other_hub_and_no_command_that_needs_none() {
    let bench = Bench::new().await;
    for bus in ["kibus", "two"] {
        bench.done(&["bootstrap-hub", "--yes", "--bus", bus]);
    }
    let commands = ["discover", "policy operator", "policy router", "verify --bus=two"];
    for value in ["hello", r#"{"format": 2, "options": {}}"#] {
        bench.write_settings(value).await;
        let harmed = all(&bench, &commands).into_iter().filter(|(_, output)| !output.status.success());
        let harmed: Vec<_> = harmed.map(|(line, output)| (line, text(&output.stderr))).collect();
        assert!(harmed.is_empty(), "{value}: {harmed:#?}");
        // It lists the other bus, and fails for what it does not know.
        let list = bench.run(&["list"], &[]);
        assert_eq!(list.status.code(), Some(4), "{value}: {}", text(&list.stderr));
        assert!(text(&list.stdout).contains("two"), "{value}: {}", text(&list.stdout));
    }
}

#[tokio::test]
async fn damaged_settings_are_replaced_by_the_printed_command() {
    let bench = Bench::new().await;
    bench.done(&["bootstrap-hub", "--yes", "--memory=512", "--tag=team=a b"]);
    let good = bench.settings().await;
    bench.write_settings("{").await;
    let output = bench.run(&["bootstrap-hub", "--yes"], &[]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let restored = bench.shell(&format!("{} --yes", restoring(&output)));
    assert!(restored.status.success(), "{}", text(&restored.stderr));
    assert_eq!(timeless(bench.settings().await), timeless(good));
    bench.done(&["verify"]);
}

#[tokio::test]
async fn settings_that_are_too_long_are_refused_with_the_tags_that_take_most() {
    let bench = Bench::new().await;
    let tags: Vec<String> =
        (10..35).map(|number| format!("--tag=long-{number}={}", "x".repeat(200 + number))).collect();
    let short = ["--tag=team=a"];
    let arguments: Vec<&str> = ["bootstrap-hub", "--yes"].into_iter().chain(short).collect();
    let arguments: Vec<&str> = arguments.into_iter().chain(tags.iter().map(String::as_str)).collect();
    let output = bench.run(&arguments, &[]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    for words in ["holds 4096", "`long-34` takes 241", "`long-33` takes 240", "fewer or shorter tags"] {
        assert!(said.replace(',', "").contains(words), "{words}: {said}");
    }
    assert_eq!(bench.resources().await, 0);
    // A hub that exists keeps what it has.
    bench.done(&["bootstrap-hub", "--yes", "--memory=512"]);
    let before = bench.parameter().await;
    assert_eq!(bench.run(&arguments, &[]).status.code(), Some(4));
    assert_eq!(bench.parameter().await, before);
    bench.done(&["verify"]);
}

#[tokio::test]
async fn lost_settings_are_restored_by_the_printed_command() {
    let bench = Bench::new().await;
    let options = [
        "--memory=512",
        "--retention=7200",
        "--queue-name=x-{cluster}-y",
        "--tag=team=a b",
        "--log-retention=30",
        "--tag-conditions=false",
        "--rebalance",
        "--role-path=/team/",
    ];
    let set_up: Vec<&str> = ["bootstrap-hub", "--yes"].into_iter().chain(options).collect();
    bench.done(&set_up);
    bench.done(&["add-cluster", "base", "--no-controller-role", "--yes"]);
    let (good, count) = (bench.settings().await, bench.resources().await);
    bench.lose_settings().await;
    let mut commands = Vec::new();
    for (command, output) in all(&bench, &CHANGES) {
        assert_eq!(output.status.code(), Some(4), "{command}: {}", text(&output.stderr));
        commands.push(restoring(&output));
    }
    assert_eq!(bench.resources().await, count - 1, "nothing else has changed");
    let restoring = commands.pop().unwrap();
    for other in commands {
        assert_eq!(other, restoring);
    }
    let (document, code) = bench.json(&["verify"], &[]);
    let findings = document["hubs"][0]["problems"].as_array().unwrap().clone();
    let lost: Vec<_> = findings.iter().filter(|finding| finding["code"] == "K113").collect();
    assert_eq!((lost.len(), lost[0]["severity"].as_str(), code), (1, Some("critical"), Some(2)), "{document}");
    let restored = bench.shell(&format!("{restoring} --yes"));
    assert!(restored.status.success(), "{restoring}: {}", text(&restored.stderr));
    assert_eq!(timeless(bench.settings().await), timeless(good), "{restoring}");
    bench.done(&["verify"]);
}

#[tokio::test]
async fn a_teardown_needs_no_settings() {
    for options in [&[][..], &["--queue-name={cluster}-x"], &["--queue-name={cluster}"]] {
        let bench = Bench::new().await;
        let set_up: Vec<&str> = ["bootstrap-hub", "--yes"].into_iter().chain(options.iter().copied()).collect();
        bench.done(&set_up);
        bench.done(&["add-cluster", "base", "--no-controller-role", "--yes"]);
        bench.lose_settings().await;
        bench.done(&["teardown", "--yes"]);
        assert_eq!(bench.resources().await, 0, "{options:?}");
        let left = bench.account().json("sqs", "ListQueues", "{}").await;
        assert_eq!(left["QueueUrls"].as_array().map_or(0, Vec::len), 0, "{options:?}: {left}");
    }
}

/// A tag decides nothing: what the document says counts.
#[tokio::test]
async fn a_parameter_without_tags_counts_by_its_document() {
    let bench = Bench::new().await;
    let create = async |value: &str| {
        let put = json!({ "Name": SETTINGS, "Type": "String", "Value": value });
        bench.account().call("ssm", "PutParameter", &put.to_string()).await;
    };
    create("hello").await;
    let output = bench.run(&["bootstrap-hub", "--yes"], &[]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains(SETTINGS), "{said}");
    assert_eq!(bench.parameter().await.unwrap()["Value"], "hello");
    assert_eq!(bench.resources().await, 1, "only theirs");
    bench.lose_settings().await;
    create(r#"{"format": 1, "options": {"memory": "512"}, "since": "2020-01-01T00:00:00Z"}"#).await;
    let (document, code) = bench.json(&["bootstrap-hub", "--yes"], &[]);
    assert_eq!(code, Some(0), "{document}");
    let plan = planned(&document);
    let memory = plan.get(&("function".to_owned(), "kibus-router".to_owned(), "memory".to_owned()));
    assert_eq!(memory, Some(&json!(512)), "{document}");
    bench.done(&["verify"]);
}
