//! Behaviors of Parameter Store, and what kibus makes of them.

use kibus::cloud::{Fault, Read, Waiting, Write};
use kibus::model::{HubOptions, Parameter, Resource, ResourceId, Settings, Tags};
use kibus::plan::{Change, diff};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Clients, said, with};
use crate::aws_like::Behavior;
use crate::support::behaving_cloud::BehavingCloud;

/// What a call answers, or the code of its error.
async fn call(aws: &Clients, operation: &'static str, input: Value) -> Result<Value, String> {
    let answer = aws.parameters.call::<Value>(operation, input).await;
    answer.map_err(|e| said(Err::<(), _>(e)))
}

async fn put_named(aws: &Clients, name: &str, value: &str, more: Value) -> String {
    let mut input = json!({ "Name": name, "Type": "String", "Value": value });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    match call(aws, "PutParameter", input).await {
        Ok(made) => format!("ok, version {}", made["Version"]),
        Err(code) => code,
    }
}

async fn put(aws: &Clients, value: &str, more: Value) -> String {
    put_named(aws, "/kibus/x", value, more).await
}

async fn delete(aws: &Clients) -> String {
    let input = json!({ "Name": "/kibus/x" });
    call(aws, "DeleteParameter", input).await.map_or_else(|code| code, |_| "ok".to_owned())
}

/// The value that a read shows, or why it shows none.
async fn get(aws: &Clients) -> String {
    let answer = call(aws, "GetParameter", json!({ "Name": "/kibus/x" })).await;
    answer.map_or_else(|code| code, |found| text(&found["Parameter"]["Value"]))
}

/// A call about several names: what it answers about those that exist, and about those that are absent.
async fn several(aws: &Clients, operation: &'static str, names: &[&str]) -> Result<[Vec<String>; 2], String> {
    let answer = call(aws, operation, json!({ "Names": names })).await?;
    let existing = if operation == "GetParameters" { "Parameters" } else { "DeletedParameters" };
    Ok([existing, "InvalidParameters"].map(|list| {
        let list = answer[list].as_array().unwrap().iter();
        list.map(|one| if one.is_string() { text(one) } else { text(&one["Value"]) }).collect()
    }))
}

/// The values that each page of a list shows, by the last part of their names.
async fn pages(aws: &Clients, path: &str, more: Value) -> Result<Vec<Vec<String>>, String> {
    let mut input = json!({ "Path": path });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut pages = Vec::new();
    loop {
        let mut page = call(aws, "GetParametersByPath", input.clone()).await?;
        let names = page["Parameters"].as_array().unwrap().iter().map(|found| text(&found["Name"]));
        pages.push(names.map(|name| name.rsplit('/').next().unwrap_or_default().to_owned()).collect());
        input["NextToken"] = page["NextToken"].take();
        if input["NextToken"].is_null() {
            return Ok(pages);
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn n1_a_parameter_is_created_once_and_has_bounds() {
    with("200000000050", "N1", async |aws| {
        let over = || json!({ "Overwrite": true });
        let tags = || json!({ "Tags": [{ "Key": "a", "Value": "b" }] });
        let both = json!({ "Overwrite": true, "Tags": [{ "Key": "a", "Value": "b" }] });
        let (most, too_many) = ("x".repeat(4_096), "x".repeat(4_097));
        for (value, more, said) in [
            ("1", tags(), "ok, version 1"),
            ("2", tags(), "ParameterAlreadyExists"),
            ("2", both, "ValidationException"),
            ("", over(), "ValidationException"),
            (&too_many, over(), "ValidationException"),
            ("{{x}}", over(), "ValidationException"),
            (&most, over(), "ok, version 2"),
            ("2", over(), "ok, version 3"),
        ] {
            assert_eq!(put(aws, value, more.clone()).await, said, "{value} {more}");
        }
        assert_eq!(aws.proxy.like.strikes(Behavior::N1), 4);
        // A name may be a leaf and a path at once.
        assert_eq!(put_named(aws, "/kibus/x/clusters/a", "1", json!({})).await, "ok, version 1");
    });
}

#[test]
fn n2_calls_share_rates() {
    with("200000000056", "N2", async |aws| {
        let name = || json!({ "Name": "/kibus/x" });
        let names = || json!({ "Names": ["/kibus/x"] });
        let tags = || json!({ "ResourceType": "Parameter", "ResourceId": "/kibus/x", "Tags": [], "TagKeys": [] });
        for (one, of_one, other, of_other, is_shared) in [
            ("GetParameter", name(), "GetParameters", names(), true),
            ("GetParameter", name(), "GetParametersByPath", json!({ "Path": "/kibus" }), true),
            ("DeleteParameter", name(), "DeleteParameters", names(), true),
            ("ListTagsForResource", tags(), "AddTagsToResource", tags(), true),
            ("ListTagsForResource", tags(), "RemoveTagsFromResource", tags(), true),
            ("GetParameter", name(), "DeleteParameter", name(), false),
            ("GetParameter", name(), "ListTagsForResource", tags(), false),
        ] {
            let throttled = || Err("ThrottlingException".to_owned());
            let mut shared = false;
            // A slow machine may make the second call when there is a token again.
            for _ in 0..5 {
                // The buckets are full again.
                aws.proxy.like.switch("N2");
                while call(aws, one, of_one.clone()).await != throttled() {}
                shared |= call(aws, other, of_other.clone()).await == throttled();
            }
            assert_eq!(shared, is_shared, "{one} and {other}");
        }
    });
}

#[test]
fn n2_a_second_update_at_once_is_refused() {
    with("200000000057", "rates", async |aws| {
        let over = || json!({ "Overwrite": true });
        let tag =
            json!({ "ResourceType": "Parameter", "ResourceId": "/kibus/x", "Tags": [{ "Key": "a", "Value": "b" }] });
        let mut refused = 0;
        // On a busy machine, one call may be over before the next one arrives. After a second, the rate allows more.
        for _ in 0..5 {
            let (one, other, tag) =
                tokio::join!(put(aws, "1", over()), put(aws, "2", over()), call(aws, "AddTagsToResource", tag.clone()));
            let tag = tag.map_or_else(|code| code, |_| "ok".to_owned());
            refused = [&one, &other, &tag].into_iter().filter(|said| *said == "TooManyUpdates").count();
            if refused > 0 {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(refused > 0);
        assert_eq!(aws.proxy.like.take_struck(), [Behavior::N2]);
        assert!(put(aws, "3", over()).await.starts_with("ok"), "the one before it is over");
    });
}

#[test]
fn n3_the_name_of_a_deleted_parameter_is_refused_for_a_while() {
    with("200000000051", "N3", async |aws| {
        for several_at_once in [false, true] {
            aws.proxy.like.settle().await;
            assert_eq!(put(aws, "1", json!({})).await, "ok, version 1");
            if several_at_once {
                let deleted = several(aws, "DeleteParameters", &["/kibus/x", "/kibus/y"]).await.unwrap();
                assert_eq!(deleted, [["/kibus/x"], ["/kibus/y"]]);
            } else {
                assert_eq!(delete(aws).await, "ok");
            }
            assert_eq!(get(aws).await, "ParameterNotFound");
            assert_eq!(put(aws, "2", json!({})).await, "ParameterAlreadyExists");
            assert_eq!(delete(aws).await, "ParameterNotFound");
        }
        // What did not exist was not deleted.
        assert_eq!(put_named(aws, "/kibus/y", "2", json!({})).await, "ok, version 1");
        aws.proxy.like.settle().await;
        assert_eq!(put(aws, "2", json!({})).await, "ok, version 1");
        assert_eq!(aws.proxy.like.take_struck(), [Behavior::N3]);
    });
}

#[test]
fn n4_reads_show_what_was_before_the_last_write() {
    with("200000000052", "held N4", async |aws| {
        // What each kind of read shows; a list has names only.
        let seen = async || {
            let [found, absent] = several(aws, "GetParameters", &["/kibus/x"]).await.unwrap();
            let listed = pages(aws, "/kibus", json!({})).await.unwrap().concat();
            (get(aws).await, [found, absent].concat(), listed)
        };
        let absent = || ("ParameterNotFound".to_owned(), vec!["/kibus/x".to_owned()], vec![]);
        let shown = |value: &str| (value.to_owned(), vec![value.to_owned()], vec!["x".to_owned()]);
        assert_eq!(put(aws, "1", json!({})).await, "ok, version 1");
        assert_eq!(seen().await, absent());
        aws.proxy.like.settle().await;
        assert_eq!(seen().await, shown("1"));
        aws.proxy.like.switch("held N4");
        for value in ["2", "3"] {
            assert!(put(aws, value, json!({ "Overwrite": true })).await.starts_with("ok"));
            assert_eq!(seen().await, shown("1"));
        }
        aws.proxy.like.settle().await;
        assert_eq!(seen().await, shown("3"));
        aws.proxy.like.switch("held N4");
        assert_eq!(delete(aws).await, "ok");
        assert_eq!(seen().await, shown("3"));
        aws.proxy.like.settle().await;
        assert_eq!(seen().await, absent());
        assert_eq!(put(aws, "4", json!({})).await, "ok, version 1");
        aws.proxy.like.settle().await;
        aws.proxy.like.switch("held N4");
        let deleted = several(aws, "DeleteParameters", &["/kibus/x", "/kibus/y"]).await.unwrap();
        assert_eq!(deleted, [["/kibus/x"], ["/kibus/y"]]);
        assert_eq!(seen().await, shown("4"));
        aws.proxy.like.settle().await;
        assert_eq!(seen().await, absent());
        assert_eq!(aws.proxy.like.take_struck(), [Behavior::N4]);
    });
}

/// A late list is of its path and level only, and has its parameters in order.
#[test]
fn n4_a_late_list_has_nothing_of_other_levels() {
    with("200000000058", "none", async |aws| {
        for name in ["/kibus/a", "/kibus/b", "/kibus/b/clusters/c", "/kibus2/d"] {
            assert_eq!(put_named(aws, name, "1", json!({})).await, "ok, version 1");
        }
        aws.proxy.like.switch("held N4");
        let names = ["/kibus/a", "/kibus/b/clusters/c", "/kibus2/d"];
        assert_eq!(several(aws, "DeleteParameters", &names).await.unwrap()[0], names);
        for (path, more, listed) in [
            ("/kibus", json!({}), &["a", "b"][..]),
            ("/kibus/", json!({}), &["a", "b"]),
            ("/kibus", json!({ "Recursive": true }), &["a", "b", "c"]),
            ("/kibus/b", json!({}), &[]),
            ("/kibus/b/clusters", json!({}), &["c"]),
        ] {
            assert_eq!(pages(aws, path, more.clone()).await.unwrap(), [listed], "{path} {more}");
        }
    });
}

#[test]
fn n5_n8_a_list_has_short_pages_and_an_empty_one() {
    with("200000000059", "none", async |aws| {
        let name = |number: usize| format!("/kibus/x/clusters/{number:02}");
        for number in 0..12 {
            assert_eq!(put_named(aws, &name(number), "1", json!({})).await, "ok, version 1");
        }
        for (ids, more, sizes) in [
            ("N5", json!({}), Ok(vec![10, 2])),
            ("N5", json!({ "MaxResults": 5 }), Ok(vec![5, 5, 2])),
            ("N5", json!({ "MaxResults": 11 }), Err("ValidationException")),
            ("N8", json!({}), Ok(vec![0, 10, 2])),
            ("N5 N8", json!({ "MaxResults": 6 }), Ok(vec![0, 6, 6])),
            ("N5", json!({ "NextToken": "x" }), Err("InvalidNextToken")),
        ] {
            aws.proxy.like.switch(ids);
            let pages = pages(aws, "/kibus/x/clusters", more.clone()).await;
            let came = pages.as_ref().map(|pages| pages.iter().map(Vec::len).collect::<Vec<_>>());
            assert_eq!(came.map_err(String::as_str), sizes, "{ids} {more}");
            if let Ok(pages) = pages {
                assert_eq!(pages.concat(), (0..12).map(|number| format!("{number:02}")).collect::<Vec<_>>());
            }
        }
        for (ids, path, pages_of) in [("N8", "/kibus", 2), ("N5", "/kibus", 1)] {
            aws.proxy.like.switch(ids);
            let only_the_next_level = vec![Vec::<String>::new(); pages_of];
            assert_eq!(pages(aws, path, json!({})).await.unwrap(), only_the_next_level, "{ids}");
        }
        assert_eq!(aws.proxy.like.take_struck(), [Behavior::N5, Behavior::N8]);
    });
}

#[test]
fn n7_a_call_names_ten_parameters_and_reports_the_absent_ones() {
    with("200000000060", "N7", async |aws| {
        assert_eq!(put(aws, "1", json!({})).await, "ok, version 1");
        let names: Vec<_> = (0..11).map(|number| format!("/kibus/{number}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        for operation in ["GetParameters", "DeleteParameters"] {
            for (names, said) in [
                (&names[..], Err("ValidationException")),
                (&[], Err("ValidationException")),
                (&names[1..], Ok([vec![], names[1..].to_vec()])),
                (
                    &["/kibus/0", "/kibus/x"],
                    Ok([vec![if operation == "GetParameters" { "1" } else { "/kibus/x" }], vec!["/kibus/0"]]),
                ),
            ] {
                let came = several(aws, operation, names).await;
                let said = said.map(|lists| lists.map(|list| list.into_iter().map(str::to_owned).collect()));
                assert_eq!(came, said.map_err(str::to_owned), "{operation} {names:?}");
            }
        }
        assert_eq!(get(aws).await, "ParameterNotFound");
        assert_eq!(aws.proxy.like.strikes(Behavior::N7), 4);
    });
}

/// The settings of a hub of this cloud.
fn parameter(cloud: &BehavingCloud, memory: &str) -> Resource {
    let scope = cloud.cloud.scope();
    let options = HubOptions { memory: Some(memory.parse().unwrap()), ..HubOptions::default() };
    Resource::Parameter(Parameter {
        name: scope.settings_parameter(),
        settings: Ok(options.into()),
        version: 0,
        tags_of_new: Tags::of_bus(&scope.bus),
    })
}

async fn settings(cloud: &BehavingCloud) -> Option<Settings> {
    let id = ResourceId::Parameter(cloud.cloud.scope().settings_parameter());
    let found = cloud.cloud.read(&id).await.unwrap()?;
    found.as_parameter()?.settings().cloned()
}

async fn written(cloud: &BehavingCloud, change: &Change, waits: &std::sync::Mutex<Vec<String>>) -> Result<(), Fault> {
    let (_stop, stop) = tokio::sync::watch::channel(false);
    let report = |reason: &str| waits.lock().unwrap().push(reason.to_owned());
    cloud.cloud.write(change, Waiting::new(&report, &stop)).await
}

/// Right after a teardown, the settings of a new hub wait for the name.
#[test]
fn n3_kibus_waits_for_the_name_of_deleted_settings() {
    crate::aws_like::Server::shared().runtime.block_on(async {
        let cloud = BehavingCloud::of("200000000053").await;
        cloud.proxy.like.switch("N3");
        let waits = std::sync::Mutex::default();
        let (old, new) = (parameter(&cloud, "512"), parameter(&cloud, "1024"));
        written(&cloud, &Change::create(None, old.clone()), &waits).await.unwrap();
        written(&cloud, &Change::delete(None, old), &waits).await.unwrap();
        assert_eq!(*waits.lock().unwrap(), [""; 0]);
        written(&cloud, &Change::create(None, new.clone()), &waits).await.unwrap();
        let reason = "Parameter Store does not reuse the name of a deleted parameter for 30 seconds";
        assert!(waits.lock().unwrap().iter().all(|wait| wait == reason), "{waits:?}");
        assert!(!waits.lock().unwrap().is_empty());
        assert!(cloud.proxy.like.strikes(Behavior::N3) > 0);
        assert_eq!(settings(&cloud).await.as_ref(), new.as_parameter().unwrap().settings());
        // What exists is not waited for.
        waits.lock().unwrap().clear();
        let fault = written(&cloud, &Change::create(None, new), &waits).await.unwrap_err();
        assert_eq!((fault.kind, waits.into_inner().unwrap().len()), (kibus::cloud::FaultKind::Exists, 0));
    });
}

/// An old answer shows the same change again, and making it again changes nothing.
#[test]
fn n4_an_old_answer_repeats_a_change() {
    crate::aws_like::Server::shared().runtime.block_on(async {
        let cloud = BehavingCloud::of("200000000054").await;
        cloud.proxy.like.switch("held N4");
        let waits = std::sync::Mutex::default();
        let (old, new) = (parameter(&cloud, "512"), parameter(&cloud, "1024"));
        written(&cloud, &Change::create(None, old.clone()), &waits).await.unwrap();
        assert_eq!(settings(&cloud).await, None);
        cloud.proxy.like.settle().await;
        cloud.proxy.like.switch("held N4");
        for _ in 0..2 {
            let from = cloud.cloud.read(&old.id()).await.unwrap().unwrap();
            let fields = diff(&new, &from, &Default::default());
            assert_eq!(fields.len(), 1, "{fields:?}");
            let update = Change::update(None, from, new.clone(), fields);
            written(&cloud, &update, &waits).await.unwrap();
        }
        cloud.proxy.like.settle().await;
        assert_eq!(settings(&cloud).await.as_ref(), new.as_parameter().unwrap().settings());
        assert!(cloud.proxy.like.strikes(Behavior::N4) > 0);
    });
}
