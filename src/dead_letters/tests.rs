//! Dead letters, as they are read.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::treat::batch_event;
use super::*;
use crate::model::{RouterAnswer, Signal, sample_event, scope::tests::scope};

/// 2026-11-21T20:00:00Z.
const NOW: i64 = 1_795_291_200_000;

/// The schema of the kind of an event.
pub(super) fn signal(_: &mut SchemaGenerator) -> Schema {
    let slugs: Vec<_> = Signal::ALL.map(Signal::slug).into_iter().map(Some).chain([None]).collect();
    json_schema!({ "enum": slugs })
}

fn said(body: &str) -> Option<LetterEvent> {
    let letter = DeadLetter { body: body.to_owned(), ..DeadLetter::default() };
    letter.with_event(NOW).event
}

#[test]
fn an_event_is_useful_until_its_instance_is_gone() {
    let event = |signal| sample_event(&scope(), signal, &["i-1"]);
    let spot = |time: &str| {
        let mut event = event(Signal::SpotInterruption);
        event["time"] = json!(time);
        event.to_string()
    };
    let change = |member: &str, time: &str| {
        let mut event = event(Signal::ScheduledChange);
        event["detail"][member] = json!(time);
        event.to_string()
    };
    for (body, useful) in [
        (spot("2026-11-21T19:58:01Z"), Some("until 2026-11-21T20:00:01Z")),
        (spot("2026-11-21T19:58:00Z"), Some("little")),
        (spot("yesterday"), Some("unknown")),
        (change("endTime", "Sat, 21 Nov 2026 20:00:01 GMT"), Some("until 2026-11-21T20:00:01Z")),
        (change("startTime", "Sat, 21 Nov 2026 20:00:00 GMT"), Some("little")),
        (change("startTime", "soon"), Some("unknown")),
        (event(Signal::CapacityReservation).to_string(), Some("unknown")),
        (event(Signal::StateChange).to_string(), Some("little")),
        (event(Signal::Rebalance).to_string(), Some("little")),
        (event(Signal::Probe).to_string(), Some("little")),
        (r#"{"source": "x", "detail-type": "y", "detail": {}}"#.to_owned(), Some("little")),
        ("{}".to_owned(), None),
        ("not JSON".to_owned(), None),
    ] {
        let found = said(&body).map(|event| {
            assert_eq!(event.useful_reason.is_none(), event.useful == Useful::Until, "{body}");
            match event.useful {
                Useful::Until => format!("until {}", event.useful_until.unwrap()),
                Useful::Little => "little".to_owned(),
                Useful::Unknown => "unknown".to_owned(),
            }
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
        assert_eq!(said(&event.to_string()).unwrap().instances, instances);
    }
}

#[test]
fn the_cause_is_what_the_sender_recorded() {
    let error = DeliveryError { code: "NO_PERMISSIONS".to_owned(), ..DeliveryError::default() };
    for (code, is_moved, cause, recorded) in [
        (Some("NO_PERMISSIONS"), false, DeadLetterCause::NotDelivered, Some(&error)),
        (Some("NO_PERMISSIONS"), true, DeadLetterCause::NotDelivered, Some(&error)),
        (None, true, DeadLetterCause::GivenUp, None),
        (None, false, DeadLetterCause::Unknown, None),
    ] {
        let attribute = |name: &str| code.filter(|_| name == "ERROR_CODE");
        let letter = DeadLetter::default().with_cause(attribute, is_moved);
        assert_eq!((letter.cause, letter.delivery_error.as_ref()), (cause, recorded));
    }
}

#[test]
fn only_lines_about_retries_are_read() {
    for (message, reason, cluster, read) in [
        ("retried", "no tags yet", "", Some(("no tags yet", None))),
        ("retried", "queue denied", "base", Some(("queue denied", Some("base")))),
        ("dropped", "x", "", None),
    ] {
        let line = json!({"message": message, "reason": reason, "cluster": cluster, "message_id": "m"}).to_string();
        let found = RetryLine::parse(&line);
        let found = found.as_ref().map(|line| (line.reason.as_str(), line.cluster.as_deref()));
        assert_eq!(found, read, "{line}");
    }
    for line in [r#"{"message": "retried", "reason": "x"}"#, "START RequestId: x"] {
        assert_eq!(RetryLine::parse(line).map(|line| line.reason), None, "{line}");
    }
}

/// Lambda developer guide, "Implementing partial batch responses". An answer without the list is a success for Lambda;
/// here it is a failure, so that only routed messages are deleted.
#[test]
fn only_messages_that_the_answer_clears_count_as_routed() {
    let failures = |items: &str| format!(r#"{{"batchItemFailures": {items}}}"#);
    for (answer, failed) in [
        (failures("[]"), &[][..]),
        (failures(r#"[{"itemIdentifier": "b"}]"#), &["b"]),
        (failures(r#"[{"itemIdentifier": "c"}]"#), &["a", "b"]),
        (failures(r#"[{"itemIdentifier": ""}]"#), &["a", "b"]),
        (failures("[{}]"), &["a", "b"]),
        ("{}".to_owned(), &["a", "b"]),
        ("null".to_owned(), &["a", "b"]),
        (String::new(), &["a", "b"]),
    ] {
        let returned = RouterAnswer::read(answer.as_bytes(), &["a", "b"]).returned;
        assert!(returned.iter().eq(failed), "{answer}: {returned:?}");
    }
}

/// A test of the router reads the same file.
#[test]
fn a_batch_is_what_the_router_reads() {
    let letter =
        DeadLetter { id: "m".to_owned(), sent: 5, receives: 1, body: "{}".to_owned(), ..DeadLetter::default() };
    let expected: Value = serde_json::from_str(include_str!("batch.json")).unwrap();
    assert_eq!(batch_event([&letter]), expected);
}
