//! Every link between the documents leads to an existing file and heading.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The documents, from the package's root.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["", "docs", "docs/decisions", "tests"].map(|folder| root.join(folder));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "md")).collect()
}

/// The lines of a document outside of its code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        is_code ^= fence;
        !is_code && !fence
    })
}

/// The targets of the links in a line: the text between `](` and `)`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// The anchor that GitHub gives to a heading: lower case, without punctuation, with `-` for spaces.
fn anchor(heading: &str) -> String {
    let letters = heading.trim().chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => Some(letter.to_ascii_lowercase()),
        _ => None,
    });
    letters.collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// Why a link of this document leads nowhere, if it does.
fn problem(document: &Path, target: &str) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => document.to_owned(),
        _ => document.parent()?.join(file),
    };
    let exists = path.exists();
    let text = fs::read_to_string(&path).unwrap_or_default();
    let has_heading = heading.is_empty() || anchors(&text).contains(heading);
    (!exists || !has_heading).then(|| format!("{}: {target}", document.display()))
}

#[test]
fn every_link_leads_somewhere() {
    let documents = documents();
    assert!(documents.len() > 20, "the documents are found: {documents:?}");
    let problems: Vec<_> = documents
        .iter()
        .flat_map(|document| {
            let text = fs::read_to_string(document).unwrap();
            let lines = prose(&text);
            lines
                .flat_map(|line| targets(line).filter_map(|t| problem(document, t)).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(problems.is_empty(), "broken links:\n{}", problems.join("\n"));
}

#[test]
fn every_decision_is_listed_once_and_in_order() {
    let decisions = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/decisions");
    let names = fs::read_dir(&decisions).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != "README.md").collect();
    names.sort();
    // The number and the title of each, which its name repeats.
    let titled = (1..).zip(&names).map(|(number, name)| {
        let text = fs::read_to_string(decisions.join(name)).unwrap();
        let title =
            text.lines().next().and_then(|line| line.strip_prefix(&format!("# {number}. "))).unwrap_or_default();
        (format!("{number:04}-{}.md", anchor(title)), format!("- {number}: [{title}]({name})"))
    });
    let (expected, lines): (Vec<_>, Vec<_>) = titled.unzip();
    assert_eq!(names, expected);
    let index = fs::read_to_string(decisions.join("README.md")).unwrap();
    assert_eq!(index.lines().filter(|line| line.starts_with("- ")).collect::<Vec<_>>(), lines);
}

#[test]
fn a_broken_link_is_found() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    for (target, expected) in [
        ("docs/limits.md", false),
        ("docs/limits.md#names", false),
        ("#install", false),
        ("https://example.com/missing.md", false),
        ("docs/limits.md#no-such-heading", true),
        ("docs/no-such-file.md", true),
        ("#no-such-heading", true),
    ] {
        assert_eq!(problem(&document, target).is_some(), expected, "{target}");
    }
}
