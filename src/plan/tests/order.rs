//! The order of changes, as laws over many pairs of inventories: every observed state of one cluster with every desired
//! one, and hubs with any resource missing or changed.

mod inventories;

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::model::{Effect, HubOptions, Resource, ResourceId, scope::tests::scope};
use crate::plan::order::{before_by_pairs, effect};
use crate::plan::{Action, Change, Plan};
use inventories::{CLUSTERS, Pair, hub_options};

/// Every change that must be made before this one, directly or indirectly.
fn all_before(plan: &Plan, at: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut left = vec![at];
    while let Some(change) = left.pop() {
        let earlier = plan.changes[change].waits_for.iter();
        left.extend(earlier.filter(|earlier| found.insert(**earlier)));
    }
    found
}

/// References between resources on a bus, as kind and name suffix.
const REFERS: &[(&str, &str, &str, &str)] = &[
    ("queue", "kibus-hub", "queue", "kibus-hub-dlq"),
    ("rule", "", "queue", "kibus-hub-dlq"),
    ("rule", "", "queue", "kibus-hub"),
    ("role-policy", "kibus-router-us-west-2", "role", "kibus-router-us-west-2"),
    ("function", "kibus-router", "role", "kibus-router-us-west-2"),
    ("function", "kibus-router", "role-policy", "kibus-router-us-west-2"),
    ("function", "kibus-router", "log-group", "/aws/lambda/kibus-router"),
    ("alias", "kibus-router:live", "function", "kibus-router"),
    ("event-source-mapping", "", "alias", "kibus-router:live"),
    ("event-source-mapping", "", "function", "kibus-router"),
    ("event-source-mapping", "", "queue", "kibus-hub"),
    ("event-source-mapping", "", "role-policy", "kibus-router-us-west-2"),
    ("role-policy", "kibus.us-west-2.base", "record", "clusters/base"),
    ("role-policy", "kibus.us-west-2.tenant", "record", "clusters/tenant"),
    ("queue", "karpenter-base", "record", "clusters/base"),
    ("queue", "karpenter-tenant", "record", "clusters/tenant"),
];

fn refers(user: &ResourceId, used: &ResourceId) -> bool {
    REFERS.iter().any(|(kind, name, used_kind, used_name)| {
        user.kind() == *kind && user.name().ends_with(name) && used.kind() == *used_kind && used.name() == *used_name
    })
}

/// Whether `used` is created and changed before the alias moves: the self-test of the new version calls AWS with the
/// router's role, and sends to the probe queue.
fn is_tested_with(alias: &ResourceId, used: &ResourceId) -> bool {
    const USED: [(&str, &str); 3] =
        [("queue", "kibus-probe"), ("role", "kibus-router-us-west-2"), ("role-policy", "kibus-router-us-west-2")];
    let is = |(kind, name): &(&str, &str)| used.kind() == *kind && used.name() == *name;
    alias.kind() == "alias" && USED.iter().any(is)
}

/// Whether this change writes a record that no longer has a role or a tag.
fn forgets(change: &Change) -> bool {
    matches!(change.id, ResourceId::Record(_)) && takes(change)
}

/// Whether this change removes something from the settings of the hub.
fn is_last(change: &Change) -> bool {
    matches!(change.id, ResourceId::Parameter(_)) && takes(change)
}

fn takes(change: &Change) -> bool {
    effect(change) == Effect::Takes
}

/// Whether this change lowers the reserved concurrency of a function.
fn lowers(change: &Change) -> bool {
    let reserved = |resource: &Resource| resource.as_function()?.reserved_concurrency;
    let (Some(from), Some(to)) = (&change.before, &change.after) else {
        return false;
    };
    reserved(to).is_some_and(|to| reserved(from).is_none_or(|from| to < from))
}

/// All laws, over one plan.
fn hold(plan: &Plan) {
    let memory = ResourceId::Parameter(scope().settings_parameter());
    let before: Vec<_> = (0..plan.changes.len()).map(|at| all_before(plan, at)).collect();
    for (at, change) in plan.changes.iter().enumerate() {
        assert!(change.waits_for.iter().all(|earlier| *earlier < at), "{} waits for a later change", change.id);
        assert_eq!(change.id, change.resource().id());
    }
    for (b, late) in plan.changes.iter().enumerate() {
        for (a, early) in plan.changes.iter().enumerate() {
            let (x, y) = (&early.id, &late.id);
            let waits = before[b].contains(&a);
            let must = match (early.action, late.action) {
                _ if x == y => a < b,
                _ if is_last(late) => true,
                _ if is_last(early) => false,
                (Action::Delete, Action::Delete) => refers(x, y) || *y == memory,
                (Action::Delete, Action::Create) => false,
                // A cluster's resources are removed after its record announces it, and before the record drops them.
                (Action::Update, Action::Delete) if x.kind() == "record" && refers(y, x) => !forgets(early),
                (_, Action::Delete) => *x == memory,
                (Action::Delete, Action::Update) => forgets(late) && refers(x, y),
                _ if forgets(late) && refers(x, y) => true,
                _ if lowers(late) && refers(x, y) => true,
                _ if is_tested_with(y, x) => true,
                _ => *x == memory || refers(y, x) && !forgets(early) && !lowers(early),
            };
            assert!(!must || waits, "{x} must be made before {y}:\n{early:?}\n{late:?}");
            let other_role =
                matches!((x, y), (ResourceId::RolePolicy(r, p), ResourceId::RolePolicy(s, q)) if p == q && r != s);
            if other_role && late.action == Action::Delete && early.action != Action::Delete {
                assert!(waits, "{x} must exist before {y} is removed");
            }
        }
    }
    let waits: Vec<_> = plan.changes.iter().map(|change| change.waits_for.clone()).collect();
    assert_eq!(waits, before_by_pairs(&scope(), plan), "each change waits for all that it must");
}

#[test]
fn every_state_of_a_cluster_can_become_every_other() {
    for state in 0..CLUSTERS {
        let mut pair = Pair::default();
        pair.cluster("base", state);
        hold(&pair.plan());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_pair_of_inventories_can_be_ordered(
        wanted in prop::option::weighted(0.8, prop::sample::select(hub_options())),
        found in prop::sample::select(hub_options()),
        missing in any::<u32>(),
        present in any::<u32>(),
        drifted in any::<u32>(),
        marked in prop_oneof![Just(0), any::<u32>()],
        clusters in (0..CLUSTERS, 0..CLUSTERS),
    ) {
        let mut pair = Pair::default();
        pair.hub(wanted.as_ref(), &found, (missing & !present, drifted, marked));
        pair.cluster("base", clusters.0);
        pair.cluster("tenant", clusters.1);
        hold(&pair.plan());
    }
}

/// M10: after every change of a plan that changes the reserved concurrency, even with another version of the router,
/// the mapping runs no more invocations than are reserved.
#[test]
fn the_mapping_never_exceeds_the_reserved_concurrency() {
    const ALL: [&str; 5] = ["none", "2", "5", "10", "20"];
    let pairs = ALL.iter().flat_map(|from| ALL.map(|to| (*from, to)));
    for ((from, to), other_router) in pairs.flat_map(|pair| [(pair, false), (pair, true)]) {
        let options = |reserved: &str| HubOptions {
            reserved_concurrency: Some(reserved.parse().unwrap()),
            memory: other_router.then(|| "512".parse().unwrap()),
            ..HubOptions::default()
        };
        let mut pair = Pair::default();
        let found = HubOptions { memory: None, ..options(from) };
        pair.hub(Some(&options(to)), &found, (0, 0, 0));
        let plan = pair.plan();
        hold(&plan);
        let mut reserved = pair.observed.resources().find_map(Resource::as_function).unwrap().reserved_concurrency;
        let mut maximum = pair.observed.resources().find_map(Resource::as_mapping).unwrap().maximum_concurrency;
        for change in &plan.changes {
            match change.resource() {
                Resource::Function(function) => reserved = function.reserved_concurrency,
                Resource::EventSourceMapping(mapping) => maximum = mapping.maximum_concurrency,
                _ => {}
            }
            assert!(
                maximum.is_some() && reserved.is_none_or(|reserved| maximum <= Some(reserved)),
                "{from} to {to}: {maximum:?} of {reserved:?} after {}",
                change.id
            );
        }
    }
}
