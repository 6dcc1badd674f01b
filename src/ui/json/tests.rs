//! The document as it is written, and the schema that describes it.

use super::*;
use crate::error::Progress;
use crate::model::inventory::Desired;
use crate::model::options::HubOptions;
use crate::model::scope::tests::scope;
use crate::ui::text::tests::{assert_snapshot, between, cluster_resources, drifted_resources, hub_resources};

/// Why a document does not match the schema; `None` if it does.
pub(super) fn objection(document: &Value) -> Option<String> {
    let schema = serde_json::from_str(include_str!("../../../docs/plan.schema.json")).unwrap();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("plan.schema.json", schema).unwrap();
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile("plan.schema.json", &mut schemas).unwrap();
    schemas.validate(document, index).err().map(|e| e.to_string())
}

fn report(plan: &Plan, error: Option<&Error>) -> Report {
    let cluster = |name: &str, role: Option<&str>| ClusterSummary {
        name: name.parse().unwrap(),
        queue: format!("karpenter-{name}").parse().unwrap(),
        queue_arn: format!("arn:aws:sqs:us-west-2:111122223333:karpenter-{name}"),
        controller_role: role.map(|role| role.parse().unwrap()),
        being_deleted: name == "other",
    };
    let intent = Intent {
        plan: plan.clone(),
        clusters: vec![
            cluster("base", Some("KarpenterServiceAccount-base")),
            cluster("other", None),
        ],
        findings: vec![crate::plan::finding::not_registered("third".parse().unwrap())],
        warnings: vec![Hint::text("a warning")],
        ..Intent::default()
    };
    Report {
        hubs: vec![HubReport {
            status: Some(StatusReport::default()),
            applied: error.is_none(),
            error: error.cloned(),
            ..HubReport::new(&scope(), &intent)
        }],
        ..Report::default()
    }
}

fn failure() -> Error {
    let mut error = Error::failed("not allowed to create role `r`")
        .note("AWS refused iam:CreateRole")
        .hint("ask whoever may")
        .hint_command("then run again:", "kibus bootstrap-hub");
    error.progress = Some(Progress {
        done: 2,
        failed: 1,
        not_tried: 10,
    });
    error
}

#[test]
fn a_report_reads_like_this() {
    let desired = cluster_resources("base");
    let plan = between(&Desired::default(), &desired);
    let failure = failure();
    assert_snapshot("report.json", &format!("{:#}", report(&plan, Some(&failure)).to_json()));
}

#[test]
fn the_schema_describes_what_is_written() {
    let hub = hub_resources(HubOptions::default());
    let moved = hub_resources(HubOptions {
        role_path: Some("/team/".parse().unwrap()),
        ..HubOptions::default()
    });
    let failure = failure();
    for (name, plan) in [
        ("no change", between(&hub, &hub)),
        ("create", between(&Desired::default(), &hub)),
        ("delete", between(&hub, &Desired::default())),
        ("replace", between(&hub, &moved)),
        ("update", between(&drifted_resources(&hub), &hub)),
    ] {
        for error in [None, Some(&failure)] {
            assert_eq!(objection(&report(&plan, error).to_json()), None, "{name}");
        }
    }
    assert_eq!(objection(&Report::default().to_json()), None, "no hub");
    assert_eq!(objection(&error_document(&Error::usage("no"))), None, "an early error");
}

#[test]
fn the_schema_refuses_what_is_not_written() {
    let plan = between(&Desired::default(), &hub_resources(HubOptions::default()));
    let failure = failure();
    let document = report(&plan, Some(&failure)).to_json();
    for (at, wrong) in [
        ("/format_version", json!(1)),
        ("/hubs/0/applied", json!("yes")),
        ("/hubs/0/account", json!(111_122_223_333_u64)),
        ("/hubs/0/changes/0/action", json!("make")),
        ("/hubs/0/changes/0/kind", json!("bucket")),
        ("/hubs/0/changes/0/fields/0", json!({"path": "retention"})),
        ("/hubs/0/summary", json!({"create": 1})),
        ("/hubs/0/error/kind", json!("bad")),
        ("/hubs/0/error/hints/0", json!("a text")),
        ("/hubs/0/clusters/0", json!({"name": "base"})),
    ] {
        let mut document = document.clone();
        *document.pointer_mut(at).unwrap() = wrong;
        assert!(objection(&document).is_some(), "{at} is taken");
    }
}
