//! Behaviors of Parameter Store, and what kibus makes of them.

use kibus::cloud::{Fault, Read, Waiting, Write};
use kibus::model::{HubOptions, Parameter, Resource, ResourceId, Settings, Tags};
use kibus::plan::{Change, diff};
use serde_json::{Value, json};

use super::{Clients, said, with};
use crate::aws_like::Behavior;
use crate::support::behaving_cloud::BehavingCloud;

async fn put(aws: &Clients, value: &str, more: Value) -> String {
    let mut input = json!({ "Name": "/kibus/x", "Type": "String", "Value": value });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    said(aws.parameters.call::<Value>("PutParameter", input).await)
}

async fn delete(aws: &Clients) -> String {
    let input = json!({ "Name": "/kibus/x" });
    said(aws.parameters.call::<Value>("DeleteParameter", input).await)
}

/// The value that a read shows, or why it shows none.
async fn get(aws: &Clients) -> String {
    let answer = aws.parameters.call::<Value>("GetParameter", json!({ "Name": "/kibus/x" })).await;
    match answer {
        Ok(found) => found["Parameter"]["Value"].as_str().unwrap().to_owned(),
        Err(e) => said(Err::<(), _>(e)),
    }
}

async fn listed(aws: &Clients) -> usize {
    let input = json!({ "Path": "/kibus/" });
    let answer: Value = aws.parameters.call("GetParametersByPath", input).await.unwrap();
    answer["Parameters"].as_array().unwrap().len()
}

#[test]
fn n1_a_parameter_is_created_once_and_has_bounds() {
    with("200000000050", "N1", async |aws| {
        let tags = json!({ "Tags": [{ "Key": "a", "Value": "b" }] });
        assert_eq!(put(aws, "1", tags.clone()).await, "ok");
        assert_eq!(put(aws, "2", tags).await, "ParameterAlreadyExists");
        let both = json!({ "Overwrite": true, "Tags": [{ "Key": "a", "Value": "b" }] });
        let over = || json!({ "Overwrite": true });
        assert_eq!(put(aws, "2", both).await, "ValidationException");
        assert_eq!(put(aws, &"x".repeat(4_097), over()).await, "ValidationException");
        assert_eq!(put(aws, "{{x}}", over()).await, "ValidationException");
        assert_eq!(put(aws, &"x".repeat(4_096), over()).await, "ok");
        assert_eq!(aws.proxy.like.strikes(Behavior::N1), 3);
    });
}

#[test]
fn n3_the_name_of_a_deleted_parameter_is_refused_for_a_while() {
    with("200000000051", "N3", async |aws| {
        assert_eq!(put(aws, "1", json!({})).await, "ok");
        assert_eq!(delete(aws).await, "ok");
        assert_eq!(get(aws).await, "ParameterNotFound");
        assert_eq!(put(aws, "2", json!({})).await, "ParameterAlreadyExists");
        assert_eq!(delete(aws).await, "ParameterNotFound");
        aws.proxy.like.settle().await;
        assert_eq!(put(aws, "2", json!({})).await, "ok");
        assert_eq!(aws.proxy.like.take_struck(), [Behavior::N3]);
    });
}

#[test]
fn n4_reads_show_what_was_before_the_last_write() {
    with("200000000052", "held N4", async |aws| {
        let seen = async || (get(aws).await, listed(aws).await);
        assert_eq!(put(aws, "1", json!({})).await, "ok");
        assert_eq!(seen().await, ("ParameterNotFound".to_owned(), 0));
        aws.proxy.like.settle().await;
        assert_eq!(seen().await, ("1".to_owned(), 1));
        aws.proxy.like.switch("held N4");
        for value in ["2", "3"] {
            assert_eq!(put(aws, value, json!({ "Overwrite": true })).await, "ok");
            assert_eq!(seen().await, ("1".to_owned(), 1));
        }
        aws.proxy.like.settle().await;
        assert_eq!(seen().await, ("3".to_owned(), 1));
        aws.proxy.like.switch("held N4");
        assert_eq!(delete(aws).await, "ok");
        assert_eq!(seen().await, ("3".to_owned(), 1));
        aws.proxy.like.settle().await;
        assert_eq!(seen().await, ("ParameterNotFound".to_owned(), 0));
        assert_eq!(aws.proxy.like.take_struck(), [Behavior::N4]);
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
        tags: Tags::of(&scope.bus),
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

/// A tag that is dropped leaves the parameter before its value forgets the tag, or a killed run would leave it there for good.
#[test]
fn tags_that_leave_are_removed_before_the_value_is_written() {
    crate::aws_like::Server::shared().runtime.block_on(async {
        let cloud = BehavingCloud::of("200000000055").await;
        let waits = std::sync::Mutex::default();
        let mut old = parameter(&cloud, "512");
        old.tags_mut().unwrap().0.insert("team".to_owned(), "a".to_owned());
        written(&cloud, &Change::create(None, old.clone()), &waits).await.unwrap();
        // A value that Parameter Store refuses stands for a run that is killed before this call.
        cloud.proxy.like.switch("N1");
        let tags = (10..30).map(|number| format!("t{number}={}", "x".repeat(230)).parse().unwrap());
        let options = HubOptions { tag: Some(tags.collect()), ..HubOptions::default() };
        let mut new = parameter(&cloud, "512");
        if let Resource::Parameter(parameter) = &mut new {
            parameter.settings = Ok(options.into());
        }
        let from = cloud.cloud.read(&old.id()).await.unwrap().unwrap();
        let fields = diff(&new, &from, &["team".to_owned()].into());
        let update = Change::update(None, from, new, fields);
        written(&cloud, &update, &waits).await.unwrap_err();
        let left = cloud.cloud.read(&old.id()).await.unwrap().unwrap();
        assert_eq!(left.tags().unwrap().get("team"), None);
        assert_eq!(settings(&cloud).await.as_ref(), old.as_parameter().unwrap().settings());
    });
}
