//! The finding for each kind of drift: its code and its message.

use std::collections::BTreeSet;

use super::{Bench, CONTROLLER, ROLE};
use crate::message::Message;
use crate::model::Fact;
use crate::plan::check;
use crate::plan::finding;

/// A name, what someone changed, and the code and the sentence of the finding. `scenario::faulty_hub` and
/// `scenario::changed_router` have the simple cases.
type Row = (&'static str, fn(&mut Bench), &'static str);

const ROWS: &[Row] = &[
    ("nothing", |_| {}, ""),
    (
        "a mapping that reads nothing, whatever else is wrong with it",
        |b| b.mapping(|m| (m.enabled, m.filters) = (false, ["{}".to_owned()].into())),
        "K222 disabled",
    ),
    (
        "another environment variable, whose name stays as it is",
        |b| b.function(|f| f.settings.environment.insert("KIBUS_BUS".to_owned(), "other".to_owned())),
        "K205 environment.KIBUS_BUS changed",
    ),
    (
        "other memory, published with the same code by something else",
        |b| {
            b.alias(|a| a.settings.code.version.clear());
            b.alias(|a| a.settings.memory = 512);
        },
        "K206 memory changed",
    ),
    (
        "a controller that would run as the router",
        |b| {
            b.role = ROLE.parse().ok();
            b.record(|r| r.content.as_mut().unwrap().role = ROLE.parse().ok());
            b.answer("role-policy", CONTROLLER, Fact::Absent);
        },
        "K311 role `kibus-router-us-west-2` is the router's role: a controller with this role could read the hub queue",
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
        let said = findings.iter().map(|finding| format!("{} {}", finding.code.unwrap(), finding.sentence));
        assert_eq!(said.collect::<Vec<_>>().join("; "), *expected, "{name}");
    }
}
