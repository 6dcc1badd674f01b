//! Checks in the source which module names which, against the allowed dependencies.

mod circles;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const ALL: &[&str] = &[
    "apply",
    "aws",
    "cli",
    "cloud",
    "dead_letters",
    "discover",
    "drill",
    "events",
    "export",
    "iam",
    "message",
    "model",
    "package",
    "plan",
    "probe",
    "reconcile",
    "router",
    "sandbox",
    "survey",
    "ui",
    "wire",
];
/// The stages, and the rooms beside them. What reads, writes and probes through `cloud` is in one of these.
const STAGES: &[&str] = &[
    "apply",
    "aws",
    "dead_letters",
    "discover",
    "drill",
    "events",
    "export",
    "iam",
    "message",
    "model",
    "package",
    "plan",
    "probe",
    "reconcile",
    "sandbox",
    "survey",
    "ui",
    "wire",
];

/// Each module, and the modules that it may name besides itself and `error`. A module missing here fails the test.
const ARROWS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("model", &[]),
    ("iam", &["model"]),
    ("message", &["iam", "model"]),
    ("plan", &["iam", "message", "model"]),
    ("cloud", &["model", "plan"]),
    ("wire", &["model"]),
    ("aws", &["cloud", "dead_letters", "drill", "events", "iam", "model", "plan", "wire"]),
    ("apply", &["cloud", "model", "plan"]),
    ("survey", &["cloud", "model", "probe"]),
    ("probe", &["cloud", "model"]),
    ("dead_letters", &["model"]),
    ("drill", &["cloud", "events", "model", "plan"]),
    ("events", &["model"]),
    ("export", &["model"]),
    ("reconcile", &["dead_letters", "discover", "iam", "message", "model", "plan", "survey"]),
    ("discover", &["iam", "model", "survey"]),
    ("ui", &["apply", "dead_letters", "discover", "drill", "events", "message", "model", "plan", "reconcile"]),
    ("cli", STAGES),
    ("package", &["model"]),
    ("router", &["model", "wire"]),
    ("sandbox", &[]),
    ("lib", ALL),
    ("main", &["cli", "ui"]),
    ("bin", &["router"]),
];

/// Words that only some modules may contain. Only `aws` names any other SDK.
const WORDS: &[(&str, &[&str])] = &[
    // The test of the EC2 client takes its credentials from here.
    ("aws_sdk_sqs", &["aws", "router", "wire"]),
    ("print!", &["ui", "main"]),
    ("println!", &["ui", "main"]),
    ("eprint!", &["ui", "main"]),
    ("eprintln!", &["ui", "main"]),
];

/// Pure modules, and the words that they must not contain.
const PURE: (&[&str], &[&str]) =
    (&["discover", "export", "iam", "message", "model", "plan", "reconcile"], &["async", "await", "tokio"]);

#[test]
fn modules_name_only_what_they_may() {
    let mut files = Vec::new();
    read_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut files);
    assert!(!files.is_empty(), "no source files found");
    let found: Vec<String> = files.iter().flat_map(|(path, text)| violations(path, text)).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn violations_are_found() {
    for (path, text, expected) in [
        ("plan/check.rs", "use crate::model::resource::Desired;", &[] as &[&str]),
        ("plan/check.rs", "use crate::cloud::Cloud;", &["plan names cloud"]),
        ("plan/check.rs", "use crate::{model::inventory, aws, error::Error};", &["plan names aws"]),
        ("plan/check.rs", "use crate::{\n    model::{self, tags},\n    ui::{a, b::{c}},\n};", &["plan names ui"]),
        ("plan/check.rs", "fn f(x: &crate::cli::Args) {}", &["plan names cli"]),
        ("plan/check.rs", "use super::super::apply::Event;", &["plan names apply"]),
        ("plan.rs", "use super::{model, apply};", &["plan names apply"]),
        ("plan/check.rs", "use super::order;", &[]),
        ("plan/check.rs", "mod tests { use super::super::order; }", &[]),
        ("plan/check.rs", "mod tests { use super::super::super::cli; }", &["plan names cli"]),
        ("plan/check.rs", "fn f() { mod x { } } use super::super::ui;", &["plan names ui"]),
        ("cloud.rs", "use super::aws;", &["cloud names aws"]),
        ("aws/queue.rs", "pub(crate) fn f() {} pub(super) fn g() {}", &[]),
        ("model/name.rs", "// use crate::ui;\n/* crate::ui */ const X: &str = \"crate::ui \\\" crate::cli\";", &[]),
        (
            "model/name.rs",
            "const X: &str = r#\"crate::ui\"#; const Y: char = '\"'; use crate::ui;",
            &["model names ui"],
        ),
        ("model/name.rs", "fn f<'a>(x: &'a str) {} use crate::ui;", &["model names ui"]),
        ("model/name.rs", "pub async fn f() {}", &["model says async"]),
        ("plan.rs", "use tokio::sync::watch;", &["plan says tokio"]),
        ("plan.rs", "use aws_sdk_sqs::Client;", &["plan says aws_sdk_sqs"]),
        ("router/deliver.rs", "use aws_sdk_sqs::Client;", &[]),
        ("router/deliver.rs", "use crate::cloud::Cloud;", &["router names cloud"]),
        ("cli.rs", "use aws_sdk_iam::Client;", &["cli says aws_sdk_iam"]),
        ("cli.rs", "use crate::router::decode;", &["cli names router"]),
        ("cli/stages.rs", "use crate::cloud::Read;", &["cli names cloud"]),
        ("cli.rs", "println!(\"x\");", &["cli says println!"]),
        ("ui.rs", "println!(\"x\");", &[]),
        ("main.rs", "fn main() { kibus::cli::run() }", &[]),
        ("bin/kibus-router.rs", "use kibus::{aws, router};", &["bin names aws"]),
        ("helpers.rs", "", &["helpers is not in the table of modules"]),
        ("model/new.rs", "use crate::fleet;", &["model names fleet"]),
    ] {
        let found: Vec<String> =
            violations(path, text).iter().map(|v| v[v.find(": ").unwrap() + 2..].to_owned()).collect();
        assert_eq!(found, expected, "{path}: {text}");
    }
}

/// The violations in a file. The path is relative to `src`.
fn violations(path: &str, text: &str) -> Vec<String> {
    let module = path.split(['/', '.']).next().unwrap_or_default();
    let Some((_, may)) = ARROWS.iter().find(|(name, _)| *name == module) else {
        return vec![format!("src/{path}: {module} is not in the table of modules")];
    };
    let tokens = tokens(text);
    let names = named_modules(path, &tokens)
        .into_iter()
        .filter(|name| name != module && name != "error" && !may.contains(&name.as_str()))
        .map(|name| format!("src/{path}: {module} names {name}"));
    let says = words(&tokens)
        .into_iter()
        .filter(|word| {
            let by = WORDS.iter().find(|(reserved, _)| reserved == word).map(|(_, by)| *by);
            let sdk = word.starts_with("aws_sdk_").then_some(&["aws"][..]);
            let reserved = by.or(sdk).is_some_and(|by| !by.contains(&module));
            reserved || PURE.0.contains(&module) && PURE.1.contains(&word.as_str())
        })
        .map(|word| format!("src/{path}: {module} says {word}"));
    names.chain(says).collect()
}

/// Every word, macros with their `!`.
fn words(tokens: &[String]) -> BTreeSet<String> {
    let next = tokens.iter().skip(1).map(String::as_str).chain([""]);
    tokens.iter().zip(next).map(|(word, next)| if next == "!" { format!("{word}!") } else { word.clone() }).collect()
}

/// The top-level modules that paths in a file name.
fn named_modules(path: &str, tokens: &[String]) -> BTreeSet<String> {
    let binary = path == "main.rs" || path.starts_with("bin/");
    let parts = path.trim_end_matches(".rs").split('/');
    let depth = parts.filter(|part| !["mod", "lib", "main"].contains(part)).count();
    let mut inner: Vec<usize> = Vec::new();
    let mut braces = 0;
    let mut found = BTreeSet::new();
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    let mut at = 0;
    while at < tokens.len() {
        let starts_path = at == 0 || token(at - 1) != "::";
        match token(at) {
            "{" => {
                braces += 1;
                if at >= 2 && token(at - 2) == "mod" {
                    inner.push(braces);
                }
            }
            "}" => {
                inner.pop_if(|opened| *opened == braces);
                braces -= 1;
            }
            "crate" if starts_path => found.extend(heads(tokens, at + 1)),
            "kibus" if binary && starts_path => found.extend(heads(tokens, at + 1)),
            "super" if starts_path => {
                let mut up = 1;
                while token(at + 1) == "::" && token(at + 2) == "super" {
                    up += 1;
                    at += 2;
                }
                if up >= depth + inner.len() {
                    found.extend(heads(tokens, at + 1));
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The next segment of a path, or of each path of a group.
fn heads(tokens: &[String], mut at: usize) -> Vec<String> {
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    if token(at) != "::" {
        return Vec::new();
    }
    at += 1;
    if token(at) != "{" {
        return vec![token(at).to_owned()];
    }
    let mut found = Vec::new();
    let mut braces = 0;
    loop {
        match token(at) {
            "{" => braces += 1,
            "}" => braces -= 1,
            head if braces == 1 && ["{", ","].contains(&token(at - 1)) => found.push(head.to_owned()),
            _ => {}
        }
        if braces == 0 || at >= tokens.len() {
            return found;
        }
        at += 1;
    }
}

/// The tokens of a source file, without comments and string literals.
fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let raw = rest.strip_prefix('r').map(|raw| raw.len() - raw.trim_start_matches('#').len());
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(marks) = raw.filter(|marks| rest[1 + marks..].starts_with('"')) {
            let end = format!("\"{}", "#".repeat(marks));
            let begin = marks + 2;
            rest[begin..].find(&end).map_or(rest.len(), |at| begin + at + end.len())
        } else if first == '"' {
            quoted(rest, '"')
        } else if first == '\'' && (rest.starts_with("'\\") || rest.chars().nth(2) == Some('\'')) {
            quoted(rest, '\'')
        } else if first.is_alphanumeric() || first == '_' {
            let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let length = word.len();
            tokens.push(word);
            length
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of a quoted literal with its quotes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

fn read_all(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) {
    let entries: BTreeMap<String, _> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .collect();
    for (name, path) in entries {
        if path.is_dir() {
            read_all(&path, &format!("{prefix}{name}/"), files);
        } else if name.ends_with(".rs") {
            files.push((format!("{prefix}{name}"), fs::read_to_string(&path).unwrap()));
        }
    }
}
