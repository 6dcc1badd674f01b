//! Retired words stay out of everything that a person reads: documentation, output, comments, and names in code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What is read, below the package's root. A folder is read with all that is in it.
const ROOTS: &[&str] =
    &["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs", "src", "templates", "tests"];

/// What is not read: this test, and what a build leaves.
const SKIPPED: &[&str] = &["tests/words.rs", "tests/words", "tests/bench/target", "tests/fuzz/target"];

/// An entry of `retired.list`: a word or phrase, and a file or folder that may have it, if any.
struct Entry<'a> {
    phrase: &'a str,
    allowed: Option<&'a str>,
}

#[test]
fn no_retired_word_is_back() {
    let mut files = Vec::new();
    for root in ROOTS {
        read_below(Path::new(env!("CARGO_MANIFEST_DIR")), root, &mut files);
    }
    let entries = entries(include_str!("words/retired.list"));
    let mut found = Vec::new();
    let mut unused: BTreeSet<(&str, &str)> =
        entries.iter().filter_map(|entry| Some((entry.phrase, entry.allowed?))).collect();
    for (path, text) in &files {
        for (line, phrase) in retired(text, &entries) {
            let allowing = entries.iter().filter(|entry| entry.phrase == phrase);
            let mut allowing = allowing.filter_map(|entry| entry.allowed.filter(|allowed| is_in(path, allowed)));
            match allowing.next() {
                Some(allowed) => drop(unused.remove(&(phrase, allowed))),
                None => found.push(format!("{path}:{line}: {phrase}")),
            }
        }
    }
    assert!(found.is_empty(), "retired words:\n{}", found.join("\n"));
    assert!(unused.is_empty(), "exceptions that no file needs: {unused:?}");
}

#[test]
fn a_retired_word_is_found_in_any_form() {
    let entries = entries("# comment\nmend\nas it should be\nnobody's\nin hand | a.md | reason\n");
    for (text, expected) in [
        ("It is fixed.", &[] as &[(usize, &str)]),
        ("Mended, amend, mended_by", &[]),
        ("one\nMend it", &[(2, "mend")]),
        ("fn mend_queue() {}", &[(1, "mend")]),
        ("enum MendAction", &[(1, "mend")]),
        ("\"mend\": null", &[(1, "mend")]),
        ("all is as it\n    /// should be now", &[(1, "as it should be")]),
        ("as_it_should_be", &[(1, "as it should be")]),
        ("as it. Should be", &[]),
        ("that is nobody's", &[(1, "nobody's")]),
        ("in hand", &[(1, "in hand")]),
        ("mend mend\nmend", &[(1, "mend"), (1, "mend"), (2, "mend")]),
    ] {
        assert_eq!(retired(text, &entries), expected, "{text}");
    }
}

/// Whether a path is this file, or in this folder.
fn is_in(path: &str, allowed: &str) -> bool {
    path.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn entries(list: &str) -> Vec<Entry<'_>> {
    list.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| match line.split(" | ").collect::<Vec<_>>()[..] {
            [phrase] => Entry { phrase, allowed: None },
            [phrase, path, _reason] => Entry { phrase, allowed: Some(path) },
            _ => panic!("`{line}` is neither `WORDS` nor `WORDS | PATH | REASON`"),
        })
        .collect()
}

/// Every retired phrase in a text, with the line where it begins, in the order of the text.
fn retired<'a>(text: &str, entries: &[Entry<'a>]) -> Vec<(usize, &'a str)> {
    let spoken = words(text);
    let mut phrases: BTreeMap<String, BTreeMap<&str, Vec<String>>> = BTreeMap::new();
    for Entry { phrase, .. } in entries {
        let mut words = words(phrase).into_iter().map(|(word, _)| word);
        if let Some(first) = words.next() {
            phrases.entry(first).or_default().insert(phrase, words.collect());
        }
    }
    let mut found = Vec::new();
    for (at, (word, line)) in spoken.iter().enumerate() {
        for (phrase, rest) in phrases.get(word).into_iter().flatten() {
            let after = spoken[at + 1..].iter().map(|(word, _)| word);
            if after.take(rest.len()).eq(rest) {
                found.push((*line, *phrase));
            }
        }
    }
    found
}

/// The words of a text in lower case, each with its line. A mark that ends a clause is a word of its own, so that no
/// phrase reaches over it. Names in code fall into their words.
fn words(text: &str) -> Vec<(String, usize)> {
    let mut words = Vec::new();
    let mut word = String::new();
    for (line, content) in (1..).zip(text.lines()) {
        let mut before = ' ';
        for c in content.chars().chain([' ']) {
            let begins = before.is_ascii_lowercase() && c.is_ascii_uppercase();
            if (begins || !c.is_alphanumeric()) && !word.is_empty() {
                words.push((std::mem::take(&mut word), line));
            }
            if c.is_alphanumeric() {
                word.extend(c.to_lowercase());
            } else if ".,;:!?|()".contains(c) {
                words.push((c.to_string(), line));
            }
            before = c;
        }
    }
    words
}

/// The text files at or below a path, by their paths from the package's root.
fn read_below(package: &Path, path: &str, files: &mut Vec<(String, String)>) {
    if SKIPPED.contains(&path) {
        return;
    }
    let full = package.join(path);
    if full.is_dir() {
        let mut names: Vec<String> =
            fs::read_dir(&full).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        for name in names {
            read_below(package, &format!("{path}/{name}"), files);
        }
    } else if let Ok(text) = String::from_utf8(fs::read(&full).unwrap()) {
        files.push((path.to_owned(), text));
    }
}
