//! A hub of kibus 0.1.0 becomes one of this version while events flow, and no event is lost.
//!
//! `hub_of_0_1_0.json` has the writes that kibus 0.1.0 sent for `bootstrap-hub` and `add-cluster base
//! --no-controller-role`, recorded between it and the emulator. Its router read its settings from environment variables
//! and reported them in its self-test. By default, this router stands in for it: a script in the archive passes it the
//! variables as a handler, and its mark says 0.1.0. `KIBUS_TEST_ROUTER_0_1_0` names a real one to use instead.

use std::collections::BTreeSet;
use std::io::{Cursor, Write};
use std::net::Ipv4Addr;
use std::process::Output;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use kibus::cloud::Read;
use kibus::model::name::QueueName;
use kibus::model::resource::{Alias, EventSourceMapping, ResourceId};
use kibus::model::sample_event::sample_event;
use kibus::model::scope::LIVE;
use kibus::model::signal::Signal;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::Notify;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::scenario::wire::{Answer, Broken, forward};
use crate::stage::Stage;

const WRITES: &str = include_str!("hub_of_0_1_0.json");

/// Passes the variables of 0.1.0 to a router that reads a handler.
const SCRIPT: &str = r#"#!/bin/sh
cd "$LAMBDA_TASK_ROOT" && chmod +x router
export _HANDLER="$KIBUS_BUS/$KIBUS_QUEUE_PREFIX"
exec ./router
"#;

/// An instance of the cluster.
const INSTANCE: &str = "i-0123456789abcdef0";

/// How long an event may take to arrive after the last change.
const ARRIVAL: Duration = Duration::from_secs(60);

/// The archive of the function of 0.1.0.
fn archive_of_0_1_0() -> Vec<u8> {
    let real = std::env::var_os("KIBUS_TEST_ROUTER_0_1_0");
    let mut files = Vec::new();
    match real {
        Some(path) => files.push(("bootstrap", std::fs::read(path).unwrap())),
        None => {
            let mut binary = std::fs::read(env!("CARGO_BIN_EXE_kibus-router")).unwrap();
            let mark = concat!("<kibus-router ", env!("CARGO_PKG_VERSION"), ">");
            let places: Vec<usize> = (0..binary.len())
                .filter(|at| binary[*at..].starts_with(mark.as_bytes()))
                .collect();
            assert!(!places.is_empty(), "{mark} is not in the router");
            for at in places {
                binary[at..at + mark.len()].copy_from_slice(b"<kibus-router 0.1.0>");
            }
            files.extend([("bootstrap", SCRIPT.into()), ("router", binary)]);
        }
    }
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        let options = SimpleFileOptions::default().unix_permissions(0o755);
        zip.start_file(name, options).unwrap();
        zip.write_all(&content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A hub of 0.1.0 on a private emulator.
struct Hub {
    stage: Stage,
    proxy: Proxy,
}

impl Hub {
    async fn open() -> Self {
        let stage = Stage::open().await;
        let hub = Self {
            proxy: Proxy::start(stage.port()).await,
            stage,
        };
        hub.replay().await;
        let tags = [("eks:eks-cluster-name", "base"), ("karpenter.sh/nodepool", "default")];
        let tags = tags
            .iter()
            .enumerate()
            .map(|(at, (key, value))| format!("&Tag.{0}.Key={key}&Tag.{0}.Value={value}", at + 1));
        let form = format!(
            "Action=CreateTags&Version=2016-11-15&ResourceId.1={INSTANCE}{}",
            tags.collect::<String>()
        );
        hub.call("ec2", "POST", "/", None, "application/x-www-form-urlencoded", form)
            .await;
        hub
    }

    /// Sends the recorded writes, with an archive of this test.
    async fn replay(&self) {
        let archive = archive_of_0_1_0();
        let hash = Sha256::digest(&archive);
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let writes = WRITES
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
            let target = write["target"].as_str();
            self.call(
                text("service"),
                text("method"),
                text("path"),
                target,
                text("type"),
                body,
            )
            .await;
        }
    }

    /// A call of the emulator, which takes the service and the Region from the signature and does not check it.
    async fn call(
        &self,
        service: &str,
        method: &str,
        path: &str,
        target: Option<&str>,
        kind: &str,
        body: String,
    ) -> Value {
        let scope = format!("test/20260101/us-west-2/{service}/aws4_request");
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "127.0.0.1")
            .header("content-type", kind)
            .header(
                "authorization",
                format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"),
            );
        if let Some(target) = target {
            request = request.header("x-amz-target", target);
        }
        let request = request.body(Bytes::from(body)).unwrap();
        let answer = forward(self.stage.port(), request).await.unwrap();
        let status = answer.status();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(status.is_success(), "{service} {path} {target:?}: {body:?}");
        serde_json::from_slice(&body).unwrap_or_default()
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
        let reached = self.proxy.hold(write);
        let mut child = self.command(arguments).spawn().unwrap();
        let killed = tokio::select! {
            () = reached.notified() => true,
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
}

/// Events that flow until they are counted.
struct Flow {
    over: Arc<AtomicBool>,
    /// The number of the latest events.
    number: Arc<AtomicUsize>,
    sent: tokio::task::JoinHandle<BTreeSet<String>>,
    received: Arc<Mutex<BTreeSet<String>>>,
    readers: Vec<tokio::task::JoinHandle<()>>,
}

impl Flow {
    /// Sends a probe to the event bus and a Spot warning to the hub queue, again and again, and reads the queues in
    /// which they have to arrive.
    fn start(hub: &Arc<Hub>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let received: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let number = Arc::new(AtomicUsize::new(0));
        let sent = tokio::spawn({
            let (hub, over, number) = (Arc::clone(hub), Arc::clone(&over), Arc::clone(&number));
            async move {
                let mut sent = BTreeSet::new();
                while !over.load(Ordering::Relaxed) {
                    let number = number.fetch_add(1, Ordering::Relaxed) + 1;
                    sent.extend([hub.send_probe(number).await, hub.send_warning(number).await]);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                sent
            }
        });
        let queues: [QueueName; 2] = [hub.stage.cloud.scope().probe_queue(), "karpenter-base".parse().unwrap()];
        let readers = queues.map(|queue| {
            let (hub, received) = (Arc::clone(hub), Arc::clone(&received));
            tokio::spawn(async move {
                loop {
                    let events = hub.receive(&queue).await;
                    let names = events.iter().filter_map(|event| event["detail"]["test"].as_str());
                    received.lock().unwrap().extend(names.map(str::to_owned));
                }
            })
        });
        Self {
            over,
            number,
            sent,
            received,
            readers: readers.into(),
        }
    }

    /// Waits until events arrive that were sent after now.
    async fn goes_on(&self) {
        let next = self.number.load(Ordering::Relaxed) + 2;
        let events = BTreeSet::from([format!("probe {next}"), format!("warning {next}")]);
        assert_eq!(self.missing(&events).await, BTreeSet::new(), "not delivered");
    }

    /// Those of these events that have not arrived in time.
    async fn missing(&self, events: &BTreeSet<String>) -> BTreeSet<String> {
        let end = Instant::now() + ARRIVAL;
        loop {
            let missing: BTreeSet<String> = events.difference(&self.received.lock().unwrap()).cloned().collect();
            if missing.is_empty() || Instant::now() > end {
                return missing;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Stops sending. Every event that was sent arrives.
    async fn arrives(mut self) {
        self.over.store(true, Ordering::Relaxed);
        let sent = (&mut self.sent).await.unwrap();
        let missing = self.missing(&sent).await;
        self.readers.iter().for_each(tokio::task::JoinHandle::abort);
        assert!(
            missing.is_empty(),
            "of {} events these are lost: {missing:?}",
            sent.len()
        );
        assert!(sent.len() > 10, "only {} events were sent", sent.len());
    }
}

impl Hub {
    /// Receives up to ten events, and deletes them.
    async fn receive(&self, queue: &QueueName) -> Vec<Value> {
        let (port, account) = (self.stage.port(), &self.stage.cloud.scope().account);
        let url = format!("http://127.0.0.1:{port}/{account}/{queue}");
        let call = |name: &str, body: Value| {
            let (target, body) = (format!("AmazonSQS.{name}"), body.to_string());
            async move {
                self.call("sqs", "POST", "/", Some(&target), "application/x-amz-json-1.0", body)
                    .await
            }
        };
        let receive = json!({"QueueUrl": url, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1});
        let received = call("ReceiveMessage", receive).await;
        let mut events = Vec::new();
        for message in received["Messages"].as_array().into_iter().flatten() {
            let delete = json!({"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]});
            call("DeleteMessage", delete).await;
            events.push(serde_json::from_str(message["Body"].as_str().unwrap()).unwrap());
        }
        events
    }

    async fn send_probe(&self, number: usize) -> String {
        let name = format!("probe {number}");
        let detail = json!({"test": name}).to_string();
        let entry = json!({"Source": "kibus.probe", "DetailType": "Kibus Probe", "Detail": detail});
        let body = json!({"Entries": [entry]}).to_string();
        let target = Some("AWSEvents.PutEvents");
        let answer = self
            .call("events", "POST", "/", target, "application/x-amz-json-1.1", body)
            .await;
        assert_eq!(answer["FailedEntryCount"], 0, "{answer}");
        name
    }

    async fn send_warning(&self, number: usize) -> String {
        let name = format!("warning {number}");
        let scope = self.stage.cloud.scope();
        let mut event = sample_event(scope, Signal::SpotInterruption, &[INSTANCE]);
        event["detail"]["test"] = name.clone().into();
        self.stage
            .cloud
            .send_message(&scope.hub_queue(), &event.to_string())
            .await
            .unwrap();
        name
    }
}

/// A write whose answer is held: how many writes come before its end, and who waits for it.
struct HeldWrite {
    left: usize,
    reached: Arc<Notify>,
}

/// A proxy that holds one write of a command.
struct Proxy {
    url: String,
    held: Arc<Mutex<Option<HeldWrite>>>,
}

impl Proxy {
    async fn start(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let held: Arc<Mutex<Option<HeldWrite>>> = Arc::default();
        let proxy = Self {
            url,
            held: Arc::clone(&held),
        };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let held = Arc::clone(&held);
                let service = service_fn(move |request| pass(Arc::clone(&held), server, request));
                let connection =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                // It breaks when the client is killed.
                tokio::spawn(async move { drop(connection.await) });
            }
        });
        proxy
    }

    /// Holds the answer to the write with this number, counted from 1; every later one is held too.
    fn hold(&self, write: usize) -> Arc<Notify> {
        let reached = Arc::new(Notify::new());
        *self.held.lock().unwrap() = Some(HeldWrite {
            left: write,
            reached: Arc::clone(&reached),
        });
        reached
    }

    fn release(&self) {
        *self.held.lock().unwrap() = None;
    }
}

async fn pass(held: Arc<Mutex<Option<HeldWrite>>>, server: u16, request: Request<Incoming>) -> Result<Answer, Broken> {
    let (parts, body) = request.into_parts();
    let request = Request::from_parts(parts, body.collect().await?.to_bytes());
    let writes = is_write(&request);
    let answer = forward(server, request).await?;
    let reached = match held.lock().unwrap().as_mut().filter(|_| writes) {
        Some(write) => {
            write.left = write.left.saturating_sub(1);
            (write.left == 0).then(|| Arc::clone(&write.reached))
        }
        None => None,
    };
    if let Some(reached) = reached {
        reached.notify_one();
        std::future::pending::<()>().await;
    }
    Ok(answer)
}

fn is_write(request: &Request<Bytes>) -> bool {
    let reads = |name: &str| ["Get", "List", "Describe"].iter().any(|verb| name.starts_with(verb));
    if let Some(target) = request.headers().get("x-amz-target") {
        return !reads(target.to_str().unwrap().rsplit('.').next().unwrap());
    }
    let form = String::from_utf8_lossy(request.body());
    match form.strip_prefix("Action=") {
        Some(action) => !reads(action),
        None => request.method() != Method::GET && !request.uri().path().ends_with("/invocations"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_of_0_1_0_becomes_one_of_this_version_and_no_event_is_lost() {
    let hub = Arc::new(Hub::open().await);
    let before = hub.alias().await;
    assert_eq!(before.settings.environment.len(), 2, "the fixture has variables");
    assert_eq!((hub.mapping().await.batch_size, hub.mapping().await.window), (100, 1));
    let flow = Flow::start(&hub);
    hub.kibus("bootstrap-hub --yes", 0).await;
    hub.is_of_this_version().await;

    // The version of 0.1.0 stays a target of a rollback, with its variables, and works.
    hub.kibus("rollback --yes", 0).await;
    let back = hub.alias().await;
    assert_eq!((back.version, &back.settings), (Some(1), &before.settings));
    flow.goes_on().await;
    hub.kibus("bootstrap-hub --yes", 0).await;
    assert_eq!(hub.alias().await.version, Some(2));
    hub.is_of_this_version().await;
    flow.arrives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_is_killed_at_each_write_is_continued_and_no_event_is_lost() {
    let hub = Arc::new(Hub::open().await);
    let flow = Flow::start(&hub);
    // Each run comes one write further than the one before, until one has nothing left to write.
    let mut write = 1;
    while hub.killed_at("bootstrap-hub --yes", write).await {
        write += 1;
        assert!(write < 40, "the migration does not come to an end");
    }
    assert!(write > 3, "only {write} runs");
    hub.kibus("bootstrap-hub --yes", 0).await;
    hub.is_of_this_version().await;
    flow.arrives().await;
}
