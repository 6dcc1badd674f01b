//! Every known shape of an event: what is forwarded, what is dropped, and why.

mod readings;
mod repair;

use serde_json::{Value, json};

use super::*;
use crate::model::{sample_event, scope::tests::scope};

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

/// A health event with another value in its detail.
fn detail(member: &str, value: Value) -> Value {
    with(health(&[A]), &format!("/detail/{member}"), value)
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

#[test]
fn an_event_for_karpenter_is_forwarded_byte_for_byte() {
    for (what, event, signal) in [
        ("spot", spot(), Signal::SpotInterruption),
        ("stopping", state("stopping"), Signal::StateChange),
        ("stopped", state("stopped"), Signal::StateChange),
        ("shutting down", state("shutting-down"), Signal::StateChange),
        ("terminated", state("terminated"), Signal::StateChange),
        ("capacity reservation", sample(Signal::CapacityReservation, &[A]), Signal::CapacityReservation),
        ("rebalance", sample(Signal::Rebalance, &[A]), Signal::Rebalance),
        ("health", health(&[A]), Signal::ScheduledChange),
        ("health of two", health(&[A, B]), Signal::ScheduledChange),
        ("no resources", without(spot(), "resources"), Signal::SpotInterruption),
        ("null resources", with(spot(), "/resources", Value::Null), Signal::SpotInterruption),
        ("no account", without(spot(), "account"), Signal::SpotInterruption),
        ("an empty Region", with(spot(), "/region", json!("")), Signal::SpotInterruption),
        ("a state in another case", state("Stopping"), Signal::StateChange),
        ("an empty affected account", detail("affectedAccount", json!("")), Signal::ScheduledChange),
        ("an affected account that is no text", detail("affectedAccount", json!(1)), Signal::ScheduledChange),
        ("an empty event Region", detail("eventRegion", json!("")), Signal::ScheduledChange),
        ("an event Region that is no text", detail("eventRegion", json!({})), Signal::ScheduledChange),
        ("null members", detail("startTime", Value::Null), Signal::ScheduledChange),
        ("a null among the resources", with(spot(), "/resources", json!(["x", null])), Signal::SpotInterruption),
        ("members that Karpenter does not read", with(spot(), "/detail/state", json!(1)), Signal::SpotInterruption),
        ("unknown members", with(spot(), "/detail/more", json!([1.50])), Signal::SpotInterruption),
    ] {
        for body in [event.to_string(), format!(" {event:#}\n")] {
            let event = decode(&body, 0, &scope()).unwrap_or_else(|drop| panic!("{what}: {drop:?}"));
            let found = (event.signal, event.time, event.repairs, whole(&event));
            assert_eq!(found, (signal, Some(TIME), 0, body.clone()), "{what}");
        }
    }
}

#[test]
fn an_event_for_no_karpenter_has_its_drop_reason() {
    let other = with(spot(), "/detail-type", json!("EC2 Spot Instance Request Fulfillment"));
    let twice = spot().to_string().replacen("\"source\":", "\"source\":0,\"source\":", 1);
    let unknown = twice.replace("aws.ec2", "aws.x");
    for (what, body, reason) in [
        ("nothing", String::new(), DropReason::NotAnEvent),
        ("no JSON", "not json".to_owned(), DropReason::NotAnEvent),
        ("a list", "[]".to_owned(), DropReason::NotAnEvent),
        ("null", "null".to_owned(), DropReason::NotAnEvent),
        ("two objects", "{} {}".to_owned(), DropReason::NotAnEvent),
        ("a part of an object", "{\"a\": 1".to_owned(), DropReason::NotAnEvent),
        ("an empty object", "{}".to_owned(), DropReason::NotAnEvent),
        ("a duplicate source of another kind", unknown, DropReason::NotForKarpenter),
        ("no source", without(spot(), "source").to_string(), DropReason::NotAnEvent),
        ("no detail-type", without(spot(), "detail-type").to_string(), DropReason::NotAnEvent),
        ("no detail", without(spot(), "detail").to_string(), DropReason::NotAnEvent),
        ("a detail that is text", with(spot(), "/detail", json!("x")).to_string(), DropReason::NotAnEvent),
        ("an account that is a number", with(spot(), "/account", json!(1)).to_string(), DropReason::NotAnEvent),
        ("another kind", other.to_string(), DropReason::NotForKarpenter),
        ("another source", with(spot(), "/source", json!("aws.x")).to_string(), DropReason::NotForKarpenter),
        ("running", state("running").to_string(), DropReason::NotForKarpenter),
        ("pending", state("pending").to_string(), DropReason::NotForKarpenter),
        ("an issue", detail("eventTypeCategory", json!("issue")).to_string(), DropReason::NotForKarpenter),
        ("another service", detail("service", json!("LAMBDA")).to_string(), DropReason::NotForKarpenter),
        ("a backup copy", detail("eventRegion", json!("us-east-1")).to_string(), DropReason::OtherRegion),
        ("another Region", with(spot(), "/region", json!("us-east-1")).to_string(), DropReason::OtherRegion),
        ("an organization's view", detail("affectedAccount", json!("4")).to_string(), DropReason::OtherAccount),
        ("another account", with(spot(), "/account", json!("444455556666")).to_string(), DropReason::OtherAccount),
        ("no entities", detail("affectedEntities", json!([])).to_string(), DropReason::NoInstance),
        ("null entities", detail("affectedEntities", Value::Null).to_string(), DropReason::NoInstance),
        ("no instance", with(spot(), "/detail", json!({})).to_string(), DropReason::NoInstance),
        ("a wildcard", with(spot(), "/detail/instance-id", json!("i-*")).to_string(), DropReason::NoInstance),
        ("more than a queue takes", "x".repeat(LARGEST + 1), DropReason::TooLarge),
    ] {
        assert_eq!(decode(&body, 0, &scope()).err(), Some(reason), "{what}");
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
    /// Every message is decoded or dropped with a reason, and never causes a panic.
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
