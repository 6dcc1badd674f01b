//! The emulator, started by `kibus sandbox` in a home of its own, and calls to it without latency.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;

use super::proxy::connect;
use super::{REGION, role};
use crate::prepare;

/// A running emulator. It is stopped when dropped.
pub struct Emulator {
    /// Where it listens.
    pub address: SocketAddr,
    /// What every request must carry as its session token.
    pub token: String,
    process: Child,
}

impl Emulator {
    /// Starts an emulator without any resources. The first start installs it.
    pub fn start(kibus: PathBuf) -> Result<Self, Box<dyn Error>> {
        let home = prepare::root()?.join("target/bench-sandbox");
        let command = |word: &str| {
            let mut command = Command::new(&kibus);
            command.args(["sandbox", word]).env("KIBUS_SANDBOX_HOME", &home);
            command
        };
        let process = command("up").stdout(Stdio::piped()).spawn()?;
        let mut emulator = Self { address: ([127, 0, 0, 1], 0).into(), token: String::new(), process };
        // It writes one line when it answers, and none if it fails.
        let mut line = String::new();
        let out = emulator.process.stdout.as_mut().ok_or("no output")?;
        BufReader::new(out).read_line(&mut line)?;
        let env = String::from_utf8(command("env").output()?.stdout)?;
        let address = env.split("http://").nth(1).and_then(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit() && !".:".contains(c));
            rest[..end.unwrap_or(rest.len())].parse().ok()
        });
        emulator.address = address.ok_or("the sandbox does not run")?;
        let token = env.split("AWS_SESSION_TOKEN=").nth(1);
        let token = token.and_then(|rest| rest.lines().next());
        emulator.token = token.ok_or("the sandbox has no secret")?.to_owned();
        Ok(emulator)
    }

    /// Creates the roles of the controllers, without policies.
    pub async fn create_roles(&self, account: &str, clusters: &[String]) -> Result<(), Box<dyn Error>> {
        for cluster in clusters {
            let role = role(cluster);
            let form = format!("Action=CreateRole&RoleName={role}&AssumeRolePolicyDocument=%7B%7D&Version=2010-05-08");
            self.call(account, "iam", None, form).await?;
        }
        Ok(())
    }

    /// What a cluster consists of: the attributes and the tags of its queue, and the policy of its role.
    pub async fn state(&self, account: &str, cluster: &str) -> Result<String, Box<dyn Error>> {
        let url = format!("http://{}/{account}/karpenter-{cluster}", self.address);
        let mut attributes: serde_json::Value = serde_json::from_str(
            &self
                .call(
                    account,
                    "sqs",
                    Some("AmazonSQS.GetQueueAttributes"),
                    format!("{{\"QueueUrl\":\"{url}\",\"AttributeNames\":[\"All\"]}}"),
                )
                .await?,
        )?;
        for (name, value) in attributes["Attributes"].as_object_mut().into_iter().flatten() {
            if name.ends_with("Timestamp") {
                *value = "".into();
            } else if let Some(document) = value.as_str().and_then(|text| serde_json::from_str(text).ok()) {
                *value = document;
            }
        }
        let tags = Some("AmazonSQS.ListQueueTags");
        let tags = self.call(account, "sqs", tags, format!("{{\"QueueUrl\":\"{url}\"}}")).await?;
        let tags: serde_json::Value = serde_json::from_str(&tags)?;
        let policy = format!(
            "Action=GetRolePolicy&RoleName={}&PolicyName=kibus.{REGION}.{cluster}&Version=2010-05-08",
            role(cluster)
        );
        let policy = self.call(account, "iam", None, policy).await?;
        let policy = policy.split(['<', '>']).skip_while(|part| *part != "PolicyDocument").nth(1);
        let policy: serde_json::Value = serde_json::from_str(&decoded(policy.unwrap_or_default()))?;
        Ok(format!("{attributes} {tags} {policy}").replace(account, "ACCOUNT"))
    }

    /// Makes a call: one of the JSON protocol with a target, or one of the query protocol.
    pub async fn call(
        &self,
        account: &str,
        service: &str,
        target: Option<&str>,
        body: String,
    ) -> Result<String, Box<dyn Error>> {
        let credential = format!("AWS4-HMAC-SHA256 Credential={account}/20260101/{REGION}/{service}/aws4_request");
        let mut request = Request::post("/")
            .header("host", self.address.to_string())
            .header("authorization", format!("{credential}, SignedHeaders=host, Signature=0"));
        request = request.header("x-amz-security-token", &self.token);
        request = match target {
            Some(target) => request.header("x-amz-target", target).header("content-type", "application/x-amz-json-1.0"),
            None => request.header("content-type", "application/x-www-form-urlencoded"),
        };
        let request = request.body(Full::new(Bytes::from(body)))?;
        let mut connection = connect(self.address).await.map_err(|e| e.to_string())?;
        let answer = connection.send_request(request).await?;
        let status = answer.status();
        let text = String::from_utf8(answer.into_body().collect().await?.to_bytes().to_vec())?;
        if status.is_success() { Ok(text) } else { Err(format!("the emulator answered {status}: {text}").into()) }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // The emulator ends with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A text without percent encoding.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut decoded = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at(2.min(part.len()));
        decoded.push(u8::from_str_radix(code, 16).unwrap_or(b'?'));
        decoded.extend(rest.as_bytes());
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
