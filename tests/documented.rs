//! Every public item has a comment. The lint `missing_docs` asks the same of each field and variant, and then many comments
//! only repeat a name.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_public_item_has_a_comment() {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.extend(without_comment(&path));
        }
    }
    assert!(found.is_empty(), "no comment:\n{}", found.join("\n"));
}

#[test]
fn an_item_without_a_comment_is_found() {
    for (text, lines) in [
        ("/// X.\npub struct X {\n    pub a: u8,\n}\n\npub fn f() {}", &[6][..]),
        (
            "/// X.\n#[error(\"{}\", match .x {\n    x => \"y\",\n})]\npub enum X {\n    A,\n}",
            &[],
        ),
        (
            "impl X {\n    #[must_use]\n    pub const fn f() {}\n    /// G.\n    pub async fn g() {}\n}",
            &[3],
        ),
        (
            "$(#[$doc])*\npub enum $name {}\npub use x::Y;\npub mod z;\npub(crate) fn h() {}",
            &[],
        ),
    ] {
        assert_eq!(undocumented(text), lines, "{text}");
    }
}

fn without_comment(path: &PathBuf) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let lines = undocumented(&text).into_iter();
    lines.map(|line| format!("{}:{line}", path.display())).collect()
}

/// The lines, from 1, of public items without a comment.
fn undocumented(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_undocumented = |at: &usize| {
        let above = lines[..*at].iter().rev();
        // Only attributes are between an item and its comment.
        let mut above =
            above.take_while(|line| !line.is_empty() && (line.starts_with("#[") || !line.ends_with(['{', '}'])));
        is_item(lines[*at]) && !above.any(|line| ["///", "#[doc", "$(#[$"].iter().any(|doc| line.starts_with(doc)))
    };
    (0..lines.len()).filter(is_undocumented).map(|at| at + 1).collect()
}

fn is_item(line: &str) -> bool {
    const KINDS: [&str; 8] = ["async", "const", "enum", "fn", "static", "struct", "trait", "type"];
    let item = line
        .strip_prefix("pub ")
        .and_then(|rest| rest.split_whitespace().next());
    item.is_some_and(|kind| KINDS.contains(&kind))
}
