//! The real router as a process, with a local server in place of Lambda's Runtime API, EC2 and SQS.

use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use hyper::body::Bytes;
use hyper::{Request, Response};
use kibus_harness::hub_queue::Hub;
use kibus_harness::runtime_api::{Invocation, RuntimeApi};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::support::proxy::{Answer, Broken, Port, json_answer};
use crate::support::tls::Authority;

/// The cluster that owns every instance.
pub(super) const CLUSTER: &str = "base";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Answered(Value),
    Failed(String),
}

pub(crate) struct Function {
    process: Child,
    events: mpsc::UnboundedSender<Bytes>,
    ended: mpsc::UnboundedReceiver<Invocation>,
    services: Arc<Services>,
}

struct Services {
    runtime: RuntimeApi,
    sent: Mutex<Vec<String>>,
    hub: Mutex<Hub>,
}

impl Function {
    pub(crate) async fn start(variables: &[(&str, &str)]) -> Self {
        Self::start_behind(None, variables).await
    }

    /// Starts the router; if an authority is given, the servers in place of EC2 and SQS have its certificate, valid
    /// until the end of the year.
    pub(crate) async fn start_behind(tls: Option<(&Authority, i32)>, variables: &[(&str, &str)]) -> Self {
        // Longer than on AWS: this is a debug build, on a machine that runs other tests. Calls to an untrusted server
        // are retried until then.
        let limit = Duration::from_secs(if tls.is_some() { 12 } else { 60 });
        let (runtime, events, ended) = RuntimeApi::new("us-east-2", limit);
        let services = Arc::new(Services { runtime, sent: Mutex::default(), hub: Mutex::default() });
        let answering = Arc::clone(&services);
        let url = Port::open().await.serve(move |request| {
            let services = Arc::clone(&answering);
            async move { services.answer(request).await }
        });
        let address = url.trim_start_matches("http://");
        let endpoint = match tls {
            None => url.clone(),
            Some((authority, until)) => authority.front(until, address).await,
        };
        let process = Command::new(env!("CARGO_BIN_EXE_kibus-router"))
            .env_clear()
            .envs([
                ("AWS_ENDPOINT_URL", endpoint.as_str()),
                ("AWS_LAMBDA_RUNTIME_API", address),
                ("AWS_ACCESS_KEY_ID", "key"),
                ("AWS_SECRET_ACCESS_KEY", "secret"),
                ("AWS_REGION", "us-east-2"),
                ("AWS_LAMBDA_FUNCTION_NAME", "kibus-router"),
                ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
                ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
                ("_HANDLER", "kibus/karpenter-{cluster}"),
            ])
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { process, events, ended, services }
    }

    pub(super) fn hub(&self) -> MutexGuard<'_, Hub> {
        self.services.hub.lock().unwrap()
    }

    pub(crate) async fn invoke(&mut self, payload: impl Into<Bytes>) -> Ended {
        self.events.send(payload.into()).unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(90), self.ended.recv()).await;
        let exited = self.process.try_wait().unwrap();
        match ended.unwrap_or_else(|_| panic!("no answer; exited: {exited:?}")).unwrap() {
            Invocation { has_failed: true, answer, .. } => {
                Ended::Failed(answer["errorType"].as_str().unwrap().to_owned())
            }
            Invocation { answer, .. } => Ended::Answered(answer),
        }
    }

    /// The messages that queues accepted since the last time.
    pub(crate) fn take_sent(&self) -> Vec<String> {
        std::mem::take(&mut self.services.sent.lock().unwrap())
    }

    /// The receipt handles of messages whose visibility was changed since the last time.
    pub(super) fn take_hidden(&self) -> Vec<String> {
        let hidden = std::mem::take(&mut self.hub().hidden);
        hidden.into_iter().map(|(receipt, _)| receipt).collect()
    }

    /// The peak memory of the process, in KiB.
    pub(super) fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id().unwrap())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Stops the router and returns everything that it wrote.
    pub(crate) async fn log(mut self) -> String {
        self.process.start_kill().unwrap();
        let output = self.process.wait_with_output().await.unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    }
}

impl Services {
    async fn answer(&self, request: Request<Bytes>) -> Result<Answer, Broken> {
        if let Some(answer) = self.runtime.answer(&request).await {
            return Ok(answer);
        }
        let Some(target) = request.headers().get("x-amz-target") else {
            return Ok(Response::new(tags(&String::from_utf8_lossy(request.body())).into()));
        };
        let (target, input) = (target.to_str().unwrap(), serde_json::from_slice(request.body()).unwrap());
        let own = self.hub.lock().unwrap().answer(target, &input);
        match own {
            Some(Some(answer)) => Ok(json_answer(200, &answer)),
            Some(None) => std::future::pending().await,
            None => Ok(Response::new(self.sqs(target, &input).into())),
        }
    }

    fn sqs(&self, target: &str, input: &Value) -> String {
        let entries = input["Entries"].as_array().unwrap();
        if target.ends_with(".SendMessageBatch") {
            let bodies = entries.iter().map(|entry| entry["MessageBody"].as_str().unwrap().to_owned());
            self.sent.lock().unwrap().extend(bodies);
        }
        let done = entries.iter().map(|entry| json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "x"}));
        json!({"Successful": done.collect::<Vec<_>>(), "Failed": []}).to_string()
    }
}

/// The answer to `DescribeTags`: every instance is one of the cluster's Karpenter.
fn tags(form: &str) -> String {
    let mut items = String::new();
    for (_, id) in form.split('&').filter_map(|pair| pair.split_once('=')).filter(|(_, id)| id.starts_with("i-")) {
        for (key, value) in [("karpenter.sh/nodepool", "x"), ("eks:eks-cluster-name", CLUSTER)] {
            let of = format!("<resourceId>{id}</resourceId><resourceType>instance</resourceType>");
            items.push_str(&format!("<item>{of}<key>{key}</key><value>{value}</value></item>"));
        }
    }
    format!("<DescribeTagsResponse><requestId>r</requestId><tagSet>{items}</tagSet></DescribeTagsResponse>")
}
