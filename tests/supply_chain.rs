//! What the lock file brings into the build, against `deny.toml`: licenses, bans and sources. And the actions of workflows.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The text values of a list in `deny.toml`, without its comments.
fn listed(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("deny.toml")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let text = lines.join("\n");
    let (_, list) = text.split_once(&format!("\n{name} = [")).unwrap_or_else(|| panic!("no list {name}"));
    let (list, _) = list.split_once(']').unwrap();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The packages of the lock file for this platform. They are there, since this test was built with them.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform"])
        .arg(env!("KIBUS_TARGET"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// The name and the source of each package of the lock file, for all platforms.
fn locked() -> Vec<(String, Option<String>)> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock")).unwrap();
    let value = |package: &str, name: &str| {
        let value = package.lines().find_map(|line| line.strip_prefix(&format!("{name} = "))?.strip_prefix('"'));
        value.map(|value| value.trim_end_matches('"').to_owned())
    };
    let packages: Vec<_> = text.split("[[package]]").skip(1).collect();
    assert!(packages.len() > 100, "the lock file was not understood");
    let read = |package: &&str| (value(package, "name").unwrap(), value(package, "source"));
    packages.iter().map(read).collect()
}

/// Whether these licenses allow what a package requires: an SPDX expression, in which `/` is an older way to write `OR`.
fn allows(allowed: &[String], expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut words = words.as_slice();
    any(allowed, &mut words) && words.is_empty()
}

fn any(allowed: &[String], words: &mut &[&str]) -> bool {
    let mut fits = all(allowed, words);
    while let Some(("OR", rest)) = words.split_first().map(|(word, rest)| (*word, rest)) {
        *words = rest;
        fits |= all(allowed, words);
    }
    fits
}

fn all(allowed: &[String], words: &mut &[&str]) -> bool {
    let mut fits = one(allowed, words);
    while let Some(("AND", rest)) = words.split_first().map(|(word, rest)| (*word, rest)) {
        *words = rest;
        fits &= one(allowed, words);
    }
    fits
}

fn one(allowed: &[String], words: &mut &[&str]) -> bool {
    let Some((word, rest)) = words.split_first() else {
        return false;
    };
    *words = rest;
    if *word == "(" {
        let fits = any(allowed, words);
        return fits && words.split_off_first() == Some(&")");
    }
    // A license with an exception is another license.
    if words.first() == Some(&"WITH") {
        *words = words.get(2..).unwrap_or_default();
        return false;
    }
    allowed.iter().any(|license| license == word)
}

#[test]
fn every_license_is_allowed() {
    let allowed = listed("allow");
    for package in packages() {
        let license = package["license"].as_str().unwrap_or("none");
        assert!(allows(&allowed, license), "{} is licensed under {license}", package["name"]);
    }
}

#[test]
fn nothing_is_banned() {
    let banned = listed("deny");
    for (name, _) in locked() {
        assert!(!banned.contains(&name), "{name} is banned");
    }
}

#[test]
fn everything_is_from_an_allowed_registry() {
    let allowed: Vec<String> = listed("allow-registry").iter().map(|url| format!("registry+{url}")).collect();
    for (name, source) in locked() {
        match source {
            None => assert!(["kibus", "kibus-harness"].contains(&name.as_str()), "{name} is a path"),
            Some(source) => assert!(allowed.contains(&source), "{name} is from {source}"),
        }
    }
}

/// `wildcards` in `deny.toml`.
#[test]
fn no_version_is_a_wildcard() {
    let packages = packages();
    let kibus = packages.iter().find(|package| package["name"] == "kibus").unwrap();
    // A path of this repository has no version.
    let dependencies = kibus["dependencies"].as_array().unwrap().iter().filter(|one| one["path"].is_null());
    for dependency in dependencies {
        assert_ne!(dependency["req"], "*", "{}", dependency["name"]);
    }
}

/// A tag of an action can move to another commit.
#[test]
fn every_action_is_pinned_to_a_commit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows");
    let mut found = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for action in text.lines().filter_map(|line| line.split_once("uses: ")) {
            let commit = action.1.split_once('@').map_or("", |(_, version)| version);
            let commit = commit.split(' ').next().unwrap_or_default();
            let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_commit, "{}: {}", path.display(), action.1);
            found += 1;
        }
    }
    assert!(found > 10, "{found} actions");
}

/// This test knows no exemption, so with one it would forbid other packages than `cargo deny`.
#[test]
fn nothing_is_exempt() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("deny.toml")).unwrap();
    for exemption in ["exceptions", "ignore", "skip", "clarify", "wrappers", "allow-org", "private"] {
        assert!(!text.contains(exemption), "{exemption}");
    }
}

#[test]
fn expressions_are_read_as_spdx_defines_them() {
    let allowed = ["MIT".to_owned(), "ISC".to_owned()];
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT OR GPL-3.0", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("MIT AND ISC", true),
        ("GPL-3.0 AND MIT OR ISC", true),
        ("GPL-3.0 AND (MIT OR ISC)", false),
        ("(MIT OR GPL-3.0) AND ISC", true),
        ("MIT WITH x", false),
        ("GPL-3.0 WITH x OR MIT", true),
        ("MIT MIT", false),
        ("(MIT", false),
        ("none", false),
        ("", false),
    ] {
        assert_eq!(allows(&allowed, expression), expected, "{expression}");
    }
}
