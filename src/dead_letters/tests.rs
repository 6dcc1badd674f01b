//! Dead letters, as they are read.

use serde_json::json;

use super::*;
use crate::model::notation::time_text;
use crate::model::scope::tests::scope;
use crate::model::signal::{Signal, sample_event};

/// 2026-11-21T20:00:00Z.
const NOW: i64 = 1_795_291_200_000;

fn letter(body: &str) -> DeadLetter {
    DeadLetter {
        id: "m".to_owned(),
        sent: NOW,
        receives: 1,
        cause: DeadLetterCause::Unknown,
        body: body.to_owned(),
        receipt: String::new(),
    }
}

#[test]
fn an_event_is_useful_until_its_instance_is_gone() {
    let event = |signal, member: &str, value: &str| {
        let mut event = sample_event(&scope(), signal, &["i-1"]);
        match member {
            "time" => event["time"] = json!(value),
            member => event["detail"][member] = json!(value),
        }
        event.to_string()
    };
    let spot = |time| event(Signal::SpotInterruption, "time", time);
    let change = |member, time| event(Signal::ScheduledChange, member, time);
    for (body, useful) in [
        (spot("2026-11-21T19:58:01Z"), Some("until 2026-11-21T20:00:01Z")),
        (spot("2026-11-21T19:58:00Z"), Some("little")),
        (spot("yesterday"), Some("unknown")),
        (
            change("endTime", "Sat, 21 Nov 2026 20:00:01 GMT"),
            Some("until 2026-11-21T20:00:01Z"),
        ),
        (change("startTime", "Sat, 21 Nov 2026 20:00:00 GMT"), Some("little")),
        (change("startTime", "soon"), Some("unknown")),
        (event(Signal::CapacityReservation, "x", ""), Some("unknown")),
        (event(Signal::StateChange, "x", ""), Some("little")),
        (event(Signal::Rebalance, "x", ""), Some("little")),
        (event(Signal::Probe, "x", ""), Some("little")),
        (
            r#"{"source": "x", "detail-type": "y", "detail": {}}"#.to_owned(),
            Some("little"),
        ),
        ("{}".to_owned(), None),
        ("not JSON".to_owned(), None),
    ] {
        let found = letter(&body).event(NOW).map(|event| match event.usefulness {
            Usefulness::Until(end) => format!("until {}", time_text(end)),
            Usefulness::Little(_) => "little".to_owned(),
            Usefulness::Unknown(_) => "unknown".to_owned(),
        });
        assert_eq!(found.as_deref(), useful, "{body}");
    }
}

#[test]
fn instances_are_named_by_their_ids() {
    let arn = "arn:aws:ec2:us-west-2:111122223333:instance/i-2";
    let health = sample_event(&scope(), Signal::ScheduledChange, &["i-1", arn, "vol-1", "i-\u{1b}"]);
    let spot = sample_event(&scope(), Signal::SpotInterruption, &["i-3"]);
    for (event, instances) in [(health, vec!["i-1", "i-2"]), (spot, vec!["i-3"])] {
        assert_eq!(letter(&event.to_string()).event(NOW).unwrap().instances, instances);
    }
}

#[test]
fn the_cause_is_what_the_sender_recorded() {
    let error = DeliveryError {
        code: "NO_PERMISSIONS".to_owned(),
        ..DeliveryError::default()
    };
    for (code, moved_from, cause) in [
        (
            Some("NO_PERMISSIONS"),
            None,
            DeadLetterCause::NotDelivered(error.clone()),
        ),
        (
            Some("NO_PERMISSIONS"),
            Some("arn"),
            DeadLetterCause::NotDelivered(error),
        ),
        (None, Some("arn"), DeadLetterCause::GivenUp),
        (None, None, DeadLetterCause::Unknown),
    ] {
        let attribute = |name: &str| code.filter(|_| name == "ERROR_CODE");
        assert_eq!(DeadLetterCause::of(attribute, moved_from), cause);
    }
}

#[test]
fn only_lines_about_retries_are_read() {
    for (line, read) in [
        (
            r#"{"message": "retried", "reason": "no tags yet", "cluster": "", "message_id": "m"}"#,
            Some(("no tags yet", None)),
        ),
        (
            r#"{"message": "retried", "reason": "queue denied", "cluster": "base", "message_id": "m"}"#,
            Some(("queue denied", Some("base"))),
        ),
        (r#"{"message": "dropped", "reason": "x", "message_id": "m"}"#, None),
        (r#"{"message": "retried", "reason": "x"}"#, None),
        ("START RequestId: x", None),
    ] {
        let found = RetryLine::read(line);
        let found = found
            .as_ref()
            .map(|line| (line.reason.as_str(), line.cluster.as_deref()));
        assert_eq!(found, read, "{line}");
    }
}

/// Lambda developer guide, "Implementing partial batch responses". An answer without the list is a success for Lambda;
/// here it is a failure, so that nothing is deleted that was not routed.
#[test]
fn only_messages_that_the_answer_clears_count_as_routed() {
    for (answer, failed) in [
        (r#"{"batchItemFailures": []}"#, vec![]),
        (r#"{"batchItemFailures": [{"itemIdentifier": "b"}]}"#, vec!["b"]),
        (r#"{"batchItemFailures": [{"itemIdentifier": "c"}]}"#, vec!["a", "b"]),
        (r#"{"batchItemFailures": [{"itemIdentifier": ""}]}"#, vec!["a", "b"]),
        (r#"{"batchItemFailures": [{}]}"#, vec!["a", "b"]),
        ("{}", vec!["a", "b"]),
        ("null", vec!["a", "b"]),
        ("", vec!["a", "b"]),
    ] {
        let read = RouterAnswer::read(answer.as_bytes(), &["a", "b"]);
        assert_eq!(
            read.returned,
            failed.into_iter().map(str::to_owned).collect(),
            "{answer}"
        );
    }
}
