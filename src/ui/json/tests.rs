//! The document as it is written, and the schema that describes it.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, SchemaGenerator, json_schema};

use super::*;
use crate::dead_letters::{DeadLetter, Treatment};
use crate::error::Progress;
use crate::model::options::HubOptions;
use crate::model::resource::{Desired, ResourceId};
use crate::model::scope::tests::scope;
use crate::model::signal::{Signal, sample_event};
use crate::plan::finding::FindingCode;
use crate::ui::text::tests::{
    assert_file, assert_snapshot, between, cluster_resources, drifted_resources, hub_resources,
};

/// A schema of these words. They are in tables, which say more than serde needs.
fn words<T: serde::Serialize>(words: impl IntoIterator<Item = T>) -> Schema {
    json_schema!({ "enum": (words.into_iter().collect::<Vec<_>>()) })
}

pub(super) fn kind(_: &mut SchemaGenerator) -> Schema {
    words(ResourceId::KINDS)
}

pub(super) fn subject(_: &mut SchemaGenerator) -> Schema {
    words(ResourceId::KINDS.iter().chain(&["cluster", ""]))
}

pub(super) fn code(_: &mut SchemaGenerator) -> Schema {
    words(FindingCode::ALL.iter().map(|code| code.as_str()))
}

/// The schema of the document. An object has no other members than these, a description is on one line, and a number has no
/// format: those of Rust are no standard.
fn schema() -> Schema {
    let plain = RecursiveTransform(|schema: &mut Schema| {
        schema.remove("format");
        if schema.get("properties").is_some() {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace('\n', " ");
        }
    });
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(plain);
    settings.into_generator().into_root_schema_for::<DocumentObject<'_>>()
}

/// Why a document does not match the schema; `None` if it does.
pub(super) fn objection(document: &Value) -> Option<String> {
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("plan.schema.json", schema().to_value()).unwrap();
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
        found_by: Default::default(),
    };
    let intent = Intent {
        plan: plan.clone(),
        clusters: vec![
            cluster("base", Some("KarpenterServiceAccount-base")),
            cluster("other", None),
        ],
        findings: vec![crate::plan::finding::not_registered(
            &scope(),
            "third".parse().unwrap(),
            &std::collections::BTreeSet::new(),
            crate::plan::finding::Fix::add_cluster(&scope(), "third".parse().unwrap()),
        )],
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
        unknown: 0,
        not_tried: 10,
    });
    error
}

#[test]
fn the_schema_is_up_to_date() {
    assert_file(
        "docs/plan.schema.json",
        &serde_json::to_string_pretty(&schema()).unwrap(),
    );
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
    let early = Report {
        error: Some(Error::usage("no")),
        ..Report::default()
    };
    assert_eq!(objection(&early.to_json()), None, "an early error");
}

/// Dead letters as they were shown, redriven, and redriven until someone stopped the command for good.
#[test]
fn the_schema_describes_dead_letters() {
    let spot = sample_event(&scope(), Signal::SpotInterruption, &["i-1"]).to_string();
    let letters = [spot, String::new()].map(|body| DeadLetter {
        id: "m".to_owned(),
        body,
        ..DeadLetter::default()
    });
    let letters = letters.map(|letter| letter.with_event(0).with_cause(|_| Some("x"), true));
    let shown = DeadLetterReport {
        queue: scope().dead_letter_queue(),
        seen: 2,
        about: 2,
        action: None,
        letters: letters.into(),
        warnings: Vec::new(),
    };
    for (treatment, expected) in [
        (None, json!([null, null, null])),
        (Some(Treatment::Redrive), json!(["redrive", "unknown", "left"])),
        (Some(Treatment::Purge), json!(["purge", "unknown", "unknown"])),
    ] {
        let mut letters = shown.clone();
        if let Some(treatment) = treatment {
            letters.settle(treatment, None);
        }
        let hub = HubReport {
            dead_letters: Some(letters),
            ..HubReport::of(&scope())
        };
        let hubs = vec![hub];
        let document = Report {
            hubs,
            ..Report::default()
        }
        .to_json();
        assert_eq!(objection(&document), None, "{treatment:?}");
        let letters = &document["hubs"][0]["dead_letters"];
        let status = |number: usize| &letters["messages"][number]["result"]["status"];
        assert_eq!(json!([letters["action"], status(0), status(1)]), expected);
    }
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
        ("/hubs/0/bus", json!("Kibus")),
        ("/hubs/0/problems/0/code", json!("K000")),
        ("/hubs/0/problems/0/kind", json!("bucket")),
        ("/hubs/0/problems/0/severity", json!("high")),
        (
            "/hubs/0/problems/0/fix",
            json!({"text": null, "command": null, "url": null}),
        ),
        ("/hubs/0/status", Value::Null),
        ("/hubs/0/error", Value::Null),
        ("/hubs/0/error/done", Value::Null),
        (
            "/hubs/0/error",
            json!({"kind": "failed", "message": "m", "notes": [], "hints": [], "done": 1}),
        ),
    ] {
        let mut document = document.clone();
        *document.pointer_mut(at).unwrap() = wrong;
        assert!(objection(&document).is_some(), "{at} is taken");
    }
}
