//! Events of every kind, each matched by its own rule or by none. One emulator judges every pattern. On the other, the
//! rules run: it accepts events of `aws.ec2` and `aws.health`, which AWS and the first do not.
//!
//! The samples are in `tests/events`, in the shapes of the EC2 and Health user guides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use aws_sdk_eventbridge::primitives::DateTime;
use aws_sdk_eventbridge::types::{PutEventsRequestEntry, ReplayDestination, Target};
use kibus::model::{HubOptions, Scope, Signal};
use serde_json::Value;

use crate::support::emulator::{ACCOUNT, Emulator, Kind};
use crate::support::workbench::Bench;

/// Each sample, and the signal whose rule matches it. Karpenter acts on no other events, and an event that it discards
/// would distort its latency metric.
const SAMPLES: [(&str, Option<Signal>); 26] = [
    ("capacity-reservation-interruption", Some(Signal::CapacityReservation)),
    ("capacity-reservation-interruption-older-name", Some(Signal::CapacityReservation)),
    ("health-ec2-account-notification-ignored", None),
    ("health-ec2-issue-ignored", None),
    ("health-lambda-scheduled-change-ignored", None),
    ("health-scheduled-change-arn-entity-no-resources", Some(Signal::ScheduledChange)),
    ("health-scheduled-change-backup-region", Some(Signal::ScheduledChange)),
    ("health-scheduled-change-multi", Some(Signal::ScheduledChange)),
    ("health-scheduled-change-single", Some(Signal::ScheduledChange)),
    ("heartbeat", Some(Signal::Heartbeat)),
    ("probe", Some(Signal::Probe)),
    // Anybody who may put events could make the router look for random clusters.
    ("probe-of-a-cluster", None),
    ("probe-of-another-type", None),
    ("rebalance-recommendation", Some(Signal::Rebalance)),
    ("spot-interruption-warning", Some(Signal::SpotInterruption)),
    ("spot-interruption-warning-china", Some(Signal::SpotInterruption)),
    ("spot-interruption-warning-of-another-source", None),
    ("state-change-in-another-case", Some(Signal::StateChange)),
    ("state-change-pending", None),
    ("state-change-running", None),
    ("state-change-shutting-down", Some(Signal::StateChange)),
    ("state-change-stopped", Some(Signal::StateChange)),
    ("state-change-stopping", Some(Signal::StateChange)),
    ("state-change-terminated", Some(Signal::StateChange)),
    ("unknown-detail-type", None),
    ("unknown-source", None),
];

#[tokio::test]
async fn every_pattern_matches_its_events_and_no_others() {
    let emulator = Emulator::start(Kind::Ministack).await;
    let events = aws_sdk_eventbridge::Client::new(&emulator.sdk());
    let account = ACCOUNT.parse().unwrap();
    let matched = async |event: &Value| {
        let mut matched = Vec::new();
        for signal in Signal::ALL {
            let pattern = signal.pattern(&account).value().to_string();
            let call = events.test_event_pattern().event_pattern(pattern);
            let answer = call.event(event.to_string()).send().await.unwrap();
            if answer.result() {
                matched.push(signal);
            }
        }
        matched
    };
    for (name, expected) in SAMPLES {
        let mut event = sample(name);
        assert_eq!(matched(&event).await, Vec::from_iter(expected), "{name}");
        event["replay-name"] = "last-week".into();
        assert_eq!(matched(&event).await, [], "{name}, replayed");
    }
}

/// A replay sends old events again, with the source that only AWS can put.
#[tokio::test]
async fn a_replay_of_an_archive_reaches_no_queue_of_the_hub() {
    let emulator = Emulator::start(Kind::Moto).await;
    let bench = Bench::new(&emulator).await;
    bench.reach(&bench.hub(HubOptions::default())).await;
    let mut bus = RuleQueues::new(&emulator).await;
    let replays = r#"{"replay-name": [{"exists": true}]}"#;
    bus.add_rule(&bench.scope, "replays", replays).await;
    let default_bus = bench.scope.event_bus_arn();
    let call = bus.events.create_archive().archive_name("all");
    let archive = call.event_source_arn(&default_bus).send().await.unwrap();

    bus.put(&sample("spot-interruption-warning")).await;
    assert_eq!(bus.arrived("kibus-hub").await.len(), 1);
    let destination = ReplayDestination::builder().arn(&default_bus).build().unwrap();
    let call = bus.events.start_replay().replay_name("again").destination(destination);
    let call = call.set_event_source_arn(archive.archive_arn);
    let call = call.event_start_time(DateTime::from_secs(0));
    call.event_end_time(DateTime::from_secs(4_000_000_000)).send().await.unwrap();
    assert_eq!(bus.arrived("replays").await.len(), 1, "it was replayed");
    assert_eq!(bus.arrived("kibus-hub").await, Vec::<Value>::new());
}

#[tokio::test]
async fn every_event_matches_its_rule() {
    samples_match_their_rules(false).await;
}

#[tokio::test]
async fn opt_in_events_match_on_request() {
    samples_match_their_rules(true).await;
}

#[test]
fn every_sample_and_every_signal_is_in_the_table() {
    let files = std::fs::read_dir(directory()).unwrap();
    let files: BTreeSet<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files, SAMPLES.map(|(name, _)| format!("{name}.json")).into());
    let signals: BTreeSet<Signal> = SAMPLES.iter().filter_map(|(_, signal)| *signal).collect();
    assert_eq!(signals, Signal::ALL.into());
}

async fn samples_match_their_rules(on_request: bool) {
    let emulator = Emulator::start(Kind::Moto).await;
    let bench = Bench::new(&emulator).await;
    let options = HubOptions { rebalance: Some(on_request), heartbeat: Some(on_request), ..HubOptions::default() };
    bench.reach(&bench.hub(options.clone())).await;
    let expected = |signal: Option<Signal>| signal.filter(|signal| options.has_rule(*signal));
    let mut bus = RuleQueues::new(&emulator).await;
    for (name, signal) in SAMPLES {
        let event = sample(name);
        bus.put(&event).await;
        let arrived = bus.arrived("kibus-hub").await;
        assert_eq!(arrived.len(), usize::from(expected(signal).is_some()), "{name}: {arrived:?}");
        for arrived in &arrived {
            for member in ["source", "detail-type", "detail"] {
                assert_eq!(arrived[member], event[member], "{name}");
            }
        }
    }
    bus.give_each_rule_a_queue(&bench.scope).await;
    for (name, signal) in SAMPLES {
        bus.put(&sample(name)).await;
        let rule = expected(signal).map(|signal| bench.scope.rule(signal).to_string());
        assert_eq!(bus.matched().await, rule.into_iter().collect::<Vec<_>>(), "{name}");
    }
}

fn directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/events"))
}

fn sample(name: &str) -> Value {
    let text = std::fs::read_to_string(directory().join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The rules of the hub and the queues that they send to.
struct RuleQueues {
    events: aws_sdk_eventbridge::Client,
    sqs: aws_sdk_sqs::Client,
    /// The URLs of the hub queue and, by the rule's name, of each rule's own queue.
    queues: BTreeMap<String, String>,
    rules: Vec<String>,
}

impl RuleQueues {
    async fn new(emulator: &Emulator) -> Self {
        let sdk = emulator.sdk();
        // This emulator would run the function in a container. Without the mapping, messages stay in the hub queue.
        let lambda = aws_sdk_lambda::Client::new(&sdk);
        for mapping in lambda.list_event_source_mappings().send().await.unwrap().event_source_mappings() {
            let call = lambda.update_event_source_mapping().uuid(mapping.uuid().unwrap());
            let call = call.enabled(false);
            call.send().await.unwrap();
        }
        let (events, sqs) = (aws_sdk_eventbridge::Client::new(&sdk), aws_sdk_sqs::Client::new(&sdk));
        let hub = sqs.get_queue_url().queue_name("kibus-hub").send().await.unwrap();
        let rules = events.list_rules().send().await.unwrap();
        let rules = rules.rules().iter().map(|rule| rule.name().unwrap().to_owned());
        Self { queues: [("kibus-hub".to_owned(), hub.queue_url.unwrap())].into(), rules: rules.collect(), events, sqs }
    }

    /// Makes each rule send to a queue of its own instead of the hub queue. (This emulator fails at a second target.)
    async fn give_each_rule_a_queue(&mut self, scope: &Scope) {
        for rule in self.rules.clone() {
            let targets = self.events.list_targets_by_rule().rule(&rule).send().await.unwrap();
            let [target] = targets.targets() else { panic!("{rule} has {:?}", targets.targets()) };
            self.give_a_queue(scope, &rule, target.id()).await;
        }
    }

    /// Adds a rule of others, which sends to a queue of its own.
    async fn add_rule(&mut self, scope: &Scope, rule: &str, pattern: &str) {
        let call = self.events.put_rule().name(rule).event_pattern(pattern);
        call.send().await.unwrap();
        self.give_a_queue(scope, rule, "queue").await;
    }

    async fn give_a_queue(&mut self, scope: &Scope, rule: &str, target: &str) {
        let queue = format!("took-{rule}");
        let made = self.sqs.create_queue().queue_name(&queue).send().await.unwrap();
        self.queues.insert(rule.to_owned(), made.queue_url.unwrap());
        let target = Target::builder().id(target);
        let target = target.arn(scope.queue_arn(&queue.parse().unwrap())).build().unwrap();
        let call = self.events.put_targets().rule(rule).targets(target);
        call.send().await.unwrap();
    }

    async fn put(&self, event: &Value) {
        let text = |member: &str| event[member].as_str().unwrap();
        let entry = PutEventsRequestEntry::builder()
            .source(text("source"))
            .detail_type(text("detail-type"))
            .detail(event["detail"].to_string());
        let answer = self.events.put_events().entries(entry.build()).send().await.unwrap();
        assert_eq!(answer.failed_entry_count(), 0, "{event}");
    }

    /// The rules that matched since the last call.
    async fn matched(&self) -> Vec<String> {
        let mut matched = Vec::new();
        for rule in &self.rules {
            matched.extend(self.arrived(rule).await.iter().map(|_| rule.clone()));
        }
        matched
    }

    /// The messages that arrived in a queue since the last call. The emulator delivers before it answers.
    async fn arrived(&self, queue: &str) -> Vec<Value> {
        let url = &self.queues[queue];
        let call = self.sqs.receive_message().queue_url(url).max_number_of_messages(10);
        let mut bodies = Vec::new();
        for message in call.send().await.unwrap().messages() {
            bodies.push(serde_json::from_str(message.body().unwrap()).unwrap());
            let call = self.sqs.delete_message().queue_url(url);
            let call = call.set_receipt_handle(message.receipt_handle.clone());
            call.send().await.unwrap();
        }
        bodies
    }
}
