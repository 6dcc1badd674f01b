//! Which modules of the source may name which, and that no files name each other in a cycle. Comments do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Each module, and the modules that it may name besides itself and `error`. A module missing here fails the test.
const ARROWS: &str = "
    error:
    model:
    iam: model
    message: iam model
    plan: iam message model
    cloud: model plan
    wire: model
    aws: cloud dead_letters drill events iam model plan wire
    apply: cloud model plan
    survey: cloud model probe
    probe: cloud model
    dead_letters: model
    drill: cloud events model plan
    events: model
    export: model
    reconcile: dead_letters discover iam message model plan survey
    discover: iam model survey
    ui: apply dead_letters discover drill events message model plan reconcile
    cli: apply aws dead_letters discover drill events export iam message model package plan probe reconcile sandbox survey ui wire
    package: model
    router: model wire
    sandbox:
    lib:
    main: cli ui
    bin: router
";

/// Modules that do nothing but compute, and words that they must not contain.
const PURE: (&str, [&str; 3]) = ("discover export iam message model plan reconcile", ["async", "await", "tokio"]);

/// The modules that may name an SDK of AWS. The test of the EC2 client uses credentials from the SQS crate.
const SDKS: [(&str, &str); 2] = [("aws_sdk_sqs", "aws router wire"), ("aws_sdk_", "aws")];

#[test]
fn modules_name_only_what_they_may() {
    let files = sources();
    let found: Vec<String> = files.iter().flat_map(|(module, text)| violations(module, text)).collect();
    assert!(!files.is_empty() && found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn files_name_each_other_in_no_circle() {
    assert_eq!(circles(sources()), BTreeMap::new());
}

#[test]
fn violations_are_found() {
    for (module, text, expected) in [
        ("plan/check", "use crate::model::resource::Desired;", &[] as &[&str]),
        ("plan/check", "use crate::{model::inventory, aws, error::Error};", &["names aws"]),
        ("plan/check", "use crate::{\n    model::{self, tags as x},\n    ui::{a, b::{c}},\n};", &["names ui"]),
        (
            "plan/check",
            "fn f(x: &crate::cli::Args, y: $crate::aws::X::<crate::ui::Y>) {}",
            &["names aws", "names cli", "names ui"],
        ),
        ("plan/check", "use super::super::apply::Event; use super::order;", &["names apply"]),
        ("plan", "use super::{model::*, apply};", &["names apply"]),
        ("cloud", "// use crate::aws;\n/// [`crate::ui`]\npub(super) fn g() {}", &[]),
        ("model/name", "pub async fn f() {} // await", &["says async"]),
        ("plan", "use aws_sdk_sqs::Client;", &["says aws_sdk_sqs"]),
        ("router/deliver", "use aws_sdk_sqs::Client; use crate::cloud::Cloud;", &["names cloud"]),
        ("router/deliver", "use aws_sdk_iam::Client;", &["says aws_sdk_iam"]),
        ("main", "fn main() { kibus::cli::run() }", &[]),
        ("bin/kibus-router", "use kibus::{aws, router};", &["names aws"]),
        ("helpers", "", &["is not in the table of modules"]),
    ] {
        let expected: Vec<_> = expected.iter().map(|what| format!("{module} {what}")).collect();
        assert_eq!(violations(module, &without_comments(text)), expected, "{text}");
    }
}

#[test]
fn circles_are_found() {
    for (texts, expected) in [
        ([("a", "use super::b;"), ("b", "use super::a::X;"), ("c", "")], &["a", "b"][..]),
        ([("a", "use crate::{c, b::X};"), ("b", "fn f() { super::c::g() }"), ("c", "use super::a;")], &["a", "b", "c"]),
        ([("a", "use super::b;"), ("b", ""), ("c", "use super::{a, b};")], &[]),
        // A module may name what it contains, and that may name the module.
        ([("a", "use self::b::X; use super::c;"), ("a/b", "use super::Y;"), ("c", "use super::a::b::X;")], &[]),
        ([("a", "use super::c;"), ("a/b", ""), ("c", "use crate::a::Y;")], &["a", "c"]),
        ([("a", "use super::b;"), ("b", "#[cfg(test)] mod tests { use super::super::a; }"), ("c", "")], &[]),
        ([("a", "#[cfg(test)]\nmod b;"), ("a/b", "use crate::c;"), ("c", "use crate::a::b;")], &[]),
    ] {
        let found = circles(texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect());
        assert_eq!(Vec::from_iter(found.keys()), expected, "{texts:?}");
    }
}

/// What a module may not name, in the code of one of its files.
fn violations(module: &str, code: &str) -> Vec<String> {
    let arrows = ARROWS.lines().filter_map(|line| line.trim().split_once(':'));
    let arrows: BTreeMap<_, Vec<_>> = arrows.map(|(from, to)| (from, to.split(' ').collect())).collect();
    let top = first(module);
    let Some(may) = arrows.get(top) else { return vec![format!("{module} is not in the table of modules")] };
    let paths = paths(module, code);
    let named: BTreeSet<_> = paths.iter().map(|path| first(path)).filter(|name| arrows.contains_key(name)).collect();
    let named = named.into_iter().filter(|name| *name != top && *name != "error" && !may.contains(name));
    let words: BTreeSet<_> = code.split(|c| !is_word(c)).collect();
    let is_of = |modules: &str| modules.split(' ').any(|module| module == top);
    let said = words.into_iter().filter(|word| {
        let sdk = SDKS.iter().find(|(sdk, _)| word.starts_with(sdk));
        sdk.is_some_and(|(_, by)| !is_of(by)) || is_of(PURE.0) && PURE.1.contains(word)
    });
    named.map(|name| format!("{module} names {name}")).chain(said.map(|word| format!("{module} says {word}"))).collect()
}

/// The non-test files that name each other in cycles, or are between cycles, with the files that they name.
fn circles(mut sources: BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let mut tests = Vec::new();
    for (module, code) in &mut sources {
        for (at, mark) in code.clone().match_indices("#[cfg(test)]") {
            let rest = code.get(at + mark.len()..).unwrap_or_default();
            let end = rest.find([';', '{']).unwrap_or(rest.len());
            if let Some((_, name)) = rest[..end].rsplit_once("mod ") {
                tests.push(format!("{module}/{}", name.trim()));
                if rest[end..].starts_with('{') {
                    code.truncate(at);
                }
            }
        }
    }
    sources.retain(|module, _| !tests.iter().any(|test| is_within(module, test)));
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, code) in &sources {
        let paths = paths(module, code);
        let of = |path: &String| sources.keys().filter(|to| is_within(path, to)).max_by_key(|to| to.len());
        let to = paths.iter().filter_map(of).filter(|to| !is_within(module, to) && !is_within(to, module));
        named.insert(module.clone(), to.cloned().collect());
    }
    // A file that names nothing, or no remaining file, is in no cycle.
    while let Some(done) = named.iter().find(|(_, to)| to.is_empty()).map(|(module, _)| module.clone()) {
        named.remove(&done);
        for to in named.values_mut() {
            to.remove(&done);
        }
    }
    named
}

/// Whether a module or a path is this module, or inside it.
fn is_within(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The paths in a module that begin with `crate`, `super` or, in a binary, `kibus`: from the root, with `/` between their parts.
fn paths(module: &str, code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (begin, from) in [("crate::", ""), ("super::", module), ("kibus::", "")] {
        for (at, _) in code.match_indices(begin).filter(|(at, _)| !code[..*at].ends_with(|c| is_word(c) || c == ':')) {
            follow(&code[at..], from.to_owned(), &mut found);
        }
    }
    found
}

/// Follows a path, into each part of a group. Returns what comes after it.
fn follow<'a>(mut code: &'a str, mut path: String, found: &mut BTreeSet<String>) -> &'a str {
    loop {
        if let Some(group) = code.strip_prefix('{') {
            code = group.trim_start();
            while !code.starts_with('}') && !code.is_empty() {
                // Another name for a part does not count.
                code = follow(code, path.clone(), found).trim_start_matches(|c| c != ',' && c != '}');
                code = code.trim_start_matches(',').trim_start();
            }
            return code.get(1..).unwrap_or_default();
        }
        let (name, rest) = code.split_at(code.find(|c| !is_word(c)).unwrap_or(code.len()));
        match name {
            "super" => path.truncate(path.rfind('/').unwrap_or(0)),
            "" | "crate" | "kibus" | "self" => {}
            name if path.is_empty() => path.push_str(name),
            name => path = format!("{path}/{name}"),
        }
        let Some(next) = rest.strip_prefix("::") else {
            found.insert(path);
            return rest;
        };
        code = next;
    }
}

fn first(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The code of each file of the source, by its module.
fn sources() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut open, mut found) = (vec![root.clone()], BTreeMap::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let module = path.strip_prefix(&root).unwrap().with_extension("").to_str().unwrap().to_owned();
            found.insert(module, without_comments(&fs::read_to_string(&path).unwrap()));
        }
    }
    found
}
