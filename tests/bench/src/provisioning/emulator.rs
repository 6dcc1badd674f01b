//! The emulator, started by `kibus sandbox` in a separate home, and calls to it without latency.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kibus_harness::{account::Account, decoded, proxy::keep_secret};
use serde_json::{Value, json};

use super::{REGION, process, ran};
use crate::prepare;

/// A running emulator. It is stopped when dropped.
pub struct Emulator {
    pub port: u16,
    kibus: PathBuf,
    /// The session token that every request must carry.
    token: String,
    process: Child,
}

impl Emulator {
    /// Starts an emulator without any resources. The first start installs it.
    pub fn start(kibus: &Path) -> Result<Self, Box<dyn Error>> {
        let home = prepare::root()?.join("target/bench-sandbox");
        let command = |word: &str| {
            let mut command = Command::new(kibus);
            command.args(["sandbox", word]).env("KIBUS_SANDBOX_HOME", &home);
            command
        };
        let process = command("up").stdout(Stdio::piped()).spawn()?;
        let mut emulator = Self { port: 0, kibus: kibus.to_owned(), token: String::new(), process };
        // It writes one line when it responds, and none if it fails.
        let mut line = String::new();
        let out = emulator.process.stdout.as_mut().ok_or("no output")?;
        BufReader::new(out).read_line(&mut line)?;
        let env = String::from_utf8(command("env").output()?.stdout)?;
        let port = env.split("http://127.0.0.1:").nth(1).and_then(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit());
            rest[..end.unwrap_or(rest.len())].parse().ok()
        });
        emulator.port = port.ok_or("the sandbox is not running")?;
        let token = env.split("AWS_SESSION_TOKEN=").nth(1);
        let token = token.and_then(|rest| rest.lines().next());
        emulator.token = token.ok_or("the sandbox has no secret")?.to_owned();
        keep_secret(emulator.port, &emulator.token);
        Ok(emulator)
    }

    pub fn account(&self, id: &str) -> Account {
        Account::new(id, self.port, REGION)
    }

    /// Runs kibus without a proxy.
    pub async fn kibus(&self, account: &str, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
        let mut command = process(&self.kibus, &format!("http://127.0.0.1:{}", self.port), account);
        command.env("AWS_SESSION_TOKEN", &self.token).args(arguments);
        ran(command).await.map(drop)
    }

    /// Creates a hub with this router.
    pub async fn bootstrap(&self, account: &str, router: &Path) -> Result<(), Box<dyn Error>> {
        let router = router.to_str().ok_or("the path of the router is not text")?;
        self.kibus(account, &["bootstrap-hub", "--yes", "--router-binary", router]).await
    }

    /// Creates the roles of the controllers, without policies.
    pub async fn create_roles(&self, account: &str, clusters: &[String]) {
        for cluster in clusters {
            let role = format!("RoleName={} AssumeRolePolicyDocument={{}}", role(cluster));
            self.account(account).call("iam", "CreateRole", &role).await;
        }
    }

    /// The parts of a cluster: the attributes and the tags of its queue, and the policy of its role.
    pub async fn state(&self, id: &str, cluster: &str) -> Result<String, Box<dyn Error>> {
        let (account, queue) = (self.account(id), format!("karpenter-{cluster}"));
        let all = json!({"QueueUrl": queue, "AttributeNames": ["All"]}).to_string();
        let mut attributes = account.json("sqs", "GetQueueAttributes", &all).await;
        for (name, value) in attributes["Attributes"].as_object_mut().into_iter().flatten() {
            if name.ends_with("Timestamp") {
                *value = "".into();
            } else if let Some(document) = value.as_str().and_then(|text| serde_json::from_str(text).ok()) {
                *value = document;
            }
        }
        let tags = account.json("sqs", "ListQueueTags", &json!({ "QueueUrl": queue }).to_string()).await;
        let policy = format!("RoleName={} PolicyName=kibus.{REGION}.{cluster}", role(cluster));
        let policy = account.call("iam", "GetRolePolicy", &policy).await;
        let policy = policy.split(['<', '>']).skip_while(|part| *part != "PolicyDocument").nth(1);
        let policy: Value = serde_json::from_str(&decoded(policy.unwrap_or_default()))?;
        Ok(format!("{attributes} {tags} {policy}").replace(id, "ACCOUNT"))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // The emulator ends with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The role of a cluster's controller, named as in terraform-aws-eks.
fn role(cluster: &str) -> String {
    format!("KarpenterController-{cluster}")
}
