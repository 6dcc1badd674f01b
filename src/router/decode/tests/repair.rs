//! What a cluster receives: the shapes that Karpenter discards, repaired, and a part of a health event.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{A, B, TIME, arn, detail, health, sample, spot, state, whole, with, without};
use crate::model::{Signal, scope::tests::scope};
use crate::router::decode::{DropReason, EventSubject, InstanceId, decode};

#[test]
fn a_shape_that_karpenter_discards_is_repaired_and_nothing_else_changes() {
    let spot_with = |place: &str, value: Value| with(spot(), place, value);
    let new = sample(Signal::CapacityReservation, &[A]);
    let old = "EC2 Interruptible Capacity Reservation Instance Interruption Warning";
    let old = with(new.clone(), "/detail-type", json!(old));
    let (entity, entities) = (json!({"entityValue": A}), |value| detail("affectedEntities", value));
    let no_resources = |entities: &[&str]| with(health(entities), "/resources", json!([]));
    let in_number = json!([{"latestDescription": "x", "language": 2}]);
    for (what, arrived, expected) in [
        ("no version", without(state("stopping"), "version"), state("stopping")),
        ("null version", spot_with("/version", Value::Null), spot()),
        ("a number as version", spot_with("/version", json!(0)), spot()),
        ("the older detail-type", old, new),
        ("resources that are text", spot_with("/resources", json!("x")), spot_with("/resources", json!(["x"]))),
        ("mixed resources", spot_with("/resources", json!([1, "x", null])), spot_with("/resources", json!(["x"]))),
        ("an object as resources", spot_with("/resources", json!({"a": 1})), spot_with("/resources", json!([]))),
        ("no time", without(spot(), "time"), spot()),
        ("no time at all", spot_with("/time", json!("yesterday")), spot()),
        ("an ARN", spot_with("/detail/instance-id", json!(arn(A))), spot()),
        ("an entity's ARN", no_resources(&[&arn(A), B]), no_resources(&[A, B])),
        ("an entity without a list", entities(entity.clone()), entities(json!([entity]))),
        ("an id that is a number", spot_with("/id", json!(5)), spot_with("/id", json!("5"))),
        (
            "an action that is an object",
            spot_with("/detail/instance-action", json!({"a": 1})),
            spot_with("/detail/instance-action", json!("{\"a\":1}")),
        ),
        ("an ARN that is a flag", detail("eventArn", json!(true)), detail("eventArn", json!("true"))),
        ("a code that is a list", detail("eventTypeCode", json!([])), detail("eventTypeCode", json!("[]"))),
        ("a start that is a number", detail("startTime", json!(1)), detail("startTime", json!("1"))),
        ("an end that is a number", detail("endTime", json!(1)), detail("endTime", json!("1"))),
        ("a description that is text", detail("eventDescription", json!("x")), detail("eventDescription", json!([]))),
        ("a language that is a number", detail("eventDescription", in_number), detail("eventDescription", json!([]))),
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
    let refused = r#""2026-11-20t14:02:31Z" "2026-11-20T14:02:31z" "2016-12-31T23:59:60Z" "2026-11-20T14:02:31,5Z"
        "2026-11-20\u002014:02:31Z" "2026-11-20T4:02:31Z" "2026-11-20T24:02:31Z" "2026-11-20T14:02:31+24:00"
        "2026-11-20T14:02:31+00:60" "2026-02-30T14:02:31Z" "2026-11-20T14:02:31" "" 1795183351 {} null"#;
    let refused = refused.split_whitespace().map(|time| (time, None));
    let read = [
        (r#""2026-11-20T14:02:31Z""#, TIME),
        (r#""2026-11-20T14:02:31.5Z""#, TIME + 500),
        (r#""2026-11-20T14:02:31.123456789012Z""#, TIME + 123),
        (r#""2026-11-20T15:32:31+01:30""#, TIME),
    ];
    for (time, millis) in read.map(|(time, millis)| (time, Some(millis))).into_iter().chain(refused) {
        let body = with(spot(), "/time", serde_json::from_str(time).unwrap()).to_string();
        let event = decode(&body, TIME + 999, &scope()).unwrap();
        let (repairs, expected) = if millis.is_some() { (0, body.clone()) } else { (1, spot().to_string()) };
        assert_eq!((event.time, event.repairs, whole(&event)), (millis, repairs, expected), "{body}");
    }
    let escaped = spot().to_string().replace("14:02", "14\\u003a02");
    assert_eq!(decode(&escaped, TIME, &scope()).unwrap().repairs, 1);
}

#[test]
fn a_copy_has_its_own_entities_only() {
    let entities = [A, &arn(B), "vol-0a1b2c3d", "arn:aws:ec2:us-east-1:111122223333:instance/i-1", A];
    let body = format!("{:#}", health(&entities));
    let event = decode(&body, 0, &scope()).unwrap();
    let (a, b) = (A.parse::<InstanceId>().unwrap(), B.parse::<InstanceId>().unwrap());
    let subjects = vec![Ok(a.clone()), Ok(b), Err(DropReason::NoInstance), Err(DropReason::OtherRegion), Ok(a)];
    assert_eq!(event.subject, EventSubject::Instances(subjects));
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
    let event = decode(body, 0, &scope()).unwrap();
    let expected = body.replace("\"i-2\",\"x\"", "[],\"x\"").replace(
        "[ {\"entityValue\":\"i-1\" ,\"n\":1.50}, {\"entityValue\":\"i-2\"} ]",
        "[{\"entityValue\":\"i-1\" ,\"n\":1.50}]",
    );
    assert_eq!(event.copy_of(&HashSet::from([0])), expected);
}
