//! How kibus handles behaviors of Parameter Store.

use std::sync::Mutex;

use kibus::cloud::{Fault, FaultKind, Read, Waiting, Write};
use kibus::model::{HubOptions, Parameter, Resource, ResourceId, Settings, Tags};
use kibus::plan::{Change, diff};

use crate::aws_like::Behavior;
use crate::support::stage::Stage;

/// The settings of a hub of this cloud.
fn parameter(stage: &Stage, memory: &str) -> Resource {
    let scope = stage.cloud.scope();
    let options = HubOptions { memory: Some(memory.parse().unwrap()), ..HubOptions::default() };
    Resource::Parameter(Parameter {
        name: scope.settings_parameter(),
        settings: Ok(options.into()),
        version: 0,
        tags_of_new: Tags::of_bus(&scope.bus),
    })
}

async fn settings(stage: &Stage) -> Option<Settings> {
    let id = ResourceId::Parameter(stage.cloud.scope().settings_parameter());
    let found = stage.cloud.read(&id).await.unwrap()?;
    found.as_parameter()?.settings().cloned()
}

async fn written(stage: &Stage, change: &Change, waits: &Mutex<Vec<String>>) -> Result<(), Fault> {
    let (_stop, stop) = tokio::sync::watch::channel(false);
    let report = |reason: &str| waits.lock().unwrap().push(reason.to_owned());
    Box::pin(stage.cloud.write(change, Waiting::new(&report, &stop))).await
}

/// Right after a teardown, the settings of a new hub wait for the name.
#[tokio::test]
async fn n3_kibus_waits_for_the_name_of_deleted_settings() {
    let (stage, like) = Stage::like_aws().await;
    like.switch("N3");
    let waits = Mutex::default();
    let (old, new) = (parameter(&stage, "512"), parameter(&stage, "1024"));
    written(&stage, &Change::create(None, old.clone()), &waits).await.unwrap();
    written(&stage, &Change::delete(None, old), &waits).await.unwrap();
    assert_eq!(*waits.lock().unwrap(), [""; 0]);
    written(&stage, &Change::create(None, new.clone()), &waits).await.unwrap();
    let reason = "Parameter Store does not reuse the name of a deleted parameter for 30 seconds";
    assert!(waits.lock().unwrap().iter().all(|wait| wait == reason), "{waits:?}");
    assert!(!std::mem::take(&mut *waits.lock().unwrap()).is_empty());
    assert!(like.strikes(Behavior::N3) > 0);
    assert_eq!(settings(&stage).await.as_ref(), new.as_parameter().unwrap().settings());
    // There is no wait for an existing parameter.
    let fault = written(&stage, &Change::create(None, new), &waits).await.unwrap_err();
    assert_eq!((fault.kind, waits.into_inner().unwrap().len()), (FaultKind::Exists, 0));
}

/// A stale answer shows the same change again, and repeating it changes nothing.
#[tokio::test]
async fn n4_an_old_answer_repeats_a_change() {
    let (stage, like) = Stage::like_aws().await;
    like.switch("held N4");
    let waits = Mutex::default();
    let (old, new) = (parameter(&stage, "512"), parameter(&stage, "1024"));
    written(&stage, &Change::create(None, old.clone()), &waits).await.unwrap();
    assert_eq!(settings(&stage).await, None);
    like.settle().await;
    like.switch("held N4");
    for _ in 0..2 {
        let from = stage.cloud.read(&old.id()).await.unwrap().unwrap();
        let fields = diff(&new, &from, &Default::default());
        assert_eq!(fields.len(), 1, "{fields:?}");
        let update = Change::update(None, from, new.clone(), fields);
        written(&stage, &update, &waits).await.unwrap();
    }
    like.settle().await;
    assert_eq!(settings(&stage).await.as_ref(), new.as_parameter().unwrap().settings());
    assert!(like.strikes(Behavior::N4) > 0);
}
