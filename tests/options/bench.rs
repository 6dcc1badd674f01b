//! A private emulator, and how to run kibus against it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

use kibus::aws::{AwsCloud, Connect};
use kibus::cloud::{Read, Waiting, Write};
use kibus::model::{HubOptions, Resource, Role, Tags, hub, policy};
use kibus::plan::Change;
use kibus::sandbox::SandboxServer;
use serde_json::{Value, json};

use crate::support::account::Account;
use crate::support::emulator::{ACCOUNT, private_server};
use crate::support::kms_key;

const REGION: &str = "us-west-2";

/// The parameter with the settings of the hub.
pub(super) const SETTINGS: &str = "/kibus/kibus";

/// A private emulator, and how to run kibus against it.
pub(super) struct Bench {
    server: SandboxServer,
    url: String,
    pub(super) cloud: AwsCloud,
}

impl Bench {
    pub(super) async fn new() -> Self {
        let server = private_server(&[]).await;
        let url = server.endpoint().url();
        let connect = Connect {
            account: Some(ACCOUNT.parse().unwrap()),
            session_token: Some(server.endpoint().secret.as_str().to_owned()),
            ..Connect::to_emulator(REGION.parse().unwrap(), url.clone())
        };
        let cloud = AwsCloud::new(&connect.connect().await.unwrap(), "kibus".parse().unwrap());
        for topic in ["Name=team-a", "Name=team-b"] {
            Account::new(ACCOUNT, server.endpoint().port, REGION).call("sns", "CreateTopic", topic).await;
        }
        Self { server, url, cloud }
    }

    pub(super) fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kibus"));
        self.output(command.args(arguments), environment)
    }

    /// Runs a command line that kibus has printed, as a person does in a shell.
    pub(super) fn shell(&self, line: &str) -> Output {
        let folder = Path::new(env!("CARGO_BIN_EXE_kibus")).parent().unwrap();
        let mut command = Command::new("/bin/sh");
        self.output(command.args(["-c", line]), &[("PATH", folder.to_str().unwrap())])
    }

    fn output(&self, command: &mut Command, environment: &[(&str, &str)]) -> Output {
        command
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
        self.cloud.write(&Change::create(None, role), Waiting::unattended()).await.unwrap();
    }

    /// The account on the emulator, without kibus.
    pub(super) fn account(&self) -> Account {
        Account::new(ACCOUNT, self.server.endpoint().port, REGION)
    }

    /// Someone else writes a parameter, which keeps its tags.
    pub(super) async fn write(&self, name: &str, value: &str) {
        let put = json!({ "Name": name, "Type": "String", "Value": value, "Overwrite": true });
        self.account().call("ssm", "PutParameter", &put.to_string()).await;
    }

    pub(super) async fn write_settings(&self, value: &str) {
        self.write(SETTINGS, value).await;
    }

    /// Someone else writes settings with these options.
    pub(super) async fn write_options(&self, options: &Value) {
        let settings = json!({ "format": 1, "options": options, "since": "2020-01-01T00:00:00Z" });
        self.write_settings(&settings.to_string()).await;
    }

    /// The parameter with the settings of the hub, as `GetParameter` shows it; `None` if it does not exist.
    pub(super) async fn parameter(&self) -> Option<Value> {
        self.parameter_of(SETTINGS).await
    }

    pub(super) async fn parameter_of(&self, name: &str) -> Option<Value> {
        let get = json!({ "Name": name }).to_string();
        let (found, answer) = self.account().send("ssm", "GetParameter", &get).await;
        assert!(found || answer.contains("ParameterNotFound"), "{answer}");
        found.then(|| serde_json::from_str::<Value>(&answer).unwrap()["Parameter"].clone())
    }

    /// The document in that parameter.
    pub(super) async fn settings(&self) -> Value {
        self.document_of(SETTINGS).await
    }

    pub(super) async fn document_of(&self, name: &str) -> Value {
        let parameter = self.parameter_of(name).await.unwrap();
        serde_json::from_str(parameter["Value"].as_str().unwrap()).unwrap()
    }

    /// Someone else deletes the parameter with the settings of the hub.
    pub(super) async fn lose_settings(&self) {
        let delete = json!({ "Name": SETTINGS }).to_string();
        self.account().call("ssm", "DeleteParameter", &delete).await;
    }

    /// Creates a KMS key, whose policy allows EventBridge or not, and returns its ARN.
    pub(super) async fn key(&self, allows_eventbridge: bool) -> String {
        let statement = policy::key_statement(self.cloud.scope()).value().clone();
        let policy = allows_eventbridge.then(|| json!({ "Version": "2012-10-17", "Statement": [statement] }));
        kms_key::make(&self.account(), policy.as_ref()).await
    }

    /// The keys of all tags of the hub's resources.
    pub(super) async fn tag_keys(&self) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        for id in hub::ids(self.cloud.scope(), [&HubOptions::all_parts()]) {
            let resource = self.cloud.read(&id).await.unwrap();
            let tags = resource.as_ref().and_then(Resource::tags);
            keys.extend(tags.into_iter().flat_map(|tags| tags.0.keys().cloned()));
        }
        keys
    }

    /// How many of the hub's resources exist, and how many records.
    pub(super) async fn resources(&self) -> usize {
        let mut count = self.cloud.records_page(None).await.unwrap().0.len();
        for id in hub::ids(self.cloud.scope(), [&HubOptions::all_parts()]) {
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
                ((text(&change["kind"]), text(&change["name"]), text(&field["path"])), field["to"].clone())
            })
        })
        .collect()
}
