//! Messages that parsers read in more than one way.

use super::{spot, whole};
use crate::model::scope::tests::scope;
use crate::router::decode::{EventSubject, EventText, InstanceId, Repair, decode};

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
        ("an id in another case", format!("{{{SPOT},\"detail\":{{\"Instance-ID\":\"i-1\"}}}}"), vec!["i-1"]),
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
            format!("{{{},\"DETAIL\":{{\"instance-id\":\"i-1\"}}}}", SPOT.replace("source", "SOURCE")),
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
        let EventSubject::Instances(instances) = &event.subject else { panic!("{what}") };
        let found: Vec<&str> = instances.iter().flatten().map(InstanceId::as_str).collect();
        assert_eq!(found, ids, "{what}");
        let copy = whole(&event);
        let again = EventText::read(&copy);
        assert!(!again.is_rewritten(), "{what}: {copy}");
        let again = decode(&again, 0, &scope()).unwrap();
        assert_eq!((&again.subject, &again.repairs[..]), (&event.subject, &[][..]), "{what}: {copy}");
    }
}

/// A member that nobody reads may be there twice.
#[test]
fn members_that_nobody_reads_stay() {
    let body = spot().to_string().replacen('{', "{\"x\":1,\"X\":2,\"x\":3,\"\\ud800\":4,", 1);
    let text = EventText::read(&body);
    let event = decode(&text, 0, &scope()).unwrap();
    assert_eq!((event.repairs.len(), whole(&event)), (0, body.clone()));
}
