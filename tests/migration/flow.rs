//! Events that flow through a hub while it changes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyper::Request;
use kibus::model::name::QueueName;
use kibus::model::sample_event::sample_event;
use kibus::model::signal::Signal;
use serde_json::{Value, json};

use super::{Hub, INSTANCE};

/// How long an event may take to arrive after the last change.
const ARRIVAL: Duration = Duration::from_secs(60);

/// Events that flow until they are counted.
pub(super) struct Flow {
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
    pub(super) fn start(hub: &Arc<Hub>) -> Self {
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
    pub(super) async fn goes_on(&self) {
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
    pub(super) async fn arrives(mut self) {
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
            let request = Request::post("/").header("x-amz-target", format!("AmazonSQS.{name}"));
            let request = request.header("content-type", "application/x-amz-json-1.0");
            self.call("sqs", request, body.to_string())
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
        let request = Request::post("/").header("x-amz-target", "AWSEvents.PutEvents");
        let request = request.header("content-type", "application/x-amz-json-1.1");
        let answer = self.call("events", request, body).await;
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
