//! What a name cannot say has a comment: what an implementation of a public trait must do, where a public constant comes from,
//! and which of two arguments of one type is which. The lint `missing_docs` asks for a comment on every public item, and then
//! many only repeat a name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn what_a_name_cannot_say_has_a_comment() {
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
        ("/// X.\npub trait X {\n    fn f();\n}\n\npub trait Y {}\n\npub struct Z;", &[6][..]),
        (
            "/// X.\n#[expect(dead_code, reason = \"x\")]\npub const X: u8 = 1;\n\npub static Y: u8 = 2;\npub const fn f() {}",
            &[5],
        ),
        (
            "impl X {\n    #[must_use]\n    pub const fn f(&self, a: [u8; 2]) {}\n    pub async fn g(\n        &mut self,\n        a: BTreeMap<u8, u8>,\n        b: BTreeMap<u8, u8>,\n    ) {}\n}",
            &[4],
        ),
        (
            "pub fn f(a: u8, b: u8) {}\npub fn g<T: Into<(u8, u8)>>(a: T, b: u8) {}\npub fn h(a: &[u8; 2], b: impl Fn(u8) -> u8) {}",
            &[1],
        ),
        ("$(#[$doc])*\npub trait $name {}\npub use x::Y;\npub mod z;\npub(crate) fn h(a: u8, b: u8) {}", &[]),
    ] {
        assert_eq!(undocumented(text), lines, "{text}");
    }
}

fn without_comment(path: &PathBuf) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let lines = undocumented(&text).into_iter();
    lines.map(|line| format!("{}:{line}", path.display())).collect()
}

/// The lines, from 1, of public items that need a comment and have none.
fn undocumented(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_undocumented = |at: &usize| {
        let above = lines[..*at].iter().rev();
        // Only attributes are between an item and its comment.
        let mut above =
            above.take_while(|line| !line.is_empty() && (line.starts_with("#[") || !line.ends_with(['{', '}'])));
        needs_comment(&lines[*at..])
            && !above.any(|line| ["///", "#[doc", "$(#[$"].iter().any(|doc| line.starts_with(doc)))
    };
    (0..lines.len()).filter(is_undocumented).map(|at| at + 1).collect()
}

/// Whether the item that begins on the first of these lines is a public trait or constant, or a public function with two
/// arguments of one type.
fn needs_comment(lines: &[&str]) -> bool {
    let Some(item) = lines[0].strip_prefix("pub ") else {
        return false;
    };
    let words: Vec<&str> = item.split_whitespace().take_while(|word| *word != "fn").collect();
    match words.first() {
        _ if item.split_whitespace().nth(words.len()) == Some("fn") => has_same_types(&lines.join(" ")),
        Some(kind) => ["const", "static", "trait"].contains(kind),
        None => false,
    }
}

fn has_same_types(function: &str) -> bool {
    let (mut depth, mut list) = (0, String::new());
    for c in function.replace("->", "").chars() {
        match c {
            '(' if depth == 0 => list.clear(),
            ')' if depth == 1 => break,
            ',' if depth == 1 => list.push('\n'),
            _ => list.push(c),
        }
        depth += i32::from("([<".contains(c)) - i32::from(")]>".contains(c));
    }
    let types: Vec<&str> =
        list.lines().filter_map(|argument| argument.split_once(": ")).map(|(_, of)| of.trim()).collect();
    types.iter().collect::<BTreeSet<_>>().len() < types.len()
}
