//! The versions that a rollback can select.

use crate::model::{Alias, AliasField, Code, Desired, Fact, FunctionField, FunctionSettings, Observed, Resource};
use crate::plan::tests::Bench;
use crate::plan::{check, plan};

type Back = (&'static str, fn(&mut FunctionSettings), &'static [&'static str]);

/// Rollbacks: the settings of the version, and the settings that cause a refusal.
const BACK: &[Back] = &[
    ("older code", |s| s.code = Code::of_archive("0.1.0", "bb"), &[]),
    ("of another size", |s| (s.memory, s.timeout) = (512, 5), &[]),
    ("which sends to other queues", |s| s.handler = "kibus/x-{cluster}".to_owned(), &["`handler`"]),
    ("with variables", |s| drop(s.environment.insert("A".to_owned(), "b".to_owned())), &["`environment.A`"]),
    ("which somebody had put into a network", |s| assert!(s.extras.insert("subnet-1".to_owned())), &["`extras`"]),
    (
        "which runs as another role, and knows no queue names",
        |s| {
            s.role.push('x');
            s.handler = "bootstrap".to_owned();
        },
        &["`handler`, `role`"],
    ),
];

#[test]
fn a_rollback_from_a_version_in_a_network_is_allowed() {
    let mut bench = Bench::new();
    bench.alias(|a| {
        a.version = Some(2);
        a.settings.extras.insert("subnet-1".to_owned());
    });
    let plan = bench.plan();
    assert!(plan.changes[0].touches(FunctionField::Extras), "{:?}", plan.changes);
    assert_eq!(check(&bench.scope, &plan, &bench.observed, false), []);
}

#[test]
fn a_rollback_must_not_change_where_events_go() {
    for (name, edit, expected) in BACK {
        let mut bench = Bench::new();
        bench.alias(|a| (a.version, a.versions) = (Some(2), [1, 2].into()));
        let live = bench.observed.resources().find_map(Resource::as_alias).unwrap().clone();
        let mut settings = live.settings.clone();
        edit(&mut settings);
        let back = Resource::Alias(Alias { settings, moves_to: Some(1), ..live.clone() });
        let only = Observed::from_iter([(back.id(), Fact::Present(Resource::Alias(live)))]);
        let plan = plan(&bench.scope, &Desired::from_iter([back]), &only);
        assert!(plan.changes[0].touches(AliasField::Version), "{name}");
        let refusals = check(&bench.scope, &plan, &bench.observed, false).into_iter().map(|refusal| refusal.sentence);
        let why = "version 1 of the router was published with different settings: ";
        let fields: Vec<String> = refusals.map(|said| said.strip_prefix(why).unwrap_or(&said).to_owned()).collect();
        assert_eq!(fields, *expected, "{name}");
    }
}
