//! The findings of the message flow.

use super::*;
use crate::model::{Status, scope::tests::scope};

#[test]
fn only_the_hub_queue_may_be_mapped_and_only_to_the_live_version() {
    const ROUTER: &str = "arn:aws:lambda:us-west-2:111122223333:function:kibus-router";
    let queue = |name: &str| format!("arn:aws:sqs:us-west-2:111122223333:{name}");
    let unpublished = "the router's unpublished version";
    for (source, version, found) in [
        (queue("kibus-hub"), ":live", ""),
        (queue("mine"), ":live", "`live` of the router"),
        (queue("mine"), ":7", "`7` of the router"),
        (queue("kibus-hub"), ":7", "`7` of the router"),
        (queue("kibus-hub"), "", unpublished),
        (String::new(), ":live", "`live` of the router"),
    ] {
        let what = if source.is_empty() { "a source without ARN" } else { &source };
        let expected = (!found.is_empty()).then(|| format!("K516 passes messages from {what} to {found}"));
        let target = format!("{ROUTER}{version}");
        let mapping = FunctionMapping { uuid: "u".to_owned(), source: source.clone(), target };
        let finding = of_foreign_mapping(&scope(), &mapping);
        let words = finding.map(|finding| format!("{} {}", finding.code.unwrap(), finding.sentence));
        assert_eq!(words, expected, "{mapping:?}");
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

/// S12: counts are accurate only after a minute, so the finding is a warning.
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
fn a_router_that_sleeps_can_run() {
    for (state, expected) in [("Active", None), ("Inactive", None), ("Failed", Some("K506"))] {
        let version = VersionState { state: state.to_owned(), ..VersionState::default() };
        assert_eq!(code(of_version(&scope(), &version)), expected, "{state}");
    }
}
