//! The copy of a health event that a cluster receives.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{A, B, arn, health};
use crate::model::scope::tests::scope;
use crate::router::decode::{DropReason, EventSubject, InstanceId, decode};

#[test]
fn a_copy_has_its_own_entities_only() {
    let entities = [A, &arn(B), "vol-0a1b2c3d", "arn:aws:ec2:us-east-1:111122223333:instance/i-1", A];
    let body = format!("{:#}", health(&entities));
    let event = decode(&body, 0, &scope()).unwrap();
    let (a, b) = (A.parse::<InstanceId>().unwrap(), B.parse::<InstanceId>().unwrap());
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
    let event = decode(body, 0, &scope()).unwrap();
    let expected = body.replace("\"i-2\",\"x\"", "[],\"x\"").replace(
        "[ {\"entityValue\":\"i-1\" ,\"n\":1.50}, {\"entityValue\":\"i-2\"} ]",
        "[{\"entityValue\":\"i-1\" ,\"n\":1.50}]",
    );
    assert_eq!(event.copy_of(&HashSet::from([0])), expected);
}
