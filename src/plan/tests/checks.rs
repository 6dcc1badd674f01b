//! The checks of a plan: for each refusal, a case that is refused and a similar one that is not.

mod rollback;

use super::{BASE, Bench, CONTROLLER, HUB, PROBE, ROLE, SINCE, SPOT, put};
use crate::message::Message;
use crate::model::{
    Code, Document, Fact, FindingCode, HubOptions, Tags,
    tags::{BUS, CLUSTER},
};
use crate::plan::check;
use serde_json::json;

const REBALANCE: &str = "kibus-rebalance-recommendation";

/// The end of a refusal that rows call foreign.
const FOREIGN: &str = " exists and is not part of bus `kibus`";

type Row = (&'static str, fn(&mut Bench), &'static [&'static str]);

fn disown(tags: &mut Tags) {
    tags.0.remove(BUS);
}

fn statement(sid: &str) -> Document {
    Document::new(json!({"Statement": [{"Sid": sid, "Effect": "Allow"}]}))
}

fn live(b: &mut Bench, version: &str) {
    b.alias(|a| a.settings.code = Code::of_archive(version, "bb"));
}

/// The policy of the controller names another resource.
fn grants(b: &mut Bench, arn: &str) {
    b.role_policy(CONTROLLER, |p| p.document.value_mut()["Statement"][0]["Resource"] = arn.into());
}

/// A bus that has the optional rule, which is no longer desired.
fn rebalance(b: &mut Bench, foreign_targets: &[&str]) {
    let before = HubOptions { rebalance: Some(true), ..HubOptions::default() };
    let after = std::mem::replace(&mut b.options, before);
    b.see_wanted();
    b.options = after;
    b.rule(REBALANCE, |r| r.foreign_targets = foreign_targets.iter().map(|id| (*id).to_owned()).collect());
}

/// The simple cases are in scenarios about resources of other tools, drift and failed states.
const CHANGED: &[Row] = &[
    ("nothing", |_| {}, &[]),
    ("a queue of another bus", |b| b.queue(HUB, |q| put(&mut q.tags, BUS, "other")), &["foreign: queue `kibus-hub`"]),
    ("a queue of ours", |b| b.queue(HUB, |q| q.retention = 60), &[]),
    ("a queue of ours, older by 5 s", |b| b.queue(HUB, |q| (q.retention, q.created) = (60, SINCE - 5)), &[]),
    (
        "a queue that is older than the hub, whatever tags it has",
        |b| b.queue(HUB, |q| (q.retention, q.created) = (60, SINCE - 6)),
        &["foreign: queue `kibus-hub`"],
    ),
    (
        "the path of the role, which IAM cannot change",
        |b| b.role(|r| r.path = "/x/".parse().unwrap()),
        &["role `kibus-router-us-west-2` has the path `/x/`, which cannot change"],
    ),
    (
        "a role of another tool, with a policy of kibus's name",
        |b| {
            b.role(|r| disown(&mut r.tags));
            b.role_policy(ROLE, |p| p.document = statement("KibusX"));
        },
        &[
            "foreign: role `kibus-router-us-west-2`",
            "role policy `kibus-router-us-west-2` exists and contains statements that kibus did not write",
        ],
    ),
    ("the policy of our role, whatever it says", |b| b.role_policy(ROLE, |p| p.document = statement("Theirs")), &[]),
    (
        "a dashboard that says nothing of this bus",
        |b| b.with_dashboard(|d| d.body = Document::new(json!({"widgets": []}))),
        &["foreign: dashboard `kibus-hub-us-west-2`"],
    ),
    ("an edited dashboard", |b| b.with_dashboard(|d| d.body.value_mut()["start"] = json!("-P1D")), &[]),
    (
        "a function of another tool, with an alias; the mapping is on the hub queue",
        |b| {
            b.function(|f| disown(&mut f.tags));
            b.alias(|a| a.settings.memory = 1);
            b.mapping(|m| m.batch_size = 1);
        },
        &["foreign: alias `kibus-router:live`", "foreign: function `kibus-router`"],
    ),
    (
        "a mapping from another's queue to another's function",
        |b| {
            b.function(|f| disown(&mut f.tags));
            b.queue(HUB, |q| disown(&mut q.tags));
            b.mapping(|m| m.batch_size = 1);
        },
        &[
            "foreign: event source mapping `kibus-hub -> kibus-router:live`",
            "foreign: function `kibus-router`",
            "foreign: queue `kibus-hub`",
        ],
    ),
    (
        "an alias and a mapping of ours",
        |b| {
            b.alias(|a| a.settings.memory = 1);
            b.mapping(|m| m.batch_size = 1);
        },
        &[],
    ),
    ("another statement of ours", |b| b.role_policy(CONTROLLER, |p| p.document = statement("KibusX")), &[]),
    ("one for another queue, which is drift", |b| grants(b, "arn:aws:sqs:us-west-2:1:a-other"), &[]),
    ("one that grants all queues, its own included", |b| grants(b, "arn:aws:sqs:*:*:*"), &[]),
    ("of another cluster", |b| b.queue(BASE, |q| put(&mut q.tags, CLUSTER, "x")), &["foreign: queue `karpenter-base`"]),
    ("a queue that has lost the tag of its cluster", |b| b.queue(BASE, |q| q.tags.0.remove(CLUSTER)), &[]),
    (
        "another's target on a rule that stays",
        |b| {
            b.rule(SPOT, |r| r.enabled = false);
            b.rule(SPOT, |r| r.foreign_targets.insert("theirs".to_owned()));
        },
        &[],
    ),
    (
        "another's target on a rule that goes",
        |b| rebalance(b, &["theirs"]),
        &["rule `kibus-rebalance-recommendation` has targets that kibus does not manage: `theirs`"],
    ),
    ("a rule that goes, with our target alone", |b| rebalance(b, &[]), &[]),
    ("a newer router", |b| live(b, "0.10.0"), &["the live router 0.10.0 is newer than 0.2.0"]),
    ("an older router", |b| live(b, "0.1.9"), &[]),
    ("a newer router that is not live", |b| b.function(|f| f.settings.code = Code::of_archive("0.3.0", "bb")), &[]),
    ("live code of an unknown version", |b| live(b, ""), &[]),
    ("a function with a failed update", |b| b.function(|f| f.failed_update = Some("no role".to_owned())), &[]),
    (
        "a live router of another build, with other memory",
        |b| {
            live(b, "0.2.0");
            b.alias(|a| a.settings.memory = 1);
        },
        &[],
    ),
];

#[test]
fn a_resource_of_another_tool_is_refused_by_name() {
    for (name, edit, expected) in CHANGED {
        let mut bench = Bench::new();
        edit(&mut bench);
        let said = |refusal: Message| match refusal.sentence.strip_suffix(FOREIGN) {
            Some(what) if refusal.code == Some(FindingCode::NotManaged) => format!("foreign: {what}"),
            _ => refusal.sentence,
        };
        let refusals = check(&bench.scope, &bench.plan(), &bench.observed, false);
        let mut refusals: Vec<String> = refusals.into_iter().map(said).collect();
        refusals.sort();
        assert_eq!(refusals, *expected, "{name}");
    }
}

#[test]
fn a_resource_of_another_tool_is_not_deleted() {
    let mut bench = Bench::new();
    assert_eq!(check(&bench.scope, &bench.teardown(), &bench.observed, false), []);
    bench.queue(PROBE, |q| disown(&mut q.tags));
    bench.rule(SPOT, |r| disown(&mut r.tags));
    bench.role_policy(CONTROLLER, |p| p.document = statement("Theirs"));
    bench.answer("log-group", "/aws/lambda/kibus-router", Fact::Absent);
    let refused = check(&bench.scope, &bench.teardown(), &bench.observed, false);
    assert_eq!(refused.len(), 3, "{refused:?}");
}

#[test]
fn drift_does_not_prevent_a_teardown() {
    let mut bench = Bench::new();
    bench.role = ROLE.parse().ok();
    bench.see_wanted();
    bench.function(|f| f.failed = Some("the role is gone".to_owned()));
    assert_eq!(check(&bench.scope, &bench.teardown(), &bench.observed, false), []);
}
