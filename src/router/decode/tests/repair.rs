//! What a cluster receives: repaired versions of shapes that Karpenter discards, and its part of a health event.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{A, B, TIME, arn, edited, health, spot, whole, with};
use crate::model::{scope::tests::scope, table::rows};
use crate::router::decode::{DropReason, EventSubject, InstanceId, decode};

/// The signal of a sample, and the edits of the incoming and of the forwarded version.
#[test]
fn a_shape_that_karpenter_discards_is_repaired_and_nothing_else_changes() {
    let table = r#"
        StateChange         | -/version                         |
        SpotInterruption    | /version=null                     |
        SpotInterruption    | /version=0                        |
        SpotInterruption    | -/time                            |
        SpotInterruption    | /time="yesterday"                 |
        SpotInterruption    | /id=5                             | /id="5"
        SpotInterruption    | /resources="x"                    | /resources=["x"]
        SpotInterruption    | /resources=[1, "x", null]         | /resources=["x"]
        SpotInterruption    | /resources={"a": 1}               | /resources=[]
        SpotInterruption    | /detail/instance-action={"a":1}   | /detail/instance-action="{\"a\":1}"
        SpotInterruption    | /detail/instance-id="arn:aws:ec2:us-west-2:111122223333:instance/i-0a1b2c3d4e5f60718" |
        CapacityReservation | /detail-type="EC2 Interruptible Capacity Reservation Instance Interruption Warning" |
        ScheduledChange     | /detail/eventArn=true             | /detail/eventArn="true"
        ScheduledChange     | /detail/eventTypeCode=[]          | /detail/eventTypeCode="[]"
        ScheduledChange     | /detail/startTime=1               | /detail/startTime="1"
        ScheduledChange     | /detail/endTime=1                 | /detail/endTime="1"
        ScheduledChange     | /detail/eventDescription="x"      | /detail/eventDescription=[]
        ScheduledChange     | /detail/eventDescription=[{"latestDescription": "x", "language": 2}] | /detail/eventDescription=[]
        ScheduledChange     | /detail/affectedEntities={"entityValue": "i-1"} | /detail/affectedEntities=[{"entityValue": "i-1"}]
        ScheduledChange     | /resources=[]; /detail/affectedEntities=[{"entityValue": "arn:aws:ec2:us-west-2:111122223333:instance/i-1"}, {"entityValue": "i-2"}] | /resources=[]; /detail/affectedEntities=[{"entityValue": "i-1"}, {"entityValue": "i-2"}]"#;
    for [signal, arrived, expected] in rows(table) {
        let body = edited(signal, arrived.split("; ")).to_string();
        let event = decode(&body, TIME + 999, &scope()).unwrap_or_else(|drop| panic!("{arrived}: {drop:?}"));
        assert_eq!(event.repairs, 1, "{arrived}");
        let copy: Value = serde_json::from_str(&whole(&event)).unwrap();
        assert_eq!(copy, edited(signal, expected.split("; ")), "{arrived}");
    }
}

/// RFC 3339 with the limits of Go's parser, from 1.19 to 1.26. Go accepts four more forms: an hour of one digit, a comma, and
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
