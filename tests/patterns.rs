//! Events of every kind, each matched by its own pattern or by none.
//!
//! The samples are in `tests/events`, in the formats of the EC2 and Health user guides.

use std::collections::BTreeSet;
use std::path::Path;

use kibus::model::Signal;
use serde_json::{Value, json};

use crate::support::emulator::ACCOUNT;
use crate::support::stage::Stage;

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
    // Otherwise, anyone who can put events could make the router look for random clusters.
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
    let stage = Stage::new().await;
    let matched = async |event: &Value| {
        let mut matched = Vec::new();
        for signal in Signal::ALL {
            let pattern = signal.pattern(&ACCOUNT.parse().unwrap()).value().to_string();
            let test = json!({ "EventPattern": pattern, "Event": event.to_string() }).to_string();
            if stage.account.json("events", "TestEventPattern", &test).await["Result"] == true {
                matched.push(signal);
            }
        }
        matched
    };
    for (name, expected) in SAMPLES {
        let mut event = sample(name);
        assert_eq!(matched(&event).await, Vec::from_iter(expected), "{name}");
        // A replay of an archive sends old events again.
        event["replay-name"] = "last-week".into();
        assert_eq!(matched(&event).await, [], "{name}, replayed");
    }
}

#[test]
fn every_sample_and_every_signal_is_in_the_table() {
    let files = std::fs::read_dir(directory()).unwrap();
    let files: BTreeSet<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files, SAMPLES.map(|(name, _)| format!("{name}.json")).into());
    let signals: BTreeSet<Signal> = SAMPLES.iter().filter_map(|(_, signal)| *signal).collect();
    assert_eq!(signals, Signal::ALL.into());
}

fn directory() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/events"))
}

fn sample(name: &str) -> Value {
    let text = std::fs::read_to_string(directory().join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}
