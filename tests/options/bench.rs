//! A private emulator, and how to run kibus against it.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use kibus::aws::{AwsCloud, Connect};
use kibus::cloud::{Read, Waiting, Write};
use kibus::model::hub;
use kibus::model::policy;
use kibus::model::resource::{Resource, ResourceId, Role};
use kibus::model::tags::Tags;
use kibus::plan::{Op, diff};
use kibus::sandbox::PrivateServer;
use serde_json::{Value, json};

use crate::support::account::Account;
use crate::support::emulator::{ACCOUNT, private_server};
use crate::support::kms_key;

const REGION: &str = "us-west-2";

/// A private emulator, and how to run kibus against it.
pub(super) struct Bench {
    server: PrivateServer,
    url: String,
    pub(super) cloud: AwsCloud,
}

impl Bench {
    pub(super) async fn new() -> Self {
        let server = private_server(&[]).await;
        let url = server.endpoint().url();
        let connect = Connect {
            region: Some(REGION.parse().unwrap()),
            endpoint_url: Some(url.clone()),
            isolated: true,
            account: Some(ACCOUNT.parse().unwrap()),
            session_token: Some(server.endpoint().secret.as_str().to_owned()),
            ..Connect::default()
        };
        let cloud = AwsCloud::new(&connect.connect().await.unwrap(), "kibus".parse().unwrap());
        Self { server, url, cloud }
    }

    pub(super) fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_kibus"))
            .args(arguments)
            .env_clear()
            .envs([
                ("AWS_ACCESS_KEY_ID", ACCOUNT),
                ("AWS_SECRET_ACCESS_KEY", "test"),
                ("AWS_SESSION_TOKEN", self.server.endpoint().secret.as_str()),
                ("AWS_REGION", REGION),
                ("KIBUS_ENDPOINT_URL", &self.url),
            ])
            .envs(environment.iter().copied())
            .output()
            .unwrap()
    }

    /// Runs a command that ends with exit code 0.
    pub(super) fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments, &[]);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The JSON of a command, and its exit code.
    pub(super) fn json(&self, arguments: &[&str], environment: &[(&str, &str)]) -> (Value, Option<i32>) {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--output=json"]).collect();
        let output = self.run(&arguments, environment);
        let document = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}", text(&output.stderr)));
        (document, output.status.code())
    }

    /// Creates a controller role.
    pub(super) async fn role(&self, name: &str) {
        let role = Resource::Role(Role {
            name: name.parse().unwrap(),
            path: "/".parse().unwrap(),
            trust: policy::router_trust(),
            permissions_boundary: None,
            tags: Tags::default(),
        });
        self.cloud
            .write(&Op::Create(role), Waiting::unattended())
            .await
            .unwrap();
    }

    /// Sets a tag on the queue that holds the saved options of the hub.
    pub(super) async fn remember(&self, tag: &str, value: &str) {
        let memory = ResourceId::Queue(self.cloud.scope().dead_letter_queue());
        let from = self.cloud.read(&memory).await.unwrap().unwrap();
        let mut to = from.clone();
        if let Resource::Queue(queue) = &mut to {
            queue.tags = queue.tags.clone().with(tag, value);
        }
        let fields = diff(&to, &from);
        let from = Box::new(from);
        let update = Op::Update { from, to, fields };
        self.cloud.write(&update, Waiting::unattended()).await.unwrap();
    }

    /// Deletes the queue that holds the saved options of the hub.
    pub(super) async fn forget(&self) {
        let memory = ResourceId::Queue(self.cloud.scope().dead_letter_queue());
        let gone = self.cloud.read(&memory).await.unwrap().unwrap();
        self.cloud
            .write(&Op::Delete(gone), Waiting::unattended())
            .await
            .unwrap();
    }

    /// Creates a KMS key, whose policy allows EventBridge or not, and returns its ARN.
    pub(super) async fn key(&self, allows_eventbridge: bool) -> String {
        let statement = policy::key_statement(self.cloud.scope()).value().clone();
        let policy = allows_eventbridge.then(|| json!({ "Version": "2012-10-17", "Statement": [statement] }));
        let account = Account::new(ACCOUNT, self.server.endpoint().port, REGION);
        kms_key::make(&account, policy.as_ref()).await
    }

    /// How many of the hub's resources exist.
    pub(super) async fn resources(&self) -> usize {
        let mut count = 0;
        for id in hub::ids(self.cloud.scope()) {
            count += usize::from(self.cloud.read(&id).await.unwrap().is_some());
        }
        count
    }
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The planned value of each field, by kind, name and path.
pub(super) fn planned(document: &Value) -> BTreeMap<(String, String, String), Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list(&document["hubs"][0]["changes"])
        .iter()
        .flat_map(|change| {
            list(&change["fields"]).into_iter().map(|field| {
                (
                    (text(&change["kind"]), text(&change["name"]), text(&field["path"])),
                    field["to"].clone(),
                )
            })
        })
        .collect()
}
