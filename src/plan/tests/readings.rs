//! Resources that are missing or unreadable: only a missing one is created. And which cluster a change belongs to.

use serde_json::json;

use super::{BASE, Bench, HUB, ROLE, Row, SPOT, assert_drawn};
use crate::model::{Desired, Document, Fact, Fault, FaultKind, Resource, RolePolicy};
use crate::plan::{ClusterOwners, Plan, plan};

const LOGS: &str = "/aws/lambda/kibus-router";
const MAPPING: &str = "kibus-hub -> kibus-router:live";

const ROWS: &[Row] = &[
    ("no queue", |b| b.answer("queue", HUB, Fact::Absent), "+queue"),
    ("no log group, no rule", |b| lose(b, &[("log-group", LOGS), ("rule", SPOT)]), "+log-group +rule"),
    (
        "no function, so no alias either",
        |b| lose(b, &[("function", "kibus-router"), ("alias", "kibus-router:live"), ("event-source-mapping", MAPPING)]),
        "+function +alias +mapping",
    ),
    (
        "a mapping waits for the policy, although the resources between them exist",
        |b| lose(b, &[("role-policy", ROLE), ("event-source-mapping", MAPPING)]),
        "+role-policy +mapping",
    ),
    ("a queue that cannot be read", |b| b.answer("queue", HUB, unanswered()), ""),
    ("an unwanted rule that cannot be read", |b| b.answer("rule", "kibus-rebalance-recommendation", unanswered()), ""),
];

fn lose(bench: &mut Bench, all: &[(&str, &str)]) {
    all.iter().for_each(|(kind, name)| bench.answer(kind, name, Fact::Absent));
}

fn unanswered() -> Fact<Resource> {
    Fact::Unreadable(Fault::new(FaultKind::Unreachable, "sqs:GetQueueAttributes", "timed out"))
}

#[test]
fn a_missing_resource_is_created_and_an_unreadable_one_is_not() {
    assert_drawn(ROWS);
}

#[test]
fn an_unreadable_resource_is_listed_and_not_changed() {
    let mut bench = Bench::new();
    bench.answer("queue", HUB, unanswered());
    bench.answer("rule", SPOT, unanswered());
    let names = |plan: &Plan| plan.unknown.iter().map(|id| id.name()).collect::<Vec<_>>();
    assert_eq!(names(&bench.plan()), [HUB, SPOT]);
    let teardown = bench.teardown();
    assert_eq!(names(&teardown), [HUB, SPOT]);
    assert!(teardown.changes.iter().all(|change| change.id.name() != HUB && change.id.name() != SPOT));
}

#[test]
#[should_panic(expected = "queue `karpenter-base` is desired but was never read")]
fn only_absent_may_plan_a_create() {
    let bench = Bench::new();
    let wanted = bench.wanted();
    let queue = wanted.resources().find(|resource| resource.id().name() == BASE).unwrap();
    let _ = plan(&bench.scope, &Desired::from_iter([queue.clone()]), &Default::default());
}

#[test]
fn a_policy_belongs_to_its_cluster_with_and_without_the_queue() {
    let bench = Bench::new();
    let owners = ClusterOwners::new(&bench.scope, &Desired::default(), &bench.observed);
    for (role, name, owner) in [
        ("controller", "kibus.us-west-2.base", Some("base")),
        ("controller", "kibus.us-west-2.gone", Some("gone")),
        (ROLE, ROLE, None),
        ("controller", "other", None),
    ] {
        let document = Document::new(json!({}));
        let policy = RolePolicy { role: role.parse().unwrap(), name: name.parse().unwrap(), document };
        let found = owners.cluster_of(&Resource::RolePolicy(policy));
        assert_eq!(found.as_ref().map(|cluster| cluster.as_str()), owner, "{name}");
    }
}
