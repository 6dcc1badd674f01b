//! The findings of the message flow.

use super::*;
use crate::model::scope::tests::scope;

fn depth(waiting: u64, in_flight: u64) -> Depth {
    Depth { waiting, in_flight }
}

#[test]
fn only_the_hub_queue_may_be_mapped_and_only_to_the_live_version() {
    const QUEUES: &str = "arn:aws:sqs:us-west-2:111122223333";
    const ROUTER: &str = "arn:aws:lambda:us-west-2:111122223333:function:kibus-router";
    let (hub, mine) = (format!("{QUEUES}:kibus-hub"), format!("{QUEUES}:mine"));
    let of_mine = "K516 passes messages of arn:aws:sqs:us-west-2:111122223333:mine to";
    let of_hub = "K516 passes messages of arn:aws:sqs:us-west-2:111122223333:kibus-hub to";
    for (source, target, found) in [
        (hub.as_str(), format!("{ROUTER}:live"), None),
        (&mine, format!("{ROUTER}:live"), Some(format!("{of_mine} `live` of the router"))),
        (&mine, format!("{ROUTER}:7"), Some(format!("{of_mine} `7` of the router"))),
        (&hub, format!("{ROUTER}:7"), Some(format!("{of_hub} `7` of the router"))),
        (&hub, ROUTER.to_owned(), Some(format!("{of_hub} the router's unpublished version"))),
        (
            "",
            format!("{ROUTER}:live"),
            Some("K516 passes messages of a source without ARN to `live` of the router".to_owned()),
        ),
    ] {
        let mapping = FunctionMapping { uuid: "u".to_owned(), source: source.to_owned(), target };
        let finding = foreign_mapping(&scope(), &mapping);
        let words = finding.map(|finding| format!("{} {}", finding.code.unwrap(), finding.sentence));
        assert_eq!(words, found, "{mapping:?}");
    }
}

fn findings(seen: &Traffic) -> Vec<Message> {
    let clusters = BTreeMap::from([("karpenter-base".parse().unwrap(), "base".parse().unwrap())]);
    traffic(&scope(), seen, &clusters)
}

fn codes(seen: &Traffic) -> Vec<&'static str> {
    findings(seen).iter().map(|finding| finding.code.unwrap().as_str()).collect()
}

/// S12: a count is certain only after a minute, and before that less urgent, and the message says so.
#[test]
fn a_queue_is_judged_by_what_it_is_for() {
    for (queue, samples, expected) in [
        ("kibus-hub-dlq", vec![depth(0, 0)], None),
        ("kibus-hub-dlq", vec![depth(1, 0)], Some("K501")),
        ("kibus-hub-dlq", vec![depth(0, 1)], Some("K501")),
        ("kibus-hub-dlq", vec![depth(1, 0), depth(0, 0)], None),
        ("kibus-hub", vec![depth(5, 0), depth(0, 5)], None),
        ("kibus-hub", vec![depth(5, 9), depth(5, 9)], Some("K503")),
        ("kibus-hub", vec![depth(5, 9), depth(0, 9), depth(5, 9)], None),
        ("kibus-probe", vec![depth(5, 0), depth(5, 0)], None),
        ("karpenter-base", vec![depth(5, 0), depth(5, 0)], Some("K502")),
        ("karpenter-base", vec![depth(5, 0), depth(4, 0)], None),
        ("karpenter-base", vec![depth(5, 0), depth(5, 1), depth(5, 0)], None),
        ("karpenter-nobody", vec![depth(5, 0), depth(5, 0)], None),
    ] {
        let stale = match expected {
            Some("K501") => Severity::Error,
            _ => Severity::Warning,
        };
        let certain = match expected {
            // With a probe, a look at the messages tells instead.
            Some("K502") => Severity::Warning,
            _ => Severity::Critical,
        };
        for (watched, severity) in [(false, stale), (true, certain)] {
            let seen = Traffic {
                queues: BTreeMap::from([(queue.parse().unwrap(), samples.clone())]),
                watched,
                ..Traffic::default()
            };
            let found = findings(&seen);
            let codes: Vec<&str> = found.iter().map(|finding| finding.code.unwrap().as_str()).collect();
            assert_eq!(codes, expected.as_slice(), "{queue} {samples:?}");
            for finding in found {
                assert_eq!(finding.severity, severity, "{queue} {samples:?}");
                let says = finding.sentence.ends_with("; the counts may be stale");
                assert_eq!(says, !watched, "{}", finding.sentence);
            }
        }
    }
}

#[test]
fn a_mapping_is_judged_by_its_state() {
    for (state, expected) in [("Enabled", vec![]), ("Disabled", vec![]), ("Updating", vec!["K505"])] {
        let seen =
            Traffic { mapping: Some(MappingState { state: state.to_owned(), reason: None }), ..Traffic::default() };
        assert_eq!(codes(&seen), expected, "{state}");
    }
}

/// M5: what a self-test of the live version shows.
#[test]
fn a_live_router_that_fails_is_a_finding_with_its_words() {
    let said = || "said".to_owned();
    for (live, expected) in [
        (LiveTest::Passed, None),
        (LiveTest::Failed(said()), Some("K514 the self-test failed: said")),
        (LiveTest::KeyDenied(said()), Some("K507 Lambda reports: said")),
        (LiveTest::RoleNotAssumable(said()), Some("K508 Lambda reports: said")),
        (LiveTest::Throttled(said()), Some("K509 Lambda throttled an invocation: said")),
    ] {
        let seen = Traffic { live: Some(live), ..Traffic::default() };
        let found = findings(&seen);
        let found: Vec<String> = found.iter().map(|f| format!("{} {}", f.code.unwrap(), f.sentence)).collect();
        assert_eq!(found.first().map(String::as_str), expected);
    }
}

#[test]
fn a_router_that_sleeps_can_run() {
    for (state, expected) in [("Active", vec![]), ("Inactive", vec![]), ("Failed", vec!["K506"])] {
        let seen = Traffic {
            version: Some(VersionState { state: state.to_owned(), ..VersionState::default() }),
            ..Traffic::default()
        };
        assert_eq!(codes(&seen), expected, "{state}");
    }
}
