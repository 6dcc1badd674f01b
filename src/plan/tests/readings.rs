//! Resources that are missing or unreadable: only a missing one is created.

use super::{Bench, HUB, LIVE, MAPPING, ROLE, Row, SPOT, assert_drawn};
use crate::model::{Desired, Fact, Fault, FaultKind};
use crate::plan::{Plan, plan};

/// Resources that are missing or unreadable.
const ROWS: &[Row] = &[
    ("no queue", |b| b.answer("queue", HUB, Fact::Absent), "+queue"),
    (
        "no log group and no rule",
        |b| {
            b.answer("log-group", "/aws/lambda/kibus-router", Fact::Absent);
            b.answer("rule", SPOT, Fact::Absent);
        },
        "+log-group +rule",
    ),
    (
        "no function, so no alias either",
        |b| {
            b.answer("function", "kibus-router", Fact::Absent);
            b.answer("alias", LIVE, Fact::Absent);
            b.answer("event-source-mapping", MAPPING, Fact::Absent);
        },
        "+function +alias +event-source-mapping",
    ),
    (
        "a mapping waits for the policy, though what stands between them is there",
        |b| {
            b.answer("role-policy", ROLE, Fact::Absent);
            b.answer("event-source-mapping", MAPPING, Fact::Absent);
        },
        "+role-policy +event-source-mapping",
    ),
    ("a queue that cannot be read", |b| b.answer("queue", HUB, Fact::Unreadable(unanswered())), ""),
    (
        "a rule that nobody wants and that cannot be read",
        |b| b.answer("rule", "kibus-rebalance-recommendation", Fact::Unreadable(unanswered())),
        "",
    ),
];

#[test]
fn a_missing_resource_is_created_and_an_unreadable_one_is_not() {
    assert_drawn(ROWS);
}

#[test]
fn an_unreadable_resource_is_listed_and_not_changed() {
    let mut bench = Bench::new();
    bench.answer("queue", HUB, Fact::Unreadable(unanswered()));
    bench.answer("rule", SPOT, Fact::Unreadable(unanswered()));
    let names = |plan: &Plan| plan.unknown.iter().map(|id| id.name()).collect::<Vec<_>>();
    assert_eq!(names(&bench.plan()), [HUB, SPOT]);
    let teardown = bench.teardown();
    assert_eq!(names(&teardown), [HUB, SPOT]);
    assert!(teardown.changes.iter().all(|change| change.id.name() != HUB && change.id.name() != SPOT));
}

#[test]
#[should_panic(expected = "queue `karpenter-base` is desired and was never read")]
fn only_absent_may_plan_a_create() {
    let bench = Bench::new();
    let mut desired = Desired::default();
    for resource in bench.wanted().resources() {
        if resource.id().name() == "karpenter-base" {
            desired.insert(resource.clone());
        }
    }
    let _ = plan(&bench.scope, &desired, &Default::default());
}

fn unanswered() -> Fault {
    Fault::new(FaultKind::Unreachable, "sqs:GetQueueAttributes", "timed out")
}
