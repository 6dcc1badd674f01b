//! Every known shape of an event, and the copy that a cluster receives.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::*;
use crate::model::sample_event::sample_event;
use crate::model::scope::tests::scope;

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

/// The event with another value at a place.
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

/// The copy with all entities.
fn whole(event: &DecodedEvent<'_>) -> String {
    event.copy_of(&(0..100).collect()).into_owned()
}

#[test]
fn an_event_for_karpenter_is_forwarded_byte_for_byte() {
    let detail = |place: &str, value: Value| with(health(&[A]), &format!("/detail/{place}"), value);
    for (what, event, signal) in [
        ("spot", spot(), Signal::SpotInterruption),
        ("stopping", state("stopping"), Signal::StateChange),
        ("stopped", state("stopped"), Signal::StateChange),
        ("shutting down", state("shutting-down"), Signal::StateChange),
        ("terminated", state("terminated"), Signal::StateChange),
        (
            "capacity reservation",
            sample(Signal::CapacityReservation, &[A]),
            Signal::CapacityReservation,
        ),
        ("rebalance", sample(Signal::Rebalance, &[A]), Signal::Rebalance),
        ("health", health(&[A]), Signal::ScheduledChange),
        ("health of two", health(&[A, B]), Signal::ScheduledChange),
        ("no resources", without(spot(), "resources"), Signal::SpotInterruption),
        (
            "null resources",
            with(spot(), "/resources", Value::Null),
            Signal::SpotInterruption,
        ),
        ("no account", without(spot(), "account"), Signal::SpotInterruption),
        (
            "an empty Region",
            with(spot(), "/region", json!("")),
            Signal::SpotInterruption,
        ),
        ("a state in another case", state("Stopping"), Signal::StateChange),
        (
            "an empty affected account",
            detail("affectedAccount", json!("")),
            Signal::ScheduledChange,
        ),
        (
            "an affected account that is no text",
            detail("affectedAccount", json!(1)),
            Signal::ScheduledChange,
        ),
        (
            "an empty event Region",
            detail("eventRegion", json!("")),
            Signal::ScheduledChange,
        ),
        (
            "an event Region that is no text",
            detail("eventRegion", json!({})),
            Signal::ScheduledChange,
        ),
        (
            "null members",
            detail("startTime", Value::Null),
            Signal::ScheduledChange,
        ),
        (
            "a null among the resources",
            with(spot(), "/resources", json!(["x", null])),
            Signal::SpotInterruption,
        ),
        (
            "members that Karpenter does not read",
            with(spot(), "/detail/state", json!(1)),
            Signal::SpotInterruption,
        ),
        (
            "unknown members",
            with(spot(), "/detail/more", json!([1.50])),
            Signal::SpotInterruption,
        ),
    ] {
        for body in [event.to_string(), format!(" {event:#}\n")] {
            let text = EventText::read(&body);
            let event = decode(&text, 0, &scope()).unwrap_or_else(|drop| panic!("{what}: {drop:?}"));
            assert_eq!(event.signal, signal, "{what}");
            assert_eq!(event.time, Some(TIME), "{what}");
            assert_eq!(event.repairs, [], "{what}");
            assert_eq!(whole(&event), body, "{what}");
        }
    }
}

#[test]
fn an_event_for_no_karpenter_has_its_drop_reason() {
    let detail = |place: &str, value: Value| with(health(&[A]), &format!("/detail/{place}"), value);
    let other = with(spot(), "/detail-type", json!("EC2 Spot Instance Request Fulfillment"));
    let spot_text = spot().to_string();
    let duplicate = format!("{},\"Source\":\"aws.x\"}}", &spot_text[..spot_text.len() - 1]);
    for (what, body, reason) in [
        ("nothing", String::new(), DropReason::NotAnEvent),
        ("no JSON", "not json".to_owned(), DropReason::NotAnEvent),
        ("a list", "[]".to_owned(), DropReason::NotAnEvent),
        ("an empty object", "{}".to_owned(), DropReason::NotAnEvent),
        ("another source at last", duplicate, DropReason::NotForKarpenter),
        (
            "no source",
            without(spot(), "source").to_string(),
            DropReason::NotAnEvent,
        ),
        (
            "no detail-type",
            without(spot(), "detail-type").to_string(),
            DropReason::NotAnEvent,
        ),
        (
            "no detail",
            without(spot(), "detail").to_string(),
            DropReason::NotAnEvent,
        ),
        (
            "a detail that is text",
            with(spot(), "/detail", json!("x")).to_string(),
            DropReason::NotAnEvent,
        ),
        (
            "an account that is a number",
            with(spot(), "/account", json!(1)).to_string(),
            DropReason::NotAnEvent,
        ),
        ("another kind", other.to_string(), DropReason::NotForKarpenter),
        (
            "another source",
            with(spot(), "/source", json!("aws.x")).to_string(),
            DropReason::NotForKarpenter,
        ),
        ("running", state("running").to_string(), DropReason::NotForKarpenter),
        ("pending", state("pending").to_string(), DropReason::NotForKarpenter),
        (
            "an issue",
            detail("eventTypeCategory", json!("issue")).to_string(),
            DropReason::NotForKarpenter,
        ),
        (
            "another service",
            detail("service", json!("LAMBDA")).to_string(),
            DropReason::NotForKarpenter,
        ),
        (
            "a backup copy",
            detail("eventRegion", json!("us-east-1")).to_string(),
            DropReason::OtherRegion,
        ),
        (
            "another Region",
            with(spot(), "/region", json!("us-east-1")).to_string(),
            DropReason::OtherRegion,
        ),
        (
            "an organization's view",
            detail("affectedAccount", json!("444455556666")).to_string(),
            DropReason::OtherAccount,
        ),
        (
            "another account",
            with(spot(), "/account", json!("444455556666")).to_string(),
            DropReason::OtherAccount,
        ),
        (
            "no entities",
            detail("affectedEntities", json!([])).to_string(),
            DropReason::NoInstance,
        ),
        (
            "null entities",
            detail("affectedEntities", Value::Null).to_string(),
            DropReason::NoInstance,
        ),
        (
            "no instance",
            with(spot(), "/detail", json!({})).to_string(),
            DropReason::NoInstance,
        ),
        (
            "a wildcard",
            with(spot(), "/detail/instance-id", json!("i-*")).to_string(),
            DropReason::NoInstance,
        ),
        ("more than a queue takes", "x".repeat(LARGEST + 1), DropReason::TooLarge),
    ] {
        assert_eq!(
            decode(&EventText::read(&body), 0, &scope()).err(),
            Some(reason),
            "{what}"
        );
    }
}

#[test]
fn a_shape_that_karpenter_discards_is_repaired_and_nothing_else_changes() {
    let new = sample(Signal::CapacityReservation, &[A]);
    let old = with(
        new.clone(),
        "/detail-type",
        json!("EC2 Interruptible Capacity Reservation Instance Interruption Warning"),
    );
    let mut single = health(&[A]);
    single["detail"]["affectedEntities"] = json!({"entityValue": A});
    let mut listed = health(&[A]);
    listed["detail"]["affectedEntities"] = json!([{"entityValue": A}]);
    let mixed = with(spot(), "/resources", json!([1, "x", null]));
    let detail = |place: &str, value: Value| with(health(&[A]), &format!("/detail/{place}"), value);
    for (what, arrived, expected, repair) in [
        (
            "no version",
            without(state("stopping"), "version"),
            state("stopping"),
            Repair::Version,
        ),
        (
            "null version",
            with(spot(), "/version", Value::Null),
            spot(),
            Repair::Version,
        ),
        (
            "a number as version",
            with(spot(), "/version", json!(0)),
            spot(),
            Repair::Version,
        ),
        ("the older detail-type", old, new, Repair::DetailType),
        (
            "resources that are text",
            with(spot(), "/resources", json!("x")),
            with(spot(), "/resources", json!(["x"])),
            Repair::Resources,
        ),
        (
            "resources that are more",
            mixed,
            with(spot(), "/resources", json!(["x"])),
            Repair::Resources,
        ),
        (
            "resources that are an object",
            with(spot(), "/resources", json!({"a": 1})),
            with(spot(), "/resources", json!([])),
            Repair::Resources,
        ),
        ("no time", without(spot(), "time"), spot(), Repair::Time),
        (
            "no time at all",
            with(spot(), "/time", json!("yesterday")),
            spot(),
            Repair::Time,
        ),
        (
            "an ARN",
            with(spot(), "/detail/instance-id", json!(arn(A))),
            spot(),
            Repair::Entity,
        ),
        (
            "an entity's ARN",
            with(health(&[&arn(A), B]), "/resources", json!([])),
            with(health(&[A, B]), "/resources", json!([])),
            Repair::Entity,
        ),
        ("an entity without a list", single, listed, Repair::Entity),
        (
            "an id that is a number",
            with(spot(), "/id", json!(5)),
            with(spot(), "/id", json!("5")),
            Repair::Type,
        ),
        (
            "an action that is an object",
            with(spot(), "/detail/instance-action", json!({"a": 1})),
            with(spot(), "/detail/instance-action", json!("{\"a\":1}")),
            Repair::Type,
        ),
        (
            "an ARN that is a flag",
            detail("eventArn", json!(true)),
            detail("eventArn", json!("true")),
            Repair::Type,
        ),
        (
            "a code that is a list",
            detail("eventTypeCode", json!([])),
            detail("eventTypeCode", json!("[]")),
            Repair::Type,
        ),
        (
            "a start that is a number",
            detail("startTime", json!(1)),
            detail("startTime", json!("1")),
            Repair::Type,
        ),
        (
            "an end that is a number",
            detail("endTime", json!(1)),
            detail("endTime", json!("1")),
            Repair::Type,
        ),
        (
            "a description that is text",
            detail("eventDescription", json!("x")),
            detail("eventDescription", json!([])),
            Repair::Type,
        ),
        (
            "a description in a number of languages",
            detail("eventDescription", json!([{"latestDescription": "x", "Language": 2}])),
            detail("eventDescription", json!([])),
            Repair::Type,
        ),
    ] {
        let body = arrived.to_string();
        let text = EventText::read(&body);
        let event = decode(&text, TIME + 999, &scope()).unwrap_or_else(|drop| panic!("{what}: {drop:?}"));
        assert_eq!(event.repairs, [repair], "{what}");
        let copy: Value = serde_json::from_str(&whole(&event)).unwrap();
        assert_eq!(copy, expected, "{what}");
    }
}

/// What Go's parser, from 1.19 to 1.26, accepts as a time.
#[test]
fn a_time_that_karpenter_cannot_parse_becomes_the_arrival() {
    for (time, millis) in [
        (json!("2026-11-20T14:02:31Z"), Some(TIME)),
        (json!("2026-11-20T14:02:31.5Z"), Some(TIME + 500)),
        (json!("2026-11-20T14:02:31.123456789012Z"), Some(TIME + 123)),
        (json!("2026-11-20T15:32:31+01:30"), Some(TIME)),
        (json!("2026-11-20t14:02:31Z"), None),
        (json!("2026-11-20T14:02:31z"), None),
        (json!("2016-12-31T23:59:60Z"), None),
        (json!("2026-11-20T14:02:31,5Z"), None),
        (json!("2026-11-20 14:02:31Z"), None),
        (json!("2026-11-20T4:02:31Z"), None),
        (json!("2026-11-20T24:02:31Z"), None),
        (json!("2026-11-20T14:02:31+24:00"), None),
        (json!("2026-02-30T14:02:31Z"), None),
        (json!("2026-11-20T14:02:31"), None),
        (json!(""), None),
        (json!(1_795_183_351), None),
        (json!({}), None),
        (Value::Null, None),
    ] {
        let body = with(spot(), "/time", time).to_string();
        let text = EventText::read(&body);
        let event = decode(&text, TIME + 999, &scope()).unwrap();
        assert_eq!(event.time, millis, "{body}");
        let (repairs, expected) = match millis {
            Some(_) => (vec![], body.clone()),
            None => (vec![Repair::Time], spot().to_string()),
        };
        assert_eq!(event.repairs, repairs, "{body}");
        assert_eq!(whole(&event), expected);
    }
    let escaped = spot().to_string().replace("14:02", "14\\u003a02");
    assert_eq!(
        decode(&EventText::read(&escaped), TIME, &scope()).unwrap().repairs,
        [Repair::Time]
    );
}

/// Messages with more than one reading, and the ids that Karpenter's own parsers gave for them.
#[test]
fn of_several_readings_only_karpenters_is_forwarded() {
    const SPOT: &str = "\"version\":\"0\",\"source\":\"aws.ec2\",\"time\":\"2026-11-20T14:02:31Z\",\
                        \"detail-type\":\"EC2 Spot Instance Interruption Warning\"";
    const HEALTH: &str = "\"version\":\"0\",\"source\":\"aws.health\",\"time\":\"2026-11-20T14:02:31Z\",\
                          \"detail-type\":\"AWS Health Event\"";
    const SERVICE: &str = "\"service\":\"EC2\",\"eventTypeCategory\":\"scheduledChange\"";
    for (what, body, ids) in [
        (
            "an id twice",
            format!("{{{SPOT},\"detail\":{{\"instance-id\":\"i-1\",\"instance-id\":\"i-2\"}}}}"),
            vec!["i-2"],
        ),
        (
            "an id in another case",
            format!("{{{SPOT},\"detail\":{{\"Instance-ID\":\"i-1\"}}}}"),
            vec!["i-1"],
        ),
        (
            "an id in both cases",
            format!("{{{SPOT},\"detail\":{{\"instance-id\":\"i-1\",\"INSTANCE-ID\":\"i-2\"}}}}"),
            vec!["i-2"],
        ),
        (
            "an id with a letter that folds to ASCII",
            format!("{{{SPOT},\"detail\":{{\"in\u{17f}tance-id\":\"i-1\"}}}}"),
            vec!["i-1"],
        ),
        (
            "null after an id",
            format!("{{{SPOT},\"detail\":{{\"instance-id\":\"i-1\",\"instance-id\":null}}}}"),
            vec!["i-1"],
        ),
        (
            "an envelope in capital letters",
            format!(
                "{{{},\"DETAIL\":{{\"instance-id\":\"i-1\"}}}}",
                SPOT.replace("source", "SOURCE")
            ),
            vec!["i-1"],
        ),
        (
            "another source at first",
            format!("{{\"source\":\"aws.x\",{SPOT},\"detail\":{{\"instance-id\":\"i-1\"}}}}"),
            vec!["i-1"],
        ),
        (
            "two details",
            format!("{{\"detail\":{{\"instance-id\":\"i-1\"}},{SPOT},\"Detail\":{{\"instance-action\":\"stop\"}}}}"),
            vec!["i-1"],
        ),
        (
            "entities twice",
            format!(
                "{{{HEALTH},\"detail\":{{{SERVICE},\"affectedEntities\":[{{\"entityValue\":\"i-1\"}}],\
                 \"affectedentities\":[{{\"entityValue\":\"i-2\"}},{{\"entityValue\":\"i-3\"}}]}}}}"
            ),
            vec!["i-2", "i-3"],
        ),
        (
            "entities that keep what was at their place",
            format!(
                "{{{HEALTH},\"detail\":{{{SERVICE},\"affectedEntities\":[{{\"entityValue\":\"i-1\"}},\
                 {{\"entityValue\":\"i-2\"}}],\"affectedEntities\":[{{}}],\"affectedEntities\":[null,{{\"x\":1}}]}}}}"
            ),
            vec!["i-1", "i-2"],
        ),
        (
            "entities after an empty list",
            format!(
                "{{{HEALTH},\"detail\":{{{SERVICE},\"affectedEntities\":[{{\"entityValue\":\"i-1\"}}],\
                 \"affectedEntities\":[],\"affectedEntities\":[{{}},{{\"entityValue\":\"i-2\"}}]}}}}"
            ),
            vec!["i-2"],
        ),
        (
            "a value of an entity twice",
            format!(
                "{{{HEALTH},\"detail\":{{{SERVICE},\"affectedEntities\":[{{\"EntityValue\":\"i-1\",\
                 \"entityValue\":\"i-2\"}}]}}}}"
            ),
            vec!["i-2"],
        ),
        (
            "a service twice",
            format!(
                "{{{HEALTH},\"detail\":{{\"service\":\"RDS\",{SERVICE},\"affectedEntities\":\
                 [{{\"entityValue\":\"i-1\"}}]}}}}"
            ),
            vec!["i-1"],
        ),
    ] {
        let text = EventText::read(&body);
        let event = decode(&text, 0, &scope()).unwrap_or_else(|drop| panic!("{what}: {drop:?}"));
        assert_eq!(event.repairs, [Repair::Keys], "{what}");
        let EventSubject::Instances(instances) = &event.subject else {
            panic!("{what}")
        };
        let found: Vec<&str> = instances.iter().flatten().map(InstanceId::as_str).collect();
        assert_eq!(found, ids, "{what}");
        let copy = whole(&event);
        let again = EventText::read(&copy);
        assert!(!again.is_rewritten(), "{what}: {copy}");
        let again = decode(&again, 0, &scope()).unwrap();
        assert_eq!(
            (&again.subject, &again.repairs[..]),
            (&event.subject, &[][..]),
            "{what}: {copy}"
        );
    }
}

/// A member that nobody reads may be there twice.
#[test]
fn members_that_nobody_reads_stay() {
    let body = spot()
        .to_string()
        .replacen('{', "{\"x\":1,\"X\":2,\"x\":3,\"\\ud800\":4,", 1);
    let text = EventText::read(&body);
    let event = decode(&text, 0, &scope()).unwrap();
    assert_eq!((event.repairs.len(), whole(&event)), (0, body.clone()));
}

#[test]
fn a_copy_has_its_own_entities_only() {
    let entities = [
        A,
        &arn(B),
        "vol-0a1b2c3d",
        "arn:aws:ec2:us-east-1:111122223333:instance/i-1",
        A,
    ];
    let body = format!("{:#}", health(&entities));
    let text = EventText::read(&body);
    let event = decode(&text, 0, &scope()).unwrap();
    let (a, b) = (InstanceId::parse(A).unwrap(), InstanceId::parse(B).unwrap());
    assert_eq!(
        event.subject,
        EventSubject::Instances(vec![
            Ok(a.clone()),
            Ok(b),
            Err(DropReason::NoInstance),
            Err(DropReason::OtherRegion),
            Ok(a),
        ])
    );
    for (places, affected, resources) in [
        (vec![0, 4], vec![A, A], vec![json!(A), json!(A)]),
        (vec![1], vec![B], vec![json!(arn(B))]),
        (vec![0, 1, 4], vec![A, B, A], vec![json!(A), json!(arn(B)), json!(A)]),
    ] {
        let copy: Value = serde_json::from_str(&event.copy_of(&places.iter().copied().collect())).unwrap();
        let mut expected = health(&affected);
        expected["resources"] = json!(resources);
        assert_eq!(copy, expected, "{places:?}");
    }
}

#[test]
fn a_split_leaves_the_rest_as_it_is_written() {
    let body = "{ \"source\":\"aws.health\",\"detail-type\" : \"AWS Health Event\", \"version\":\"0\",\
                \"time\":\"2026-11-20T14:02:31Z\",\"resources\": \"i-2\",\"x\": 1.0e0, \"detail\":\
                {\"service\":\"EC2\" ,\"eventTypeCategory\":\"scheduledChange\",\"affectedEntities\":\
                [ {\"entityValue\":\"i-1\" ,\"n\":1.50}, {\"entityValue\":\"i-2\"} ],\"\\u0065\":\"\\u00fc\"} }";
    let text = EventText::read(body);
    let event = decode(&text, 0, &scope()).unwrap();
    let expected = body.replace("\"i-2\",\"x\"", "[],\"x\"").replace(
        "[ {\"entityValue\":\"i-1\" ,\"n\":1.50}, {\"entityValue\":\"i-2\"} ]",
        "[{\"entityValue\":\"i-1\" ,\"n\":1.50}]",
    );
    assert_eq!(event.copy_of(&HashSet::from([0])), expected);
}

#[test]
fn a_probe_names_a_cluster_or_nothing() {
    let probe = |detail| with(sample(Signal::Probe, &[]), "/detail", detail).to_string();
    for (detail, subject) in [
        (
            json!({"cluster": "base"}),
            Ok(EventSubject::Probe(Some("base".parse().unwrap()))),
        ),
        (json!({"cluster": ""}), Ok(EventSubject::Probe(None))),
        (json!({"cluster": null}), Ok(EventSubject::Probe(None))),
        (json!({}), Ok(EventSubject::Probe(None))),
        (json!({"cluster": "a b"}), Err(DropReason::NoClusterNamed)),
        (json!({"cluster": 1}), Err(DropReason::NoClusterNamed)),
    ] {
        let body = probe(detail);
        let text = EventText::read(&body);
        assert_eq!(decode(&text, 0, &scope()).map(|event| event.subject), subject, "{body}");
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
            let text = EventText::read(body);
            if let Ok(event) = decode(&text, 0, &scope()) {
                for places in [vec![], vec![0], vec![1, 2], vec![0, 1, 2]] {
                    let copy = event.copy_of(&places.into_iter().collect());
                    proptest::prop_assert!(serde_json::from_str::<Value>(&copy).is_ok(), "{copy}");
                }
            }
        }
    }
}
