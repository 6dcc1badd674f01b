//! An account with users on an emulator that checks signatures and policies.

use std::collections::BTreeSet;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use hyper::Request;
use hyper::body::Bytes;
use kibus::sandbox::SandboxServer;
use serde_json::{Value, json};

use super::{parameters, queue_locks};
use crate::hostile::process::{Ran, kibus};
use crate::support::account;
use crate::support::emulator::{ACCOUNT, plain_http, private_server};
use crate::support::proxy::{Answer, Broken, Port, Upstream};
use crate::support::workbench::sha256;

pub(crate) const REGION: &str = "us-west-2";

pub(crate) struct Account {
    server: SandboxServer,
    pub(crate) region: &'static str,
    /// The endpoint of all calls, including the router's.
    pub(crate) endpoint: String,
}

/// The Sids of the statements that deny senders.
const LOCKS: [&str; 2] = ["KibusServicesOnly", "KibusRouterOnly"];

#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) id: String,
    secret: String,
    /// Only for the root user; otherwise the emulator would treat everyone as root.
    token: Option<String>,
}

impl Account {
    /// Starts the emulator with its checks enabled. All calls go through a proxy that marks them as TLS, which the queue
    /// policies require.
    pub(crate) async fn start(region: &'static str) -> Self {
        let server = Upstream::default();
        let target = server.clone();
        let endpoint = Port::open().await.serve(move |request| terminate_tls(target.clone(), request));
        let environment = [("AUTH", "true"), ("AWS_ENDPOINT_URL", endpoint.as_str())];
        let started = private_server(&environment).await;
        server.set(started.endpoint().port);
        Self { server: started, region, endpoint }
    }

    pub(crate) fn root_keys(&self) -> Keys {
        Keys {
            id: ACCOUNT.to_owned(),
            secret: "test".to_owned(),
            token: Some(self.server.endpoint().secret.as_str().to_owned()),
        }
    }

    pub(crate) fn root(&self) -> SdkConfig {
        self.sdk(&self.root_keys())
    }

    /// The output of kibus for the root user.
    pub(crate) async fn document(&self, line: &str) -> Value {
        let ran = self.kibus(&self.root_keys(), line).await;
        serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.stderr))
    }

    pub(crate) fn sdk(&self, keys: &Keys) -> SdkConfig {
        let credentials = Credentials::new(&keys.id, &keys.secret, keys.token.clone(), None, "test");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new(self.region))
            .http_client(plain_http())
            .endpoint_url(&self.endpoint)
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .build()
    }

    /// Creates a user with these permissions.
    pub(crate) async fn user(&self, name: &str, documents: &[&Value]) -> Keys {
        let iam = aws_sdk_iam::Client::new(&self.root());
        iam.create_user().user_name(name).send().await.unwrap();
        for (number, document) in documents.iter().enumerate() {
            self.allow(name, &format!("{name}-{number}"), document).await;
        }
        let key = iam.create_access_key().user_name(name).send().await.unwrap();
        let key = key.access_key.unwrap();
        Keys { id: key.access_key_id, secret: key.secret_access_key, token: None }
    }

    pub(crate) async fn managed(&self, name: &str, document: &Value) -> String {
        let iam = aws_sdk_iam::Client::new(&self.root());
        let call = iam.create_policy().policy_name(name);
        let made = call.policy_document(document.to_string()).send().await.unwrap();
        made.policy.unwrap().arn.unwrap()
    }

    /// Calls of the root user.
    pub(crate) fn calls(&self) -> account::Account {
        let (_, port) = self.endpoint.rsplit_once(':').unwrap();
        account::Account::new(ACCOUNT, port.parse().unwrap(), self.region)
    }

    /// Creates a role that no one can assume.
    pub(crate) async fn role(&self, name: &str) {
        let trust = r#"AssumeRolePolicyDocument={"Version":"2012-10-17","Statement":[]}"#;
        self.calls().call("iam", "CreateRole", &format!("RoleName={name} {trust}")).await;
    }

    /// Attaches a document to a user as a managed policy.
    pub(crate) async fn allow(&self, user: &str, policy: &str, document: &Value) {
        let arn = self.managed(policy, document).await;
        let iam = aws_sdk_iam::Client::new(&self.root());
        let call = iam.attach_user_policy().user_name(user).policy_arn(arn);
        call.send().await.unwrap();
    }

    /// Brings a text to a queue through a rule, because the policies of the queues deny everyone else. The emulator
    /// does not apply queue policies to deliveries by rules; AWS would deny this rule, which does not belong to the
    /// bus.
    pub(crate) async fn deliver(&self, queue: &str, text: &Value) {
        let target = json!({"Id": "queue", "Input": text.to_string(), "Arn": format!("arn:aws:sqs:{}:{ACCOUNT}:{queue}", self.region)});
        for (operation, input) in [
            ("PutRule", json!({"Name": "deliver", "EventPattern": json!({"source": ["test"]}).to_string()})),
            ("PutTargets", json!({"Rule": "deliver", "Targets": [target]})),
            ("PutEvents", json!({"Entries": [{"Source": "test", "DetailType": "test", "Detail": "{}"}]})),
            ("RemoveTargets", json!({"Rule": "deliver", "Ids": ["queue"]})),
            ("DeleteRule", json!({"Name": "deliver"})),
        ] {
            let answer = self.calls().json("events", operation, &input.to_string()).await;
            assert!(answer["FailedEntryCount"].as_u64().is_none_or(|count| count == 0), "{answer}");
        }
    }

    /// Removes the locks from the policies of these queues.
    pub(crate) async fn unlock(&self, queues: &[&str]) {
        let calls = self.calls();
        for queue in queues {
            let get = json!({"QueueUrl": queue, "AttributeNames": ["Policy"]});
            let read = calls.json("sqs", "GetQueueAttributes", &get.to_string()).await;
            let mut policy: Value = serde_json::from_str(read["Attributes"]["Policy"].as_str().unwrap()).unwrap();
            let statements = policy["Statement"].as_array_mut().unwrap();
            let locked = statements.len();
            statements.retain(|statement| !LOCKS.iter().any(|lock| statement["Sid"] == *lock));
            assert_eq!(statements.len() + 1, locked, "{policy}");
            let set = json!({"QueueUrl": queue, "Attributes": {"Policy": policy.to_string()}});
            calls.call("sqs", "SetQueueAttributes", &set.to_string()).await;
        }
    }

    /// Creates a KMS key that allows EventBridge and returns its ARN.
    pub(crate) async fn key(&self) -> String {
        let policy = json!({
            "Version": "2012-10-17",
            "Statement": [{
                "Effect": "Allow",
                "Principal": {"Service": ["events.amazonaws.com", "cloudwatch.amazonaws.com"]},
                "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
                "Resource": "*",
            }],
        });
        self.calls().create_key(Some(&policy)).await
    }

    /// Creates a topic encrypted with this key, with the policy of a new topic, and returns its ARN.
    pub(crate) async fn topic(&self, name: &str, key: &str) -> String {
        let attribute = format!("Attributes.entry.1.key=KmsMasterKeyId Attributes.entry.1.value={key}");
        self.calls().call("sns", "CreateTopic", &format!("Name={name} {attribute}")).await;
        format!("arn:aws:sns:{}:{ACCOUNT}:{name}", self.region)
    }

    /// Runs kibus with these keys. If the wait is dropped, it is killed.
    pub(crate) async fn kibus(&self, keys: &Keys, line: &str) -> Ran {
        let mut variables = vec![
            ("AWS_ACCESS_KEY_ID", keys.id.as_str()),
            ("AWS_SECRET_ACCESS_KEY", &keys.secret),
            ("AWS_REGION", self.region),
            ("KIBUS_ENDPOINT_URL", &self.endpoint),
        ];
        variables.extend(keys.token.as_deref().map(|token| ("AWS_SESSION_TOKEN", token)));
        kibus(&format!("{line} -vv"), &variables).await
    }
}

/// The calls that a command made, according to its log.
pub(crate) fn calls(ran: &Ran) -> BTreeSet<String> {
    let calls = ran.stderr.lines().filter_map(|line| line.split_once(" kibus::call: "));
    calls.filter_map(|(_, call)| call.split_once(' ')).map(|(action, _)| action.to_owned()).collect()
}

/// Forwards a call like a load balancer that terminates TLS.
async fn terminate_tls(server: Upstream, request: Request<Bytes>) -> Result<Answer, Broken> {
    let (mut head, mut body) = request.into_parts();
    head.headers.insert("x-forwarded-proto", "https".parse()?);
    if let Some(translated) = queue_locks::translated(&body) {
        // The signature covers the original body.
        head.headers.insert("x-amz-content-sha256", sha256(&body).parse()?);
        body = translated;
    }
    if let Some(denied) = parameters::denied(&server, &mut head, &body).await? {
        return Ok(denied);
    }
    let mut answer = server.forward(Request::from_parts(head, body)).await?;
    queue_locks::translate_back(&mut answer);
    Ok(answer)
}
