//! A hub of an earlier kibus becomes one of this version while events flow, and no event is lost.
//!
//! `hub_of_0_1_0.json` and `hub_of_0_2_0.json` have the writes that this version of kibus sent for `bootstrap-hub` and
//! `add-cluster base --no-controller-role`, recorded between it and the emulator. By default, this router stands in for
//! the old one: its mark has the old version. The router of 0.1.0 read its settings from environment variables, so a script
//! in the archive passes them as a handler. `KIBUS_TEST_ROUTER_0_1_0` and `KIBUS_TEST_ROUTER_0_2_0` name real routers.

mod flow;
mod held_write;

use std::io::{Cursor, Write};
use std::process::Output;
use std::sync::Arc;

use hyper::Request;
use hyper::http::request::Builder;
use kibus::cloud::Read;
use kibus::model::resource::{Alias, EventSourceMapping, ResourceId};
use kibus::model::scope::LIVE;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::process::Command;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::account::Account;
use crate::support::proxy::document;
use crate::support::stage::Stage;
use flow::Flow;
use held_write::Proxy;

/// An earlier version of kibus, and what it left.
struct OldKibus {
    version: &'static str,
    /// The writing calls that created a hub and a cluster.
    writes: &'static str,
    /// Names a real router of this version.
    real_router: &'static str,
    /// Starts this router with the settings of the old function, if they are not in the handler.
    script: Option<&'static str>,
    /// How many environment variables the function has.
    variables: usize,
    /// The batch size and the window of the mapping.
    batches: (u32, u32),
}

const OF_0_1_0: OldKibus = OldKibus {
    version: "0.1.0",
    writes: include_str!("hub_of_0_1_0.json"),
    real_router: "KIBUS_TEST_ROUTER_0_1_0",
    script: Some(SCRIPT),
    variables: 2,
    batches: (100, 1),
};

const OF_0_2_0: OldKibus = OldKibus {
    version: "0.2.0",
    writes: include_str!("hub_of_0_2_0.json"),
    real_router: "KIBUS_TEST_ROUTER_0_2_0",
    script: None,
    variables: 0,
    batches: (10, 0),
};

/// Passes the variables of 0.1.0 to a router that reads a handler.
const SCRIPT: &str = r#"#!/bin/sh
cd "$LAMBDA_TASK_ROOT" && chmod +x router
export _HANDLER="$KIBUS_BUS/$KIBUS_QUEUE_PREFIX"
exec ./router
"#;

const ADD_CLUSTER: &str = "add-cluster base --no-controller-role --yes";

/// An instance of the cluster.
const INSTANCE: &str = "i-0123456789abcdef0";

/// The archive of the old function.
fn archive(old: &OldKibus) -> Vec<u8> {
    let files = match (std::env::var_os(old.real_router), old.script) {
        (Some(path), _) => vec![("bootstrap", std::fs::read(path).unwrap())],
        (None, Some(script)) => vec![("bootstrap", script.into()), ("router", router_marked(old.version))],
        (None, None) => vec![("bootstrap", router_marked(old.version))],
    };
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        let options = SimpleFileOptions::default().unix_permissions(0o755);
        zip.start_file(name, options).unwrap();
        zip.write_all(&content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// This router with the mark of another version, which is as long.
fn router_marked(version: &str) -> Vec<u8> {
    let mut binary = std::fs::read(env!("CARGO_BIN_EXE_kibus-router")).unwrap();
    let mark = concat!("<kibus-router ", env!("CARGO_PKG_VERSION"), ">");
    let places: Vec<usize> = (0..binary.len())
        .filter(|at| binary[*at..].starts_with(mark.as_bytes()))
        .collect();
    assert!(!places.is_empty(), "{mark} is not in the router");
    for at in places {
        binary[at..at + mark.len()].copy_from_slice(format!("<kibus-router {version}>").as_bytes());
    }
    binary
}

/// An old hub on a private emulator.
struct Hub {
    stage: Stage,
    proxy: Proxy,
}

impl Hub {
    async fn open(old: &OldKibus) -> Self {
        let stage = Stage::open().await;
        let hub = Self {
            proxy: Proxy::start(stage.port()).await,
            stage,
        };
        hub.replay(old).await;
        let tags = [("eks:eks-cluster-name", "base"), ("karpenter.sh/nodepool", "default")];
        let tags = tags
            .iter()
            .enumerate()
            .map(|(at, (key, value))| format!("&Tag.{0}.Key={key}&Tag.{0}.Value={value}", at + 1));
        let form = format!(
            "Action=CreateTags&Version=2016-11-15&ResourceId.1={INSTANCE}{}",
            tags.collect::<String>()
        );
        let request = Request::post("/").header("content-type", "application/x-www-form-urlencoded");
        hub.call("ec2", request, form).await;
        hub
    }

    /// Sends the recorded writes, with an archive of this test.
    async fn replay(&self, old: &OldKibus) {
        let archive = archive(old);
        let hash = Sha256::digest(&archive);
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let writes = old
            .writes
            .replace("SHA256_HEX", &hex)
            .replace("SHA256_BASE64", &aws_smithy_types::base64::encode(hash));
        let writes: Vec<Value> = serde_json::from_str(&writes).unwrap();
        for mut write in writes {
            if write["body"]["Code"]["ZipFile"] == "ARCHIVE" {
                write["body"]["Code"]["ZipFile"] = aws_smithy_types::base64::encode(&archive).into();
            }
            let text = |key: &str| write[key].as_str().unwrap_or_default();
            let body = match &write["body"] {
                Value::String(form) => form.clone(),
                body => body.to_string(),
            };
            let request = Request::builder().method(text("method")).uri(text("path"));
            let mut request = request.header("content-type", text("type"));
            if let Some(target) = write["target"].as_str() {
                request = request.header("x-amz-target", target);
            }
            self.call(text("service"), request, body).await;
        }
    }

    /// A call of the emulator.
    async fn call(&self, service: &str, request: Builder, body: String) -> Value {
        let account = Account::new("test", self.stage.port(), "us-west-2");
        let answer = account.request(service, request, body).await;
        assert!(answer.status().is_success(), "{service}: {:?}", answer.body());
        document(&answer)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::from(self.stage.kibus_through(&self.proxy.url, arguments));
        command.kill_on_drop(true);
        command
    }

    /// Runs a command, which must end with this exit code, and returns what it wrote.
    async fn kibus(&self, arguments: &str, code: i32) -> String {
        let Output { status, stdout, stderr } = self.command(arguments).output().await.unwrap();
        let wrote = format!(
            "{}{}",
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr)
        );
        assert_eq!(status.code(), Some(code), "{arguments}: {wrote}");
        wrote
    }

    /// Runs a command, kills it when its write with this number was executed and not answered, and returns whether
    /// that write came.
    async fn killed_at(&self, arguments: &str, write: usize) -> bool {
        let mut held = self.proxy.hold(write);
        let mut child = self.command(arguments).spawn().unwrap();
        let killed = tokio::select! {
            () = held.reached() => true,
            _ = child.wait() => false,
        };
        child.kill().await.unwrap();
        self.proxy.release();
        killed
    }

    async fn alias(&self) -> Alias {
        self.stage.live().await.unwrap()
    }

    async fn mapping(&self) -> EventSourceMapping {
        let scope = self.stage.cloud.scope();
        let id = ResourceId::EventSourceMapping(scope.hub_queue(), scope.router_function(), LIVE.to_owned());
        let mapping = self.stage.cloud.read(&id).await.unwrap().unwrap();
        mapping.as_mapping().unwrap().clone()
    }

    /// The hub is one of this version, and stays as it is.
    async fn is_of_this_version(&self) {
        let alias = self.alias().await;
        assert_eq!(alias.settings.code.version, env!("CARGO_PKG_VERSION"));
        assert_eq!(
            (alias.settings.handler.as_str(), alias.settings.environment.len()),
            ("kibus/karpenter-", 0)
        );
        let mapping = self.mapping().await;
        assert_eq!((mapping.batch_size, mapping.window), (10, 0));
        let again = self.kibus("bootstrap-hub --yes", 0).await;
        assert!(again.contains("No changes"), "{again}");
    }

    /// The cluster is brought up to date, and stays as it is.
    async fn add_cluster(&self) {
        self.kibus(ADD_CLUSTER, 0).await;
        let again = self.kibus(ADD_CLUSTER, 0).await;
        assert!(again.contains("No changes"), "{again}");
    }
}

async fn is_upgraded_while_events_flow(old: &OldKibus) {
    let hub = Arc::new(Hub::open(old).await);
    let before = hub.alias().await;
    assert_eq!(before.settings.code.version, old.version);
    assert_eq!(before.settings.environment.len(), old.variables);
    assert_eq!(
        (hub.mapping().await.batch_size, hub.mapping().await.window),
        old.batches
    );
    let flow = Flow::start(&hub);
    hub.kibus("bootstrap-hub --yes", 0).await;
    hub.is_of_this_version().await;
    hub.add_cluster().await;

    // The old version stays a target of a rollback, with its settings, and works.
    hub.kibus("rollback --yes", 0).await;
    let back = hub.alias().await;
    assert_eq!((back.version, &back.settings), (Some(1), &before.settings));
    flow.goes_on().await;
    hub.kibus("bootstrap-hub --yes", 0).await;
    assert_eq!(hub.alias().await.version, Some(1), "a rollback is kept");
    hub.kibus("bootstrap-hub --router-latest --yes", 0).await;
    assert_eq!(hub.alias().await.version, Some(2));
    hub.is_of_this_version().await;
    flow.arrives().await;
}

async fn is_killed_at_each_write_and_continued(old: &OldKibus) {
    let hub = Arc::new(Hub::open(old).await);
    let flow = Flow::start(&hub);
    let mut kills = 0;
    for command in ["bootstrap-hub --yes", ADD_CLUSTER] {
        // Each run comes one write further than the one before, until one has nothing left to write.
        let mut write = 1;
        while hub.killed_at(command, write).await {
            (write, kills) = (write + 1, kills + 1);
            assert!(write < 40, "`{command}` does not come to an end");
        }
    }
    assert!(kills > 1, "only {kills} runs were killed");
    hub.kibus("bootstrap-hub --yes", 0).await;
    hub.is_of_this_version().await;
    hub.add_cluster().await;
    flow.arrives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_of_0_1_0_becomes_one_of_this_version_and_no_event_is_lost() {
    is_upgraded_while_events_flow(&OF_0_1_0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_of_0_2_0_becomes_one_of_this_version_and_no_event_is_lost() {
    is_upgraded_while_events_flow(&OF_0_2_0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_of_0_1_0_that_is_killed_at_each_write_is_continued_and_no_event_is_lost() {
    is_killed_at_each_write_and_continued(&OF_0_1_0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_of_0_2_0_that_is_killed_at_each_write_is_continued_and_no_event_is_lost() {
    is_killed_at_each_write_and_continued(&OF_0_2_0).await;
}
