//! The finding for each kind of drift: its code and its message.

use std::collections::BTreeSet;

use super::{Bench, MAPPING, RECORD};
use crate::error::Hint;
use crate::message::{Fix, Message, sort};
use crate::model::{Code, Fact};
use crate::plan::check;
use crate::plan::finding;

type Row = (&'static str, fn(&mut Bench), &'static [&'static str]);

const ROWS: &[Row] = &[
    ("nothing", |_| {}, &[]),
    (
        "a mapping that lets only some messages through",
        |b| {
            b.mapping(MAPPING, |m| {
                m.filters.insert("{}".to_owned());
            });
        },
        &["K225 lets only some messages through"],
    ),
    (
        "a mapping that reads nothing, whatever else is wrong with it",
        |b| {
            b.mapping(MAPPING, |m| {
                m.enabled = false;
                m.filters.insert("{}".to_owned());
            });
        },
        &["K222 disabled"],
    ),
    ("a mapping of another size", |b| b.mapping(MAPPING, |m| m.batch_size = 1), &["K207 batch_size changed"]),
    (
        "an update that failed",
        |b| b.function("kibus-router", |f| f.failed_update = Some("no such key".to_owned())),
        &["K224 the last update failed: no such key"],
    ),
    (
        "a function that was given up",
        |b| b.function("kibus-router", |f| f.failed = Some("no such key".to_owned())),
        &["K310 failed in Lambda and cannot be updated: no such key"],
    ),
    (
        "a function in a network",
        |b| {
            b.function("kibus-router", |f| {
                f.settings.extras.insert("subnet-1".to_owned());
            });
        },
        &["K205 extras changed"],
    ),
    (
        "another environment variable, whose name stays as it is",
        |b| {
            b.function("kibus-router", |f| {
                f.settings.environment.insert("KIBUS_BUS".to_owned(), "other".to_owned());
            });
        },
        &["K205 environment.KIBUS_BUS changed"],
    ),
    (
        "a share of the invocations that goes to another version",
        |b| {
            b.alias("kibus-router:live", |a| {
                a.shares.insert("version 1: 0.5".to_owned());
            });
        },
        &["K206 shares changed"],
    ),
    (
        "other memory, published with the same code by something else",
        |b| {
            b.alias("kibus-router:live", |a| {
                a.settings.memory = 512;
                a.settings.code.version.clear();
            });
        },
        &["K206 memory changed"],
    ),
    (
        "the same code and settings, published by something else",
        |b| b.alias("kibus-router:live", |a| a.settings.code.version.clear()),
        &["K206 record of the code changed"],
    ),
    (
        "other code, published by something else",
        |b| {
            b.alias("kibus-router:live", |a| {
                a.settings.code = Code::of_unknown_version("bb");
            });
        },
        &["K220 code changed"],
    ),
    (
        "other code of the function that is not live",
        |b| b.function("kibus-router", |f| f.settings.code = Code::of_unknown_version("bb")),
        &["K220 code changed"],
    ),
    (
        "a controller that would run as the router",
        |b| {
            b.role = Some("kibus-router-us-west-2".parse().unwrap());
            b.record(RECORD, |r| r.content.as_mut().unwrap().role = Some("kibus-router-us-west-2".parse().unwrap()));
            b.answer("role-policy", "controller/kibus.us-west-2.base", Fact::Absent);
        },
        &[
            "K311 role `kibus-router-us-west-2` is the router's role: a controller with this role could read the hub queue",
        ],
    ),
];

#[test]
fn each_difference_has_its_code() {
    for (name, edit, expected) in ROWS {
        let mut bench = Bench::new();
        edit(&mut bench);
        let plan = bench.plan();
        let refusals = check(&bench.scope, &plan, &bench.observed, false);
        let mut findings = finding::changed(&bench.scope, &plan, &refusals, &BTreeSet::new());
        findings.extend(refusals.into_iter().map(Message::into_finding));
        let said: Vec<String> =
            findings.iter().map(|finding| format!("{} {}", finding.code.unwrap(), finding.sentence)).collect();
        assert_eq!(said, *expected, "{name}");
    }
}

#[test]
fn the_most_urgent_finding_comes_first() {
    let mut bench = Bench::new();
    bench.rule("kibus-spot-interruption", |r| r.enabled = false);
    bench.queue("kibus-hub", |q| {
        q.tags.0.insert("kibus:stray".to_owned(), "x".to_owned());
    });
    bench.log_group("/aws/lambda/kibus-router", |l| l.retention_days = None);
    bench.queue("karpenter-base", |q| q.retention = 60);
    let plan = bench.plan();
    let mut findings = finding::changed(&bench.scope, &plan, &[], &BTreeSet::new());
    findings.reverse();
    sort(&mut findings);
    let found: Vec<String> = findings
        .iter()
        .map(|finding| {
            let cluster = finding.cluster.as_ref().map_or("hub", |name| name.as_str());
            format!(
                "{:?} {} {cluster} {} {}",
                finding.severity,
                finding.code.unwrap(),
                finding.kind_of_subject(),
                finding.name()
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "Critical K223 hub rule kibus-spot-interruption",
            "Error K204 hub log-group /aws/lambda/kibus-router",
            "Error K209 hub queue kibus-hub",
            "Error K210 base queue karpenter-base",
        ]
    );
}

#[test]
fn a_missing_policy_is_fixed_by_another_role_if_the_role_is_missing() {
    let mut bench = Bench::new();
    bench.answer("role-policy", "controller/kibus.us-west-2.base", Fact::Absent);
    let plan = bench.plan();
    for (absent, fix) in [
        (BTreeSet::new(), Fix::add_cluster(&bench.scope, "base".parse().unwrap())),
        (
            BTreeSet::from(["controller".parse().unwrap()]),
            Fix::from(Hint::command(
                "role `controller` does not exist; pass the role that Karpenter runs as",
                bench.scope.kibus("add-cluster base --controller-role ROLE"),
            )),
        ),
    ] {
        let findings = finding::changed(&bench.scope, &plan, &[], &absent);
        let found: Vec<_> = findings.iter().map(|finding| (finding.code.unwrap().as_str(), &finding.fix)).collect();
        assert_eq!(found, [("K111", &fix)]);
    }
}
