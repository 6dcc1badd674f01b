//! A hub that others have changed: what is read, and what is then written. Scenarios show the output of commands about it.

use std::collections::BTreeSet;

use kibus::cloud::{FaultKind, Read, Waiting, Write};
use kibus::model::{Code, Desired, HubOptions, Resource, ResourceId, scope::LIVE};
use kibus::plan::{Change, diff};

use crate::aws_like::Proxy;
use crate::support::emulator::Kind;
use crate::support::stage::Stage;
use crate::support::workbench::{ARCHIVES, sha256};

async fn hub_on_ministack() -> (Stage, Desired) {
    let stage = Stage::corrected(Kind::Ministack, "us-west-2").await;
    let hub = stage.hub(HubOptions::default());
    stage.reach(&hub).await;
    (stage, hub)
}

impl Stage {
    fn function(&self) -> ResourceId {
        ResourceId::Function(self.cloud.scope().router_function())
    }

    fn live(&self) -> ResourceId {
        ResourceId::Alias(self.cloud.scope().router_function(), LIVE.to_owned())
    }

    /// The change that restores this resource.
    async fn update_of(&self, to: Resource) -> Change {
        let from = self.cloud.read(&to.id()).await.unwrap().unwrap();
        let fields = diff(&to, &from, &BTreeSet::new());
        Change::update(None, from, to, fields)
    }

    async fn versions(&self) -> Vec<String> {
        let list = self.account.json("lambda", "GET", "functions/kibus-router/versions").await;
        let versions = list["Versions"].as_array().unwrap().iter();
        versions.map(|version| version["Version"].as_str().unwrap().to_owned()).collect()
    }
}

/// That hub with different code.
fn with_other_code(hub: &Desired) -> Desired {
    let code = Code::of_archive("0.2.0", sha256(ARCHIVES[1]));
    let mut desired = hub.clone();
    for mut resource in hub.resources().cloned() {
        match &mut resource {
            Resource::Function(function) => function.settings.code = code.clone(),
            Resource::Alias(alias) => alias.settings.code = code.clone(),
            _ => continue,
        }
        desired.insert(resource);
    }
    desired
}

/// What someone did, the calls, and the kind and fields of the hub that show it.
const BY_OTHERS: [(&str, &str, &str, &[&str]); 6] = [
    (
        "a key, and a log elsewhere with fatal errors only",
        r#"lambda PUT functions/kibus-router/configuration {"KMSKeyArn": "arn:aws:kms:us-west-2:ACCOUNT:key/1",
            "LoggingConfig": {"LogGroup": "/elsewhere", "LogFormat": "JSON", "ApplicationLogLevel": "FATAL"}}"#,
        "function",
        &["logging.group", "logging.format", "extras"],
    ),
    (
        "a layer and a file system",
        r#"lambda POST layers/theirs/versions {"Content": {"ZipFile": "UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA=="}};
           lambda PUT functions/kibus-router/configuration {"Layers": ["arn:aws:lambda:us-west-2:ACCOUNT:layer:theirs:1"],
            "FileSystemConfigs": [{"Arn": "arn:aws:elasticfilesystem:us-west-2:ACCOUNT:access-point/fsap-1",
            "LocalMountPath": "/mnt/x"}]}"#,
        "function",
        &["extras"],
    ),
    (
        "a target with a role, a message group and only a part of the event",
        r#"events PutTargets {"Rule": "kibus-probe", "Targets": [{"Id": "kibus-hub", "InputPath": "$.detail",
            "Arn": "arn:aws:sqs:us-west-2:ACCOUNT:kibus-hub", "RoleArn": "arn:aws:iam::ACCOUNT:role/theirs",
            "SqsParameters": {"MessageGroupId": "one"}}]}"#,
        "rule",
        &["target.rewrite", "target.role", "target.message_group"],
    ),
    (
        "an alias of a version that does not exist",
        r#"lambda PUT functions/kibus-router/aliases/live {"FunctionVersion": "77"}"#,
        "alias",
        &["code", "memory"],
    ),
    (
        "a policy that is no JSON",
        r#"sqs SetQueueAttributes {"QueueUrl": "kibus-hub", "Attributes": {"Policy": "{"}}"#,
        "queue",
        &["policy"],
    ),
    (
        "a second mapping of the hub queue, and one to another alias, which stays",
        r#"lambda POST functions/kibus-router/aliases {"Name": "other", "FunctionVersion": "1"};
           lambda POST event-source-mappings/ {"FunctionName": "kibus-router:live", "EventSourceArn": "QUEUE"};
           lambda POST event-source-mappings/ {"FunctionName": "kibus-router:other", "EventSourceArn": "QUEUE"}"#,
        "event-source-mapping",
        &["duplicates"],
    ),
];

#[tokio::test]
async fn changes_by_others_are_found_and_removed() {
    let (stage, hub) = hub_on_ministack().await;
    for (name, calls, kind, expected) in BY_OTHERS {
        let calls =
            calls.replace("QUEUE", "arn:aws:sqs:us-west-2:ACCOUNT:kibus-hub").replace("ACCOUNT", &stage.account.id);
        for call in calls.split(';') {
            let [service, operation, parameters] = call.trim().splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("{call}")
            };
            stage.account.call(service, operation, parameters).await;
        }
        let mut seen = BTreeSet::new();
        for resource in hub.resources().filter(|resource| resource.id().kind() == kind) {
            let read = stage.cloud.read(&resource.id()).await.unwrap().unwrap();
            seen.extend(diff(resource, &read, &BTreeSet::new()).into_iter().map(|field| field.path));
        }
        for path in expected {
            assert!(seen.contains(*path), "{name}: {path} among {seen:?}");
        }
        stage.reach(&hub).await;
    }
    let mappings = stage.account.json("lambda", "GET", "event-source-mappings/").await;
    assert_eq!(mappings["EventSourceMappings"].as_array().unwrap().len(), 2, "{mappings}");
}

#[tokio::test]
async fn a_foreign_version_is_replaced_by_a_new_one() {
    let (stage, hub) = hub_on_ministack().await;
    let changed = with_other_code(&hub);
    let update = stage.update_of(changed.get(&stage.function()).unwrap().clone()).await;
    stage.write(&update).await;
    let publish = r#"functions/kibus-router/versions {"Description": "mine"}"#;
    stage.account.call("lambda", "POST", publish).await;
    stage.reach(&changed).await;
    assert_eq!(stage.versions().await, ["$LATEST", "1", "2", "3"]);
}

#[tokio::test]
async fn only_the_planned_archive_is_uploaded() {
    let (stage, hub) = hub_on_ministack().await;
    let before = stage.cloud.read(&stage.function()).await.unwrap();
    let update = stage.update_of(with_other_code(&hub).get(&stage.function()).unwrap().clone()).await;
    let cloud = stage.cloud.clone().with_archive(ARCHIVES[0]);
    let fault = cloud.write(&update, Waiting::unattended()).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Rejected);
    assert_eq!(stage.cloud.read(&stage.function()).await, Ok(before));
}

/// Someone uploads different code after the plan is made. The emulator still publishes it; then the answer shows it.
#[tokio::test]
async fn l10_only_the_planned_code_is_published() {
    let (stage, _) = hub_on_ministack().await;
    let before = stage.cloud.read(&stage.live()).await.unwrap();
    let mut alias = before.as_ref().and_then(Resource::as_alias).unwrap().clone();
    alias.settings.memory = 512;
    let update = stage.update_of(Resource::Alias(alias)).await;
    let archive = aws_smithy_types::base64::encode(ARCHIVES[1]);
    let upload = format!(r#"functions/kibus-router/code {{"ZipFile": "{archive}"}}"#);
    stage.account.call("lambda", "PUT", &upload).await;
    for (ids, says, versions) in [
        ("L10", "is different from current CodeSHA256", &["$LATEST", "1"][..]),
        ("none", "is not router 0.1.0 with SHA-256", &["$LATEST", "1", "2"]),
    ] {
        let proxy = Proxy::start(stage.port(), ids).await;
        let cloud = stage.cloud_at(&proxy.url).await;
        let fault = cloud.write(&update, Waiting::unattended()).await.unwrap_err();
        assert!(fault.message.contains(says), "{ids}: {fault:?}");
        assert_eq!(stage.cloud.read(&stage.live()).await, Ok(before.clone()), "{ids}");
        assert_eq!(stage.versions().await, versions, "{ids}");
    }
}

/// The archive contains no program. No rollback finds the failed version, either.
#[tokio::test]
async fn a_first_router_that_fails_its_self_test_is_never_live() {
    let stage = Stage::new().await;
    let hub = stage.hub(HubOptions::default());
    for id in [ResourceId::Role(stage.cloud.scope().router_role()), stage.function()] {
        stage.write(&Change::create(None, hub.get(&id).unwrap().clone())).await;
    }
    let create = Change::create(None, hub.get(&stage.live()).unwrap().clone());
    let fault = stage.cloud.write(&create, Waiting::unattended()).await.unwrap_err();
    let says = "version 1 did not pass its self-test";
    assert!(fault.message.contains(says) && fault.message.contains("points to no version yet"), "{fault:?}");
    assert_eq!(stage.cloud.read(&stage.live()).await, Ok(None));
    assert_eq!(stage.versions().await, ["$LATEST"]);
}
