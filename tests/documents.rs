//! Every command with JSON output: one document that matches the schema, or a usage error.

use std::collections::BTreeSet;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::stage::Stage;

/// Each command, and the members that its document has besides those of every document. `error` is one of them if the
/// command fails here; a command without members has no JSON output.
const COMMANDS: &[(&str, &[&str])] = &[
    ("bootstrap-hub --dry-run", &["/hubs/0/changes/0"]),
    ("add-cluster base", &["/hubs/0/error"]),
    ("remove-cluster base", &["/hubs/0/error"]),
    ("verify", &["/hubs/0/error"]),
    ("status", &["/hubs/0/error"]),
    ("list", &["/hubs"]),
    ("discover", &["/hubs/0/discovery/rule_limit"]),
    ("events", &["/hubs/0/error"]),
    ("dead-letters", &["/hubs/0/error"]),
    ("drill base", &["/hubs/0/error"]),
    ("rollback", &["/hubs/0/error"]),
    ("teardown", &["/hubs/0/changes"]),
    ("explain K203", &["/explanations/0/text"]),
    ("explain", &["/explanations/0/title"]),
    ("export cluster base", &["/hubs/0/error"]),
    ("export hub", &["/hubs/0/error"]),
    ("policy operator", &["/hubs/0/policy/Statement"]),
    ("policy router", &["/hubs/0/policy/Statement"]),
    ("policy controller base", &["/hubs/0/policy/Statement"]),
    ("sandbox up", &[]),
    ("sandbox env", &["/error"]),
    ("sandbox send spot base", &[]),
    ("sandbox demo", &[]),
    ("completions bash", &[]),
    ("version", &["/build/commit", "/build/embedded_routers"]),
];

fn objection(document: &Value) -> Option<String> {
    let schema = serde_json::from_str(include_str!("../docs/plan.schema.json")).unwrap();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("plan.schema.json", schema).unwrap();
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile("plan.schema.json", &mut schemas).unwrap();
    schemas.validate(document, index).err().map(|e| e.to_string())
}

/// Checks what a command wrote, and returns its document.
fn document(line: &str, output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let document = serde_json::from_str(&text);
    let document =
        document.unwrap_or_else(|e| panic!("{line}: {e}: {text}{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(objection(&document), None, "{line}: {text}");
    document
}

#[tokio::test]
async fn every_command_writes_one_document_or_is_refused() {
    let stage = Stage::new().await;
    let home = TempDir::new().unwrap();
    for (line, members) in COMMANDS {
        let mut command = stage.kibus(line);
        command.args(["--output", "json"]).env("KIBUS_SANDBOX_HOME", home.path());
        let output = command.output().unwrap();
        if members.is_empty() {
            assert_eq!((output.status.code(), output.stdout.len()), (Some(64), 0), "{line}");
            continue;
        }
        let document = document(line, &output);
        for member in *members {
            assert!(document.pointer(member).is_some(), "{line}: no {member} in {document}");
        }
        let failed = members.iter().any(|member| member.ends_with("error"));
        assert_eq!(output.status.code(), Some(i32::from(failed)), "{line}: {document}");
    }
}

#[test]
fn the_table_has_every_command() {
    let page = include_str!("../docs/command-line.md");
    let names: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("## kibus ")).collect();
    let begins = |line: &str, name: &str| format!("{line} ").starts_with(&format!("{name} "));
    let name = |line: &str| {
        let found = names.iter().filter(|name| begins(line, name));
        found.max_by_key(|name| name.len()).copied()
    };
    let tested: BTreeSet<&str> = COMMANDS.iter().filter_map(|(line, _)| name(line)).collect();
    let groups = BTreeSet::from(["export", "policy", "sandbox"]);
    let untested: Vec<&&str> = names.iter().filter(|name| !tested.contains(*name) && !groups.contains(*name)).collect();
    assert_eq!(untested, Vec::<&&str>::new());
}
