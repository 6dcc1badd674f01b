//! Events that flow while clusters move. The emulator does not accept AWS events, so they are delivered here: to the targets that
//! the rules have at that moment, as far as the policies of the queues let EventBridge send.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kibus::model::{Signal, sample_event};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::fleet::Fleet;
use super::setups::Setup;

/// The signals that the hub routes without an option, and that each tool's rules match.
const SIGNALS: [Signal; 3] = [Signal::SpotInterruption, Signal::StateChange, Signal::ScheduledChange];

/// The pause between two events of a cluster. With more events, each `verify` would find messages, and watch for a minute.
const PAUSE: Duration = Duration::from_secs(5);

const ARRIVAL: Duration = Duration::from_secs(60);

/// A cluster, and the id of an event about its instance.
type Sent = (&'static str, String);

pub(super) struct Flow {
    shared: Arc<Shared>,
    over: Arc<AtomicBool>,
    sends: JoinHandle<()>,
    readers: Vec<JoinHandle<()>>,
}

struct Shared {
    fleet: Arc<Fleet>,
    number: AtomicUsize,
    /// Whether a pattern matches the events of a signal.
    matches: Mutex<BTreeMap<(String, Signal), bool>>,
    /// The clusters that must receive every event.
    registered: Mutex<BTreeSet<&'static str>>,
    /// The queue that the Karpenter of each cluster reads.
    queues: Mutex<BTreeMap<&'static str, String>>,
    expected: Mutex<BTreeSet<Sent>>,
    received: Mutex<BTreeSet<Sent>>,
}

impl Flow {
    pub(super) fn start(fleet: &Arc<Fleet>) -> Self {
        let read = fleet.setups.iter().filter(|setup| setup.is_read);
        let shared = Arc::new(Shared {
            fleet: Arc::clone(fleet),
            number: AtomicUsize::default(),
            matches: Mutex::default(),
            registered: Mutex::default(),
            queues: Mutex::new(read.map(|setup| (setup.cluster, setup.queue.to_owned())).collect()),
            expected: Mutex::default(),
            received: Mutex::default(),
        });
        let over = Arc::new(AtomicBool::new(false));
        let sends = tokio::spawn({
            let (shared, over) = (Arc::clone(&shared), Arc::clone(&over));
            async move {
                while !over.load(Ordering::Relaxed) {
                    shared.send_all().await;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        });
        let readers = fleet.setups.iter().map(|setup| setup.cluster).map(|cluster| {
            let shared = Arc::clone(&shared);
            tokio::spawn(async move { shared.read(cluster).await })
        });
        Self { readers: readers.collect(), shared, over, sends }
    }

    /// From now on, every event of this cluster must arrive.
    pub(super) fn registers(&self, setup: &Setup) {
        self.shared.registered.lock().unwrap().insert(setup.cluster);
    }

    /// From now on, only events that reach the queue of the tool must arrive.
    pub(super) fn unregisters(&self, setup: &Setup) {
        self.shared.registered.lock().unwrap().remove(setup.cluster);
    }

    /// From now on, the Karpenter of this cluster reads this queue.
    pub(super) fn reads(&self, setup: &Setup, queue: String) {
        self.shared.queues.lock().unwrap().insert(setup.cluster, queue);
    }

    /// Waits until events that are sent now, and all earlier ones, have arrived.
    pub(super) async fn goes_on(&self) {
        for _ in SIGNALS {
            self.shared.send_all().await;
        }
        self.shared.all_arrive().await;
    }

    /// Stops sending. Every event must arrive, and none may stay in a queue that a Karpenter reads.
    pub(super) async fn arrives(mut self) {
        self.over.store(true, Ordering::Relaxed);
        (&mut self.sends).await.unwrap();
        self.shared.all_arrive().await;
        let queues: Vec<String> = self.shared.queues.lock().unwrap().values().cloned().collect();
        let end = Instant::now() + ARRIVAL;
        for queue in queues {
            while self.shared.fleet.messages(&queue).await > 0 {
                assert!(Instant::now() < end, "unanswered events in {queue}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        self.readers.iter().for_each(JoinHandle::abort);
        let expected = self.shared.expected.lock().unwrap().len();
        assert!(expected > 10 * self.shared.fleet.setups.len(), "only {expected} events were sent");
    }
}

impl Shared {
    async fn send_all(&self) {
        for setup in &self.fleet.setups {
            self.send(setup).await;
        }
    }

    async fn send(&self, setup: &'static Setup) {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let signal = SIGNALS[number / self.fleet.setups.len() % SIGNALS.len()];
        let sent = (setup.cluster, format!("event-{number}"));
        let is_registered = self.registered.lock().unwrap().contains(setup.cluster);
        // Unread events are only in the old queue.
        let is_read = self.queues.lock().unwrap().contains_key(setup.cluster);
        let mut event = sample_event(&self.fleet.scope, signal, &[&self.fleet.instance(setup)]);
        event["id"] = sent.1.clone().into();
        let reached = self.deliver(signal, &event).await;
        if is_registered || is_read && reached.contains(setup.queue) {
            self.expected.lock().unwrap().insert(sent);
        }
    }

    /// Delivers an event as EventBridge does. Returns the queues that it reached.
    async fn deliver(&self, signal: Signal, event: &Value) -> BTreeSet<String> {
        let account = &self.fleet.account;
        let rules = account.json("events", "ListRules", "{}").await;
        let mut reached = BTreeSet::new();
        for rule in rules["Rules"].as_array().into_iter().flatten() {
            let Some(pattern) = rule["EventPattern"].as_str() else {
                continue;
            };
            if !self.matches(pattern, signal, event).await {
                continue;
            }
            let name = rule["Name"].as_str().unwrap();
            // The rule may have been deleted.
            let list = json!({"Rule": name}).to_string();
            let (_, targets) = account.send("events", "ListTargetsByRule", &list).await;
            let targets: Value = serde_json::from_str(&targets).unwrap();
            for target in targets["Targets"].as_array().into_iter().flatten() {
                let queue = target["Arn"].as_str().unwrap().rsplit(':').next().unwrap();
                let policy = self.fleet.policy(queue).await;
                if policy.is_some_and(|policy| self.fleet.may_send(name, queue, &policy)) {
                    let message = json!({"QueueUrl": queue, "MessageBody": event}).to_string();
                    account.call("sqs", "SendMessage", &message).await;
                    reached.insert(queue.to_owned());
                }
            }
        }
        reached
    }

    /// Whether a pattern matches an event of this signal. All such events are alike.
    async fn matches(&self, pattern: &str, signal: Signal, event: &Value) -> bool {
        let key = (pattern.to_owned(), signal);
        if let Some(known) = self.matches.lock().unwrap().get(&key) {
            return *known;
        }
        let test = json!({"EventPattern": pattern, "Event": event.to_string()}).to_string();
        let answer = self.fleet.account.json("events", "TestEventPattern", &test).await;
        let matches = answer["Result"].as_bool().unwrap();
        self.matches.lock().unwrap().insert(key, matches);
        matches
    }

    /// Receives and deletes the events in the queue of a cluster, as its Karpenter does.
    async fn read(&self, cluster: &'static str) {
        let account = &self.fleet.account;
        loop {
            let queue = self.queues.lock().unwrap().get(cluster).cloned();
            let receive = json!({"QueueUrl": queue, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 1}).to_string();
            let Some(queue) = queue else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let received = account.json("sqs", "ReceiveMessage", &receive).await;
            for message in received["Messages"].as_array().into_iter().flatten() {
                let event: Value = serde_json::from_str(message["Body"].as_str().unwrap()).unwrap();
                let sent = (cluster, event["id"].as_str().unwrap_or_default().to_owned());
                self.received.lock().unwrap().insert(sent);
                let delete = json!({"QueueUrl": queue, "ReceiptHandle": message["ReceiptHandle"]}).to_string();
                account.call("sqs", "DeleteMessage", &delete).await;
            }
        }
    }

    /// Waits until all events so far have arrived at the Karpenters that read a queue.
    async fn all_arrive(&self) {
        let reading: BTreeSet<&str> = self.queues.lock().unwrap().keys().copied().collect();
        let mut expected = self.expected.lock().unwrap().clone();
        expected.retain(|(cluster, _)| reading.contains(cluster));
        let end = Instant::now() + ARRIVAL;
        loop {
            let missing: Vec<Sent> = expected.difference(&self.received.lock().unwrap()).cloned().collect();
            if missing.is_empty() {
                return;
            }
            assert!(Instant::now() < end, "of {} events these are lost: {missing:?}", expected.len());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
