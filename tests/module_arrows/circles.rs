//! Checks that no files name each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{read_all, tokens};

/// Files that name each other in a circle. A module may name what it contains, and that may name the module.
const CIRCLES: &[&[&str]] = &[];

#[test]
fn files_name_each_other_in_no_circle() {
    let mut files = Vec::new();
    read_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut files);
    assert_eq!(circles(&files), CIRCLES);
}

#[test]
fn circles_are_found() {
    for (texts, expected) in [
        ([("a", "use super::b;"), ("b", "use super::a::X;"), ("c", "")], &[&["a", "b"][..]] as &[&[&str]]),
        (
            [("a", "use crate::{c, b::X};"), ("b", "fn f() { super::c::g() }"), ("c", "use super::a;")],
            &[&["a", "b", "c"]],
        ),
        ([("a", "use super::b;"), ("b", ""), ("c", "use super::{a, b};")], &[]),
        ([("a/mod", "use self::b::X; use super::c;"), ("a/b", "use super::Y;"), ("c", "use super::a::b::X;")], &[]),
        ([("a/mod", "use super::c;"), ("a/b", ""), ("c", "use crate::a::Y;")], &[&["a", "c"]]),
        ([("a", "use super::b;"), ("b", "#[cfg(test)] mod tests { use super::super::a; }"), ("c", "")], &[]),
        ([("a", "#[cfg(test)]\nmod b;"), ("a/b", "use crate::c;"), ("c", "use crate::a::b;")], &[]),
    ] {
        let files: Vec<_> = texts.iter().map(|(name, text)| (format!("{name}.rs"), (*text).to_owned())).collect();
        assert_eq!(circles(&files), expected, "{texts:?}");
    }
}

/// The circles among files that are not tests, by their modules.
fn circles(files: &[(String, String)]) -> Vec<Vec<String>> {
    let module = |path: &str| {
        let module = path.trim_end_matches(".rs");
        module.strip_suffix("/mod").unwrap_or(module).to_owned()
    };
    let mut sources: BTreeMap<String, Vec<String>> =
        files.iter().map(|(path, text)| (module(path), tokens(text))).collect();
    let of_tests = |(name, tokens): (&String, &Vec<String>)| -> Vec<String> {
        test_modules(tokens).iter().map(|(_, test, _)| format!("{name}/{test}")).collect()
    };
    let tests: Vec<String> = sources.iter().flat_map(of_tests).collect();
    sources.retain(|name, _| !tests.iter().any(|test| is_within(name, test)));
    let named: BTreeMap<&String, BTreeSet<&String>> = sources
        .iter()
        .map(|(name, tokens)| {
            let paths = paths(name, tokens).into_iter();
            let targets =
                paths.filter_map(|path| sources.keys().filter(|to| is_within(&path, to)).max_by_key(|to| to.len()));
            (name, targets.filter(|to| !is_within(name, to) && !is_within(to, name)).collect())
        })
        .collect();
    let reached = |from: &String| {
        let mut reached = named[from].clone();
        let mut open: Vec<&String> = reached.iter().copied().collect();
        while let Some(next) = open.pop() {
            open.extend(named[next].iter().copied().filter(|to| reached.insert(*to)));
        }
        reached
    };
    let all: BTreeMap<&String, BTreeSet<&String>> = sources.keys().map(|name| (name, reached(name))).collect();
    let circle = |name: &&String| {
        let circle: Vec<String> =
            all[*name].iter().filter(|to| all[**to].contains(*name)).map(|to| (*to).clone()).collect();
        (!circle.is_empty()).then_some(circle)
    };
    let found: BTreeSet<Vec<String>> = sources.keys().filter_map(|name| circle(&name)).collect();
    found.into_iter().collect()
}

/// Whether a module or a path is this module, or inside it.
fn is_within(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

const OF_TESTS: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

/// The modules that a file declares for tests only: where, their names, and whether they are in the file itself.
fn test_modules(tokens: &[String]) -> Vec<(usize, &str, bool)> {
    let marks = tokens.windows(OF_TESTS.len()).enumerate().filter(|(_, window)| *window == OF_TESTS);
    let declared = marks.filter_map(|(at, _)| {
        let rest = tokens.get(at + OF_TESTS.len()..)?;
        let place =
            rest.iter().take_while(|token| !["use", ";"].contains(&token.as_str())).position(|token| token == "mod")?;
        Some((at, rest.get(place + 1)?.as_str(), rest.get(place + 2)? == "{"))
    });
    declared.collect()
}

/// The paths in a module that begin with `crate` or `super`, from the root, with `/` between their parts. Tests in the same
/// file, which are at its end, do not count.
fn paths(module: &str, tokens: &[String]) -> Vec<String> {
    let end = test_modules(tokens).into_iter().find(|(_, _, is_inside)| *is_inside);
    let tokens = &tokens[..end.map_or(tokens.len(), |(at, ..)| at)];
    let mut found = Vec::new();
    for (at, first) in tokens.iter().enumerate() {
        let begins = at == 0 || tokens[at - 1] != "::";
        match first.as_str() {
            "crate" if begins => drop(follow(tokens, at + 1, String::new(), &mut found)),
            "super" if begins => drop(follow(tokens, at, format!("/{module}"), &mut found)),
            _ => {}
        }
    }
    found.iter().map(|path| path.trim_start_matches('/').to_owned()).collect()
}

/// Follows a path from a token, into each part of a group. Gives the place after it.
fn follow(tokens: &[String], mut at: usize, mut path: String, found: &mut Vec<String>) -> usize {
    while let Some(token) = tokens.get(at) {
        let begins = at == 0 || !tokens[at - 1].chars().all(is_word);
        match token.as_str() {
            "::" => {}
            "super" => path.truncate(path.rfind('/').unwrap_or(0)),
            "{" if tokens[at - 1] == "::" => {
                at += 1;
                while let Some(token) = tokens.get(at).filter(|token| *token != "}") {
                    at = match token.as_str() {
                        "," => at + 1,
                        "as" => at + 2,
                        _ => follow(tokens, at, path.clone(), found).max(at + 1),
                    };
                }
                return at + 1;
            }
            name if begins && name.chars().all(is_word) => path = format!("{path}/{name}"),
            _ => break,
        }
        at += 1;
    }
    found.push(path);
    at
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
