//! Runs kibus in a separate account, and reads what it created.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;

use kibus::cloud::Read;
use kibus::model::{HubOptions, Resource, hub, policy};
use serde_json::{Value, json};

use crate::support::emulator::Kind;
use crate::support::stage::Stage;

/// The parameter with the settings of the hub.
pub(super) const SETTINGS: &str = "/kibus/kibus";

/// An account on an emulator, and how to run kibus there.
pub(super) struct Bench(pub(super) Stage);

impl Bench {
    pub(super) async fn new() -> Self {
        Self(Stage::new().await)
    }

    /// Every router passes its self-test here, without a program.
    pub(super) async fn of_any_router() -> Self {
        Self(Stage::corrected(Kind::Ministack, "us-west-2").await)
    }

    pub(super) fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        self.0.kibus_with(arguments).envs(environment.iter().copied()).output().unwrap()
    }

    /// Runs a command that ends with exit code 0.
    pub(super) fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments, &[]);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The JSON of a command, and its exit code.
    pub(super) fn json(&self, arguments: &[&str], environment: &[(&str, &str)]) -> (Value, Option<i32>) {
        let arguments = [arguments, &["--output=json"]].concat();
        let output = self.run(&arguments, environment);
        let document = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}", text(&output.stderr)));
        (document, output.status.code())
    }

    /// Creates a controller role.
    pub(super) async fn role(&self, name: &str) {
        let role = format!("RoleName={name} AssumeRolePolicyDocument={{}}");
        self.0.account.call("iam", "CreateRole", &role).await;
    }

    /// Someone else writes the settings of the hub. The parameter keeps its tags.
    pub(super) async fn write_settings(&self, value: &str) {
        let put = json!({ "Name": SETTINGS, "Type": "String", "Value": value, "Overwrite": true });
        self.0.account.call("ssm", "PutParameter", &put.to_string()).await;
    }

    /// Someone else writes settings with these options.
    pub(super) async fn write_options(&self, options: &Value) {
        let settings = json!({ "format": 1, "options": options, "since": "2020-01-01T00:00:00Z" });
        self.write_settings(&settings.to_string()).await;
    }

    /// The document with the settings of the hub.
    pub(super) async fn settings(&self) -> Value {
        let parameter = self.0.account.json("ssm", "GetParameter", &json!({ "Name": SETTINGS }).to_string()).await;
        serde_json::from_str(parameter["Parameter"]["Value"].as_str().unwrap()).unwrap()
    }

    /// Creates a KMS key, whose policy allows EventBridge or not, and returns its ARN.
    pub(super) async fn key(&self, allows_eventbridge: bool) -> String {
        let statement = policy::key_statement(self.0.cloud.scope()).value().clone();
        let policy = allows_eventbridge.then(|| json!({ "Version": "2012-10-17", "Statement": [statement] }));
        self.0.account.create_key(policy.as_ref()).await
    }

    /// The existing resources of the hub, without its clusters.
    pub(super) async fn resources(&self) -> Vec<Resource> {
        let mut found = Vec::new();
        for id in hub::ids(self.0.cloud.scope(), [&HubOptions::all_parts()]) {
            found.extend(self.0.cloud.read(&id).await.unwrap());
        }
        found
    }

    /// The keys of all tags of the hub's resources.
    pub(super) async fn tag_keys(&self) -> BTreeSet<String> {
        let resources = self.resources().await;
        resources.iter().filter_map(Resource::tags).flat_map(|tags| tags.0.keys().cloned()).collect()
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
