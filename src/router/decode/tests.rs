//! Every known shape of an event: what is forwarded, what is dropped, and why.

mod readings;
mod repair;

use serde_json::{Value, json};

use super::*;
use crate::model::{sample_event, scope::tests::scope, table::rows};

/// 2026-11-20T14:02:31Z, the time of the sample events.
const TIME: i64 = 1_795_183_351_000;
const A: &str = "i-0a1b2c3d4e5f60718";
const B: &str = "i-0c3d4e5f60718293a";

fn sample(signal: Signal, about: &[&str]) -> Value {
    sample_event(&scope(), signal, about)
}

fn spot() -> Value {
    sample(Signal::SpotInterruption, &[A])
}

fn state(state: &str) -> Value {
    with(sample(Signal::StateChange, &[A]), "/detail/state", json!(state))
}

/// A health event about these entities, which its resources name too.
fn health(entities: &[&str]) -> Value {
    sample(Signal::ScheduledChange, entities)
}

fn with(mut event: Value, place: &str, value: Value) -> Value {
    let (parent, key) = place.rsplit_once('/').unwrap();
    let parent = event.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    parent.insert(key.to_owned(), value);
    event
}

fn without(mut event: Value, key: &str) -> Value {
    event.as_object_mut().unwrap().remove(key);
    event
}

fn arn(id: &str) -> String {
    format!("arn:aws:ec2:us-west-2:111122223333:instance/{id}")
}

fn whole(event: &DecodedEvent<'_>) -> String {
    event.copy_of(&(0..100).collect()).into_owned()
}

/// A sample of this signal after edits: a member with another value, `/place=JSON`, or without a member, `-/name`.
fn edited<'a>(signal: &str, edits: impl IntoIterator<Item = &'a str>) -> Value {
    let signal = Signal::ALL.into_iter().find(|one| format!("{one:?}") == signal).unwrap();
    edits.into_iter().filter(|edit| !edit.is_empty()).fold(sample(signal, &[A]), |event, edit| {
        match edit.split_once('=') {
            Some((place, value)) => with(event, place, serde_json::from_str(value).unwrap()),
            None => without(event, edit.strip_prefix("-/").unwrap()),
        }
    })
}

#[test]
fn an_event_for_karpenter_is_forwarded_byte_for_byte() {
    let table = r#"
        SpotInterruption    | ; -/resources; /resources=null; /resources=["x", null]; -/account; /region=""; /detail/state=1; /detail/more=[1.50]
        StateChange         | /detail/state="stopping"; /detail/state="stopped"; /detail/state="shutting-down"; /detail/state="terminated"; /detail/state="Stopping"
        CapacityReservation |
        Rebalance           |
        ScheduledChange     | ; /detail/affectedAccount=""; /detail/affectedAccount=1; /detail/eventRegion=""; /detail/eventRegion={}; /detail/startTime=null"#;
    let mut events = vec![("ScheduledChange", health(&[A, B]))];
    for [signal, edits] in rows(table) {
        events.extend(edits.split("; ").map(|edit| (signal, edited(signal, [edit]))));
    }
    for (signal, event) in events {
        for body in [event.to_string(), format!(" {event:#}\n")] {
            let event = decode(&body, 0, &scope()).unwrap_or_else(|drop| panic!("{body}: {drop:?}"));
            let found = (format!("{:?}", event.signal), event.time, event.repairs, whole(&event));
            assert_eq!(found, (signal.to_owned(), Some(TIME), 0, body.clone()));
        }
    }
}

#[test]
fn an_event_for_no_karpenter_has_its_drop_reason() {
    let table = r#"
        NotAnEvent      | SpotInterruption | -/source; -/detail-type; -/detail; /detail="x"; /account=1
        NotForKarpenter | SpotInterruption | /detail-type="EC2 Spot Instance Request Fulfillment"; /source="aws.x"
        NotForKarpenter | StateChange      | /detail/state="running"; /detail/state="pending"
        NotForKarpenter | ScheduledChange  | /detail/eventTypeCategory="issue"; /detail/service="LAMBDA"
        OtherRegion     | SpotInterruption | /region="us-east-1"
        OtherRegion     | ScheduledChange  | /detail/eventRegion="us-east-1"
        OtherAccount    | SpotInterruption | /account="444455556666"
        OtherAccount    | ScheduledChange  | /detail/affectedAccount="444455556666"
        NoInstance      | SpotInterruption | /detail={}; /detail/instance-id="i-*"
        NoInstance      | ScheduledChange  | /detail/affectedEntities=[]; /detail/affectedEntities=null"#;
    let other_source =
        spot().to_string().replacen("\"source\":", "\"source\":0,\"source\":", 1).replace("aws.ec2", "aws.x");
    let mut bodies = vec![("NotForKarpenter", other_source), ("TooLarge", "x".repeat(LARGEST + 1))];
    let no_events = ["", "not json", "[]", "null", "{} {}", "{\"a\": 1", "{}"];
    bodies.extend(no_events.map(|body| ("NotAnEvent", body.to_owned())));
    for [reason, signal, edits] in rows(table) {
        bodies.extend(edits.split("; ").map(|edit| (reason, edited(signal, [edit]).to_string())));
    }
    for (reason, body) in bodies {
        let found = decode(&body, 0, &scope()).err().map(|reason| format!("{reason:?}"));
        assert_eq!(found.as_deref(), Some(reason), "{body:.500}");
    }
}

#[test]
fn a_probe_names_a_cluster_or_nothing() {
    let probe = |detail| with(sample(Signal::Probe, &[]), "/detail", detail).to_string();
    for (detail, subject) in [
        (json!({"cluster": "base"}), Ok(EventSubject::Probe(Some("base".parse().unwrap())))),
        (json!({"cluster": ""}), Ok(EventSubject::Probe(None))),
        (json!({"cluster": null}), Ok(EventSubject::Probe(None))),
        (json!({}), Ok(EventSubject::Probe(None))),
        (json!({"cluster": "a b"}), Err(DropReason::NoClusterNamed)),
        (json!({"cluster": 1}), Err(DropReason::NoClusterNamed)),
    ] {
        let body = probe(detail);
        assert_eq!(decode(&body, 0, &scope()).map(|event| event.subject), subject, "{body}");
    }
}

proptest::proptest! {
    /// Every message is decoded, or dropped with a reason, and never causes a panic.
    #[test]
    fn no_message_causes_a_panic(cut in 0..1000_usize, put in 0..1000_usize, text in ".{0,6}") {
        let mut body = health(&[A, &arn(B), "vol-1"]).to_string();
        for at in [cut, put] {
            let at = body.floor_char_boundary(at % (body.len() + 1));
            body.insert_str(at, &text);
        }
        let end = body.floor_char_boundary(body.len().min(cut));
        for body in [body.as_str(), &body[..end], &text] {
            if let Ok(event) = decode(body, 0, &scope()) {
                for places in [vec![], vec![0], vec![1, 2], vec![0, 1, 2]] {
                    let copy = event.copy_of(&places.into_iter().collect());
                    proptest::prop_assert!(serde_json::from_str::<Value>(&copy).is_ok(), "{copy}");
                }
            }
        }
    }
}

#[test]
fn an_id_is_found_in_an_arn_of_this_account_and_region() {
    let of_none = "arn:aws:ec2:us-west-2:111122223333:volume/vol-1 vol-0a1b2c3d4e5f60718 AWS_ACCOUNT i-* i- ";
    let others = [
        ("arn:aws:ec2:us-east-1:111122223333:instance/i-0a1b2c3d4e5f60718", DropReason::OtherRegion),
        ("arn:aws:ec2:us-west-2:444455556666:instance/i-0a1b2c3d4e5f60718", DropReason::OtherAccount),
    ];
    for (text, reason) in of_none.split(' ').map(|text| (text, DropReason::NoInstance)).chain(others) {
        assert_eq!(find_instance(text, &scope()), Err(reason), "{text}");
    }
    for text in [A, &arn(A), "arn:aws:ec2:::instance/i-0a1b2c3d4e5f60718"] {
        assert_eq!(find_instance(text, &scope()), Ok(A.parse().unwrap()), "{text}");
    }
}
