//! The document and its schema.

use std::borrow::Cow;
use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::*;
use crate::dead_letters::{DeadLetter, Treatment};
use crate::model::{
    Desired, FieldValue, FindingCode, HubOptions, ResourceId, Signal, sample_event, scope::tests::scope,
};
use crate::ui::text::tests::{
    assert_file, between, cluster_summary, dead_letter_report, drifted_resources, hub_resources, refused,
};

/// A schema of these words. They are in tables, which contain more than serde needs.
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

impl JsonSchema for ResourceId {
    fn schema_name() -> Cow<'static, str> {
        "ResourceObject".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A resource.",
            "type": "object",
            "properties": {
                "kind": kind(generator),
                "name": {"description": "The name of the resource, unique within its kind.", "type": "string", "minLength": 1},
            },
            "required": ["kind", "name"],
        })
    }
}

/// The value of a field.
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum FieldObjectValue {
    /// Not set.
    Unset,
    Text(String),
    /// Durations are in seconds, or in days where the path says so. Sizes are in bytes, memory in MiB; the largest message
    /// of a queue may be larger than `to`.
    Number(u64),
    Flag(bool),
    List(BTreeSet<String>),
    Code(CodeObject),
    /// A policy or a pattern.
    Document(serde_json::Map<String, Value>),
}

/// A function's code.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct CodeObject {
    /// The version of the router; null if it is unknown.
    version: Option<String>,
    sha256: String,
}

impl JsonSchema for FieldValue {
    fn schema_name() -> Cow<'static, str> {
        FieldObjectValue::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        FieldObjectValue::json_schema(generator)
    }
}

/// Turns the variants of a flattened enum into optional members.
fn join_variants(object: &mut serde_json::Map<String, Value>) {
    if !object.contains_key("properties") {
        return;
    }
    let variants = object.remove("anyOf").unwrap_or_default();
    for variant in variants[0]["oneOf"].as_array().into_iter().flatten() {
        for (name, property) in variant["properties"].as_object().unwrap() {
            object["properties"][name] = property.clone();
            object["properties"][name]["description"] = variant["description"].clone();
        }
    }
}

/// Allows no other members in an object, and no null for a member that may be missing.
fn close(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    join_variants(object);
    let required: Vec<Value> = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    for (name, property) in properties.iter_mut() {
        let Some(property) = property.as_object_mut().filter(|_| !required.contains(&json!(name))) else { continue };
        if let Some(Value::Array(types)) = property.get("type") {
            let only = types.iter().find(|of| **of != "null").cloned().unwrap();
            property.insert("type".to_owned(), only);
        }
        if let Some(any) = property.remove("anyOf") {
            property.extend(any[0].as_object().unwrap().clone());
        }
    }
    object.insert("additionalProperties".to_owned(), false.into());
}

/// The schema of the document. A description is on one line, and a number has no format: Rust's formats are not standard.
fn schema() -> Schema {
    let plain = RecursiveTransform(|schema: &mut Schema| {
        schema.remove("format");
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace('\n', " ");
        }
        close(schema);
    });
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(plain);
    let mut schema = settings.into_generator().into_root_schema_for::<Report>();
    schema.insert("$id".to_owned(), json!("plan.schema.json"));
    schema.insert("title".to_owned(), json!("Document of kibus --output json"));
    let version = json!({"type": "integer", "const": FORMAT_VERSION, "minimum": 0});
    schema.get_mut("properties").unwrap()["format_version"] = version;
    schema.get_mut("required").unwrap().as_array_mut().unwrap().insert(0, json!("format_version"));
    schema
}

/// Why a document does not match the schema; `None` if it does.
pub(super) fn objection(document: &Value) -> Option<String> {
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("plan.schema.json", schema().to_value()).unwrap();
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile("plan.schema.json", &mut schemas).unwrap();
    schemas.validate(document, index).err().map(|e| e.to_string())
}

fn report(plan: &Plan, error: Option<Error>) -> Report {
    let third: ClusterName = "third".parse().unwrap();
    let intent = Intent {
        plan: plan.clone(),
        clusters: vec![cluster_summary("base", Some("KarpenterServiceAccount-base")), cluster_summary("other", None)],
        findings: vec![
            Message::finding(&scope(), FindingCode::ClusterNotRecorded, third.clone(), "not recorded")
                .fixed_by(crate::message::Fix::add_cluster(&scope(), third)),
        ],
        warnings: vec![Hint::text("a warning")],
        ..Intent::default()
    };
    let body = Some(Body::Status(StatusReport::default()));
    Report::from(HubReport { body, applied: error.is_none(), error, ..HubReport::new(&scope(), &intent) })
}

#[test]
fn the_schema_is_up_to_date() {
    assert_file("docs/plan.schema.json", &serde_json::to_string_pretty(&schema()).unwrap());
}

#[test]
fn the_schema_describes_what_is_written() {
    let (none, hub) = (Desired::default(), hub_resources(HubOptions::default()));
    let moved = hub_resources(HubOptions { role_path: Some("/team/".parse().unwrap()), ..HubOptions::default() });
    for (name, plan) in [
        ("no change", between(&hub, &hub)),
        ("create", between(&none, &hub)),
        ("delete", between(&hub, &none)),
        ("replace", between(&hub, &moved)),
        ("update", between(&drifted_resources(&hub), &hub)),
    ] {
        for error in [None, Some(refused())] {
            assert_eq!(objection(&report(&plan, error).to_json()), None, "{name}");
        }
    }
    for (name, report) in [("no hub", Report::default()), ("an early error", Report::from(Error::usage("no")))] {
        assert_eq!(objection(&report.to_json()), None, "{name}");
    }
}

/// Dead letters as they were shown, redriven, and redriven until someone stopped the command for good.
#[test]
fn the_schema_describes_dead_letters() {
    let spot = sample_event(&scope(), Signal::SpotInterruption, &["i-1"]).to_string();
    let letters = [spot, String::new()].map(|body| DeadLetter { id: "m".to_owned(), body, ..DeadLetter::default() });
    let letters = letters.map(|letter| letter.with_event(0).with_cause(|_| Some("x"), true));
    for (treatment, expected) in [
        (None, json!([null, null, null])),
        (Some(Treatment::Redrive), json!(["redrive", "unknown", "left"])),
        (Some(Treatment::Purge), json!(["purge", "unknown", "unknown"])),
    ] {
        let mut shown = dead_letter_report(letters.clone());
        if let Some(treatment) = treatment {
            shown.settle(treatment, None);
        }
        let document = Report::from(HubReport::with(&scope(), Body::DeadLetters(shown))).to_json();
        assert_eq!(objection(&document), None, "{treatment:?}");
        let letters = &document["hubs"][0]["dead_letters"];
        let status = |number: usize| &letters["messages"][number]["result"]["status"];
        assert_eq!(json!([letters["action"], status(0), status(1)]), expected);
    }
}

#[test]
fn the_schema_refuses_what_is_not_written() {
    let plan = between(&Desired::default(), &hub_resources(HubOptions::default()));
    let document = report(&plan, Some(refused())).to_json();
    let edits = r#"
        /format_version=1; /hubs/0/applied="yes"; /hubs/0/account=111122223333; /hubs/0/bus="Kibus"; /hubs/0/summary={"create": 1}
        /hubs/0/changes/0/action="make"; /hubs/0/changes/0/kind="bucket"; /hubs/0/changes/1/fields/0={"path": "retention"}
        /hubs/0/clusters/0={"name": "base"}; /hubs/0/status=null
        /hubs/0/problems/0/code="K000"; /hubs/0/problems/0/kind="bucket"; /hubs/0/problems/0/severity="high"
        /hubs/0/problems/0/fix={"text": null, "command": null, "url": null}
        /hubs/0/error=null; /hubs/0/error/kind="bad"; /hubs/0/error/hints/0="a text"; /hubs/0/error/done=null
        /hubs/0/error={"kind": "failed", "message": "m", "notes": [], "hints": [], "done": 1}"#;
    for edit in edits.lines().skip(1).flat_map(|line| line.trim().split("; ")) {
        let (at, wrong) = edit.split_once('=').unwrap();
        let mut document = document.clone();
        *document.pointer_mut(at).unwrap() = serde_json::from_str(wrong).unwrap();
        assert!(objection(&document).is_some(), "{edit} is taken");
    }
}
