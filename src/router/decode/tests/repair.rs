//! The shapes that Karpenter discards, and what they become.

use serde_json::{Value, json};

use super::{A, B, TIME, arn, health, sample, spot, state, whole, with, without};
use crate::model::{Signal, scope::tests::scope};
use crate::router::decode::decode;

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
    for (what, arrived, expected) in [
        ("no version", without(state("stopping"), "version"), state("stopping")),
        ("null version", with(spot(), "/version", Value::Null), spot()),
        ("a number as version", with(spot(), "/version", json!(0)), spot()),
        ("the older detail-type", old, new),
        ("resources that are text", with(spot(), "/resources", json!("x")), with(spot(), "/resources", json!(["x"]))),
        ("resources that are more", mixed, with(spot(), "/resources", json!(["x"]))),
        (
            "resources that are an object",
            with(spot(), "/resources", json!({"a": 1})),
            with(spot(), "/resources", json!([])),
        ),
        ("no time", without(spot(), "time"), spot()),
        ("no time at all", with(spot(), "/time", json!("yesterday")), spot()),
        ("an ARN", with(spot(), "/detail/instance-id", json!(arn(A))), spot()),
        (
            "an entity's ARN",
            with(health(&[&arn(A), B]), "/resources", json!([])),
            with(health(&[A, B]), "/resources", json!([])),
        ),
        ("an entity without a list", single, listed),
        ("an id that is a number", with(spot(), "/id", json!(5)), with(spot(), "/id", json!("5"))),
        (
            "an action that is an object",
            with(spot(), "/detail/instance-action", json!({"a": 1})),
            with(spot(), "/detail/instance-action", json!("{\"a\":1}")),
        ),
        ("an ARN that is a flag", detail("eventArn", json!(true)), detail("eventArn", json!("true"))),
        ("a code that is a list", detail("eventTypeCode", json!([])), detail("eventTypeCode", json!("[]"))),
        ("a start that is a number", detail("startTime", json!(1)), detail("startTime", json!("1"))),
        ("an end that is a number", detail("endTime", json!(1)), detail("endTime", json!("1"))),
        ("a description that is text", detail("eventDescription", json!("x")), detail("eventDescription", json!([]))),
        (
            "a description in a number of languages",
            detail("eventDescription", json!([{"latestDescription": "x", "language": 2}])),
            detail("eventDescription", json!([])),
        ),
    ] {
        let body = arrived.to_string();
        let event = decode(&body, TIME + 999, &scope()).unwrap_or_else(|drop| panic!("{what}: {drop:?}"));
        assert_eq!(event.repairs, 1, "{what}");
        let copy: Value = serde_json::from_str(&whole(&event)).unwrap();
        assert_eq!(copy, expected, "{what}");
    }
}

/// RFC 3339 with the limits of Go's parser, from 1.19 to 1.26. Go accepts four forms more: an hour of one digit, a comma, and
/// an offset of 24 hours or 60 minutes.
#[test]
fn a_time_that_karpenter_may_not_parse_becomes_the_arrival() {
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
        (json!("2026-11-20T14:02:31+00:60"), None),
        (json!("2026-02-30T14:02:31Z"), None),
        (json!("2026-11-20T14:02:31"), None),
        (json!(""), None),
        (json!(1_795_183_351), None),
        (json!({}), None),
        (Value::Null, None),
    ] {
        let body = with(spot(), "/time", time).to_string();
        let event = decode(&body, TIME + 999, &scope()).unwrap();
        assert_eq!(event.time, millis, "{body}");
        let (repairs, expected) = match millis {
            Some(_) => (0, body.clone()),
            None => (1, spot().to_string()),
        };
        assert_eq!(event.repairs, repairs, "{body}");
        assert_eq!(whole(&event), expected);
    }
    let escaped = spot().to_string().replace("14:02", "14\\u003a02");
    assert_eq!(decode(&escaped, TIME, &scope()).unwrap().repairs, 1);
}
