//! The findings of the message flow.

use super::*;
use crate::model::{Status, scope::tests::scope};

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
        let finding = of_foreign_mapping(&scope(), &mapping);
        let words = finding.map(|finding| format!("{} {}", finding.code.unwrap(), finding.sentence));
        assert_eq!(words, found, "{mapping:?}");
    }
}

fn code(finding: Option<Message>) -> Option<&'static str> {
    Some(finding?.code?.as_str())
}

#[test]
fn dead_letters_count_wherever_they_are() {
    for (waiting, in_flight, expected) in [(0, 0, None), (1, 0, Some("K501")), (0, 1, Some("K501"))] {
        assert_eq!(code(of_dead_letters(&scope(), Depth { waiting, in_flight })), expected);
    }
}

/// S12: counts are right only after a minute, so the finding is a warning.
#[test]
fn a_hub_queue_that_drains_is_no_finding() {
    for (first, later, expected) in [
        ((0, 9), None, None),
        ((5, 0), None, None),
        ((5, 0), Some((0, 5)), None),
        ((5, 9), Some((4, 9)), None),
        ((5, 9), Some((5, 9)), Some("K503")),
        ((5, 0), Some((6, 0)), Some("K503")),
    ] {
        let depth = |(waiting, in_flight)| Depth { waiting, in_flight };
        let (mut survey, queue) = (Survey::new(scope()), scope().hub_queue());
        survey.status.insert(ResourceId::Queue(queue.clone()), Status::Queue(depth(first)));
        assert_eq!(backlog(&survey), None, "{first:?}");
        assert_eq!(survey.take_open().depth_later.contains(&queue), first.0 > 0, "{first:?}");
        survey.known.depth_later.insert(queue, later.map_or(Fact::Absent, |later| Fact::Present(depth(later))));
        assert_eq!(code(backlog(&survey)), expected, "{first:?} {later:?}");
    }
}

#[test]
fn a_mapping_is_judged_by_its_state() {
    for (state, expected) in [("Enabled", None), ("Disabled", None), ("Updating", Some("K505"))] {
        let mapping = MappingState { state: state.to_owned(), reason: None };
        assert_eq!(code(of_mapping(&scope(), &mapping)), expected, "{state}");
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
        let found = of_live(&scope(), &live).map(|found| format!("{} {}", found.code.unwrap(), found.sentence));
        assert_eq!(found.as_deref(), expected);
    }
}

#[test]
fn a_router_that_sleeps_can_run() {
    for (state, expected) in [("Active", None), ("Inactive", None), ("Failed", Some("K506"))] {
        let version = VersionState { state: state.to_owned(), ..VersionState::default() };
        assert_eq!(code(of_version(&scope(), &version)), expected, "{state}");
    }
}
