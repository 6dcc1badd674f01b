//! Messages that parsers can read in more than one way.

use serde_json::json;

use super::{A, health, sample, spot, state, whole};
use crate::model::{Signal, scope::tests::scope};
use crate::router::decode::{DropReason, EventSubject, decode};

const ENVELOPE: &str = "account detail detail-type id region resources source time version";

/// Variants of a member with this name: in another case, and repeated, including with escapes.
fn ambiguous_texts(name: &str) -> Vec<String> {
    let (exact, upper) = (format!("\"{name}\":"), format!("\"{}\":", name.to_uppercase()));
    let mut texts = vec![
        upper.clone(),
        format!("{exact}null,{exact}"),
        format!("{upper}null,{exact}"),
        format!("{exact}null,{upper}"),
        format!("{exact}null,{}", escaped(name)),
    ];
    if name.contains('s') {
        texts.push(exact.replacen('s', "\u{17f}", 1));
    }
    texts
}

/// The member with an escape in its name.
fn escaped(name: &str) -> String {
    format!("\"\\u{:04x}{}\":", name.as_bytes()[0], &name[1..])
}

#[test]
fn a_member_that_is_read_is_there_once_and_in_its_case() {
    let more = json!({
        "eventArn": "arn:aws:health", "startTime": "Sat, 05 Dec 2026 05:00:00 GMT",
        "endTime": "Sat, 05 Dec 2026 06:00:00 GMT",
        "eventDescription": [{"language": "en_US", "latestDescription": "x"}],
    });
    let mut full = health(&[A]);
    full["detail"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let of_health = "eventArn eventTypeCode service eventDescription latestDescription language startTime endTime \
                     eventTypeCategory affectedEntities entityValue affectedAccount eventRegion";
    for (event, members) in [
        (spot(), "instance-id instance-action"),
        (sample(Signal::CapacityReservation, &[A]), "instance-id instance-action"),
        (state("stopped"), "instance-id state"),
        (sample(Signal::Rebalance, &[A]), "instance-id"),
        (full, of_health),
    ] {
        let body = event.to_string();
        for name in ENVELOPE.split(' ').chain(members.split(' ')) {
            let exact = format!("\"{name}\":");
            assert!(body.contains(&exact), "{body} lacks {name}");
            for text in ambiguous_texts(name) {
                let body = body.replacen(&exact, &text, 1);
                // Without a value under its exact name, the kind is unknown.
                let is_exact = [&exact, &escaped(name)].iter().any(|exact| text.ends_with(*exact));
                let is_event = !["source", "detail-type"].contains(&name) || is_exact;
                let expected = if is_event { Ok(EventSubject::Ambiguous) } else { Err(DropReason::NotAnEvent) };
                assert_eq!(decode(&body, 0, &scope()).map(|event| event.subject), expected, "{body}");
            }
            let body = body.replacen(&exact, &escaped(name), 1);
            let subject = decode(&body, 0, &scope()).map(|event| event.subject);
            assert!(matches!(&subject, Ok(EventSubject::Instances(_))), "{body}: {subject:?}");
        }
    }
}

/// Anyone who can put events can send any number of them, so none is kept.
#[test]
fn an_ambiguous_probe_is_dropped() {
    let probe = sample(Signal::Probe, &["base"]).to_string();
    let heartbeat = sample(Signal::Heartbeat, &[]).to_string();
    for (body, name) in [(&probe, "cluster"), (&probe, "detail"), (&probe, "time"), (&heartbeat, "detail")] {
        for text in ambiguous_texts(name) {
            let body = body.replacen(&format!("\"{name}\":"), &text, 1);
            assert_eq!(decode(&body, 0, &scope()).err(), Some(DropReason::NotForKarpenter), "{body}");
        }
    }
}

#[test]
fn members_that_nobody_reads_stay() {
    let more = "{\"x\":1,\"X\":2,\"x\":3,\"\\ud800\":4,\"state\":5,\"STATE\":6,";
    let health = health(&[A]).to_string();
    let in_entity = health.replacen("{\"entityValue\"", &format!("{more}\"entityValue\""), 1);
    assert!(in_entity.contains(more));
    for body in [
        spot().to_string().replacen('{', more, 1),
        spot().to_string().replacen("\"detail\":{", &format!("\"detail\":{more}"), 1),
        health.replacen("\"detail\":{", &format!("\"detail\":{more}"), 1),
        in_entity,
    ] {
        let event = decode(&body, 0, &scope()).unwrap();
        assert!(matches!(event.subject, EventSubject::Instances(_)), "{body}");
        assert_eq!((event.repairs, whole(&event)), (0, body.clone()));
    }
}
