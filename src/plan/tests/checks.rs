//! The checks of a plan: for each refusal a case that is refused, and a similar one that is not.

mod rollback;

use super::{Bench, CONTROLLER, DASHBOARD, LIVE, MAPPING, ROLE, SINCE, SPOT, existing};
use crate::model::{
    Code, Document, Fact, HubOptions, Tags,
    tags::{BUS, CLUSTER},
};
use crate::plan::check;
use serde_json::json;

const REBALANCE: &str = "kibus-rebalance-recommendation";

type Row = (&'static str, fn(&mut Bench), &'static [&'static str]);

fn disown(tags: &mut Tags) {
    tags.0.remove(BUS);
}

fn statement(sid: &str) -> Document {
    Document::new(json!({"Statement": [{"Sid": sid, "Effect": "Allow"}]}))
}

const CHANGED: &[Row] = &[
    ("nothing", |_| {}, &[]),
    (
        "a queue without our tag",
        |b| b.queue("kibus-hub", |q| disown(&mut q.tags)),
        &["queue `kibus-hub` exists and is not part of bus `kibus`"],
    ),
    (
        "a queue of another bus",
        |b| {
            b.queue("kibus-hub", |q| {
                q.tags.0.insert(BUS.to_owned(), "other".to_owned());
            });
        },
        &["queue `kibus-hub` exists and is not part of bus `kibus`"],
    ),
    ("a queue of ours", |b| b.queue("kibus-hub", |q| q.retention = 60), &[]),
    (
        "a queue that is older than the hub",
        |b| {
            b.queue("kibus-hub", |q| {
                q.retention = 60;
                q.created = SINCE - 6;
            });
        },
        &["queue `kibus-hub` exists and is not part of bus `kibus`"],
    ),
    (
        "the path of the role, which IAM cannot change",
        |b| b.role(ROLE, |r| r.path = "/x/".parse().unwrap()),
        &["role `kibus-router-us-west-2` has the path `/x/`, which cannot change"],
    ),
    (
        "a role of another tool, with a policy of kibus's name",
        |b| {
            b.role(ROLE, |r| disown(&mut r.tags));
            b.role_policy(ROLE, |p| p.document = statement("KibusX"));
        },
        &[
            "role `kibus-router-us-west-2` exists and is not part of bus `kibus`",
            "role policy `kibus-router-us-west-2` exists and holds statements that kibus did not write",
        ],
    ),
    ("the policy of our role, whatever it says", |b| b.role_policy(ROLE, |p| p.document = statement("Theirs")), &[]),
    (
        "a log group of another tool",
        |b| b.log_group("/aws/lambda/kibus-router", |l| disown(&mut l.tags)),
        &["log group `/aws/lambda/kibus-router` exists and is not part of bus `kibus`"],
    ),
    (
        "a dashboard that says nothing of this bus",
        |b| {
            b.with_dashboard();
            b.dashboard(DASHBOARD, |d| d.body = Document::new(json!({"widgets": []})));
        },
        &["dashboard `kibus-hub-us-west-2` exists and is not part of bus `kibus`"],
    ),
    (
        "a dashboard of this bus that someone edited",
        |b| {
            b.with_dashboard();
            b.dashboard(DASHBOARD, |d| d.body.value_mut()["start"] = json!("-P1D"));
        },
        &[],
    ),
    (
        "a function of another tool, with an alias; the mapping is on the hub queue",
        |b| {
            b.function("kibus-router", |f| disown(&mut f.tags));
            b.alias(LIVE, |a| a.settings.memory = 1);
            b.mapping(MAPPING, |m| m.batch_size = 1);
        },
        &[
            "function `kibus-router` exists and is not part of bus `kibus`",
            "alias `kibus-router:live` exists and is not part of bus `kibus`",
        ],
    ),
    (
        "a mapping from another's queue to another's function",
        |b| {
            b.function("kibus-router", |f| disown(&mut f.tags));
            b.queue("kibus-hub", |q| disown(&mut q.tags));
            b.mapping(MAPPING, |m| m.batch_size = 1);
        },
        &[
            "queue `kibus-hub` exists and is not part of bus `kibus`",
            "function `kibus-router` exists and is not part of bus `kibus`",
            "event source mapping `kibus-hub -> kibus-router:live` exists and is not part of bus `kibus`",
        ],
    ),
    (
        "an alias and a mapping of ours",
        |b| {
            b.alias(LIVE, |a| a.settings.memory = 1);
            b.mapping(MAPPING, |m| m.batch_size = 1);
        },
        &[],
    ),
    (
        "a rule of another tool",
        |b| b.rule(SPOT, |r| disown(&mut r.tags)),
        &["rule `kibus-spot-interruption` exists and is not part of bus `kibus`"],
    ),
    (
        "a controller policy with a foreign statement",
        |b| {
            b.role_policy(CONTROLLER, |p| {
                p.document.value_mut()["Statement"].as_array_mut().unwrap().push(json!({"Sid": "Theirs"}));
            });
        },
        &["role policy `controller/kibus.us-west-2.base` exists and holds statements that kibus did not write"],
    ),
    (
        "a controller's policy with another statement of ours",
        |b| b.role_policy(CONTROLLER, |p| p.document = statement("KibusX")),
        &[],
    ),
    (
        "a policy of the same name for another queue, which is drift",
        |b| {
            b.role_policy(CONTROLLER, |p| {
                p.document.value_mut()["Statement"][0]["Resource"] =
                    json!("arn:aws:sqs:us-west-2:111122223333:a-other");
            });
        },
        &[],
    ),
    (
        "a policy that grants all queues, its own included",
        |b| {
            b.role_policy(CONTROLLER, |p| {
                p.document.value_mut()["Statement"][0]["Resource"] = json!("arn:aws:sqs:*:*:*");
            });
        },
        &[],
    ),
    (
        "a queue that serves another cluster",
        |b| {
            b.queue("karpenter-base", |q| {
                q.tags.0.insert(CLUSTER.to_owned(), "tenant-1".to_owned());
            });
        },
        &["queue `karpenter-base` exists and is not part of bus `kibus`"],
    ),
    (
        "a queue that has lost the tag of its cluster",
        |b| {
            b.queue("karpenter-base", |q| {
                q.tags.0.remove(CLUSTER);
            });
        },
        &[],
    ),
    (
        "another's target on a rule that stays",
        |b| {
            b.rule(SPOT, |r| {
                r.enabled = false;
                r.foreign_targets.insert("theirs".to_owned());
            });
        },
        &[],
    ),
    (
        "another's target on a rule that goes",
        |b| rebalance(b, &["theirs"]),
        &["rule `kibus-rebalance-recommendation` has targets that kibus does not manage: `theirs`"],
    ),
    ("a rule that goes, with our target alone", |b| rebalance(b, &[]), &[]),
    (
        "a newer router",
        |b| b.alias(LIVE, |a| a.settings.code = Code::of_archive("0.10.0", "bb")),
        &["router 0.10.0 is live, which is newer than 0.2.0"],
    ),
    ("an older router", |b| b.alias(LIVE, |a| a.settings.code = Code::of_archive("0.1.9", "bb")), &[]),
    (
        "a newer router on the function that is not live",
        |b| b.function("kibus-router", |f| f.settings.code = Code::of_archive("0.3.0", "bb")),
        &[],
    ),
    ("live code of an unknown version", |b| b.alias(LIVE, |a| a.settings.code = Code::of_unknown_version("bb")), &[]),
    (
        "what led to a release of this router",
        |b| b.alias(LIVE, |a| a.settings.code = Code::of_archive("0.2.0-rc.1", "bb")),
        &[],
    ),
    (
        "what leads to a later release",
        |b| b.alias(LIVE, |a| a.settings.code = Code::of_archive("0.2.1-rc.1", "bb")),
        &["router 0.2.1-rc.1 is live, which is newer than 0.2.0"],
    ),
    (
        "a later build of this router",
        |b| b.alias(LIVE, |a| a.settings.code = Code::of_archive("0.2.1+fix", "bb")),
        &["router 0.2.1+fix is live, which is newer than 0.2.0"],
    ),
    (
        "a function that Lambda has given up",
        |b| b.function("kibus-router", |f| f.failed = Some("the role is gone".to_owned())),
        &["function `kibus-router` failed in Lambda and cannot be updated: the role is gone"],
    ),
    (
        "a function whose last update failed",
        |b| b.function("kibus-router", |f| f.failed_update = Some("the role is gone".to_owned())),
        &[],
    ),
    (
        "a controller that would run as the router",
        |b| b.role = Some(ROLE.parse().unwrap()),
        &["role `kibus-router-us-west-2` is the router's role: a controller with this role could read the hub queue"],
    ),
    (
        "a live router of another build, with other memory",
        |b| {
            b.alias(LIVE, |a| {
                a.settings.code = Code::of_archive("0.2.0", "bb");
                a.settings.memory = 1;
            });
        },
        &[],
    ),
];

/// A bus that has the optional rule, which is no longer desired.
fn rebalance(b: &mut Bench, foreign_targets: &[&str]) {
    let before = HubOptions { rebalance: Some(true), ..HubOptions::default() };
    let after = std::mem::replace(&mut b.options, before);
    for resource in b.wanted().resources() {
        b.see(existing(resource));
    }
    b.options = after;
    b.rule(REBALANCE, |r| {
        r.foreign_targets = foreign_targets.iter().map(|id| (*id).to_owned()).collect();
    });
}

#[test]
fn a_resource_of_another_tool_is_refused_by_name() {
    for (name, edit, expected) in CHANGED {
        let mut bench = Bench::new();
        edit(&mut bench);
        let mut refusals: Vec<String> = check(&bench.scope, &bench.plan(), &bench.observed, false)
            .iter()
            .map(|refusal| refusal.sentence.clone())
            .collect();
        let mut expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
        refusals.sort();
        expected.sort();
        assert_eq!(refusals, expected, "{name}");
    }
}

#[test]
fn a_resource_of_another_tool_is_not_deleted() {
    let mut bench = Bench::new();
    assert_eq!(check(&bench.scope, &bench.teardown(), &bench.observed, false), []);
    bench.queue("kibus-probe", |q| disown(&mut q.tags));
    bench.rule(SPOT, |r| disown(&mut r.tags));
    bench.role_policy(CONTROLLER, |p| p.document = statement("Theirs"));
    bench.answer("log-group", "/aws/lambda/kibus-router", Fact::Absent);
    let refused = check(&bench.scope, &bench.teardown(), &bench.observed, false);
    assert_eq!(refused.len(), 3, "{refused:?}");
}

#[test]
fn drift_does_not_prevent_a_teardown() {
    let mut bench = Bench::new();
    bench.role = Some(ROLE.parse().unwrap());
    for resource in bench.wanted().resources() {
        bench.see(existing(resource));
    }
    bench.function("kibus-router", |f| f.failed = Some("the role is gone".to_owned()));
    assert_eq!(check(&bench.scope, &bench.teardown(), &bench.observed, false), []);
}
