//! How a file shows an output. Parts that are not shown are still checked: each form stands for exactly one output, and
//! a different output has a different form. Only the line breaks of JSON are lost; `% in full` shows them.
//!
//! - A JSON document: each part of it that fits on one line is on one line.
//! - Progress, if it covers exactly the changes of the preceding plan: `! 14 changes, each as planned`.
//! - Eight or more lines of one paragraph that were shown before, in the same file or in one of [`REFERENCES`], which
//!   contain whole plans and documents: the first line, `⋮ 12 lines as above` or `⋮ 12 lines as in teardown`, and the
//!   last.
//! - The exit code 0: not at all.

use super::directory;

/// Scenarios about whole plans and documents. None refers to another file.
const REFERENCES: [&str; 4] = ["first_hub", "clusters", "teardown", "policy"];

/// The maximum length of a line with joined parts of a document, in characters.
const WIDTH: usize = 120;

/// The minimum number of lines to shorten.
const LEAST: usize = 8;

/// The minimum number of changes whose progress is shortened.
const LEAST_CHANGES: usize = 3;

/// After the number of changes.
const AS_PLANNED: &str = " changes, each as planned";

/// What was shown so far in a scenario and in the references.
pub(super) struct Shown {
    above: Vec<String>,
    references: Vec<(&'static str, Vec<String>)>,
    /// Nothing is shortened.
    pub(super) is_whole: bool,
}

impl Shown {
    /// Nothing of this scenario.
    pub(super) fn nothing_of(scenario: &str) -> Self {
        let references = REFERENCES.iter().filter(|_| !REFERENCES.contains(&scenario));
        let references = references.map(|name| {
            let text = std::fs::read_to_string(directory().join(format!("{name}.txt"))).unwrap();
            (*name, text.lines().map(str::to_owned).collect())
        });
        Self { above: Vec::new(), references: references.collect(), is_whole: false }
    }

    /// The lines shown for an output: the shortest form that stands for it.
    pub(super) fn show(&mut self, output: &str, in_full: bool) -> String {
        let output: Vec<&str> = output.lines().filter(|line| *line != "exit 0").collect();
        let lines = laid_out(&output);
        let short = self.shortened(&without_progress(&lines));
        let shown = if in_full && !self.is_whole {
            output.join("\n")
        } else if self.is_whole || self.lengthened(&short) != lines {
            lines.join("\n")
        } else {
            short.join("\n")
        };
        self.add(lines);
        shown
    }

    /// The whole text of a scenario's file.
    pub(super) fn whole(mut self, text: &str) -> String {
        let mut whole = Vec::new();
        let mut output = Vec::new();
        for line in text.lines().chain(["#"]) {
            if !line.starts_with(['#', '$', '%']) {
                output.push(line);
                continue;
            }
            let lines = self.lengthened(&laid_out(&std::mem::take(&mut output)));
            whole.extend(lines.iter().cloned());
            whole.push(line.to_owned());
            self.add(lines);
        }
        whole.pop();
        whole.join("\n")
    }

    fn add(&mut self, lines: Vec<String>) {
        self.above.extend(lines);
        self.above.push(String::new());
    }

    /// The places where lines may have been shown, nearest first.
    fn places(&self) -> impl Iterator<Item = (String, &[String])> {
        let references = self.references.iter();
        let references = references.map(|(name, text)| (format!("in {name}"), text.as_slice()));
        std::iter::once(("above".to_owned(), self.above.as_slice())).chain(references)
    }

    fn shortened(&self, lines: &[String]) -> Vec<String> {
        let mut shown = Vec::new();
        let mut left = lines;
        while let Some(first) = left.first() {
            let repeated = self.places().map(|(place, text)| (repeated(left, text), place));
            // If several have the same length, the nearest one.
            let longest = repeated.reduce(|best, next| if next.0 > best.0 { next } else { best });
            let (length, place) = longest.filter(|(length, _)| *length >= LEAST).unwrap_or((1, String::new()));
            shown.push(first.clone());
            if length > 1 {
                shown.push(format!("⋮ {} lines as {place}", length - 2));
                shown.push(left[length - 1].clone());
            }
            left = &left[length..];
        }
        shown
    }

    /// The output that these lines stand for.
    fn lengthened(&self, shown: &[String]) -> Vec<String> {
        let mut lines = Vec::new();
        for (at, line) in shown.iter().enumerate() {
            let repeated = line.strip_prefix("⋮ ").and_then(|line| line.split_once(" lines as "));
            let Some((number, place)) = repeated else {
                if line.starts_with("! ") && line.ends_with(AS_PLANNED) {
                    let progress = planned(&lines);
                    lines.extend(progress);
                } else {
                    lines.push(line.clone());
                }
                continue;
            };
            let length = number.parse::<usize>().unwrap() + 2;
            let text = self.places().find(|(name, _)| name == place).unwrap_or_else(|| panic!("no scenario {line}")).1;
            let (first, last) = (&shown[at - 1], &shown[at + 1]);
            let these = meant(text, length, first, last);
            let these = these.unwrap_or_else(|| panic!("`{first}` and {line} were not shown"));
            lines.extend(these[1..length - 1].iter().cloned());
        }
        lines
    }
}

/// How many of these lines, starting with the first, can be represented in this text by their first and last line. At
/// most one paragraph of one kind.
fn repeated(lines: &[String], text: &[String]) -> usize {
    let kind = |line: &String| (line.starts_with("! "), is_progress(line));
    let is_same = |line: &&String| !line.is_empty() && kind(line) == kind(&lines[0]);
    let paragraph = &lines[..lines.iter().take_while(is_same).count()];
    let same = |begin: usize| {
        let pairs = paragraph.iter().zip(&text[begin..]);
        pairs.take_while(|(a, b)| a == b).count()
    };
    let length = (0..text.len()).map(same).max().unwrap_or_default();
    let stands = |length: &usize| meant(text, *length, &lines[0], &lines[length - 1]) == Some(&lines[..*length]);
    (1..=length).rev().find(stands).unwrap_or_default()
}

/// The first lines in a text that this first and last line represent.
fn meant<'a>(text: &'a [String], length: usize, first: &str, last: &str) -> Option<&'a [String]> {
    text.windows(length).find(|these| these[0] == first && these[length - 1] == last)
}

/// Documents of JSON in fewer lines.
fn laid_out(lines: &[&str]) -> Vec<String> {
    let mut done = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at).copied() {
        at += 1;
        let begins = line.ends_with(['{', '[']) && line.trim_start().starts_with(['{', '[', '"']);
        // A part ends with the first line that is not deeper. Diffs in a plan have lines that are not part of a document.
        let length = lines[at..].iter().take_while(|within| indent(within) > indent(line)).count();
        let end = lines.get(at + length).filter(|end| begins && end.trim_start().starts_with(['}', ']']));
        let Some(end) = end.filter(|end| indent(end) == indent(line)) else {
            done.push(line.to_owned());
            continue;
        };
        let within = &lines[at..at + length];
        let joined = joined(line, within, end);
        if joined.chars().count() <= WIDTH {
            done.push(joined);
        } else {
            done.push(line.to_owned());
            done.extend(laid_out(within));
            done.push((*end).to_owned());
        }
        at += length + 1;
    }
    done
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A part of a document in one line.
fn joined(first: &str, within: &[&str], last: &str) -> String {
    let mut joined = first.to_owned();
    for part in within.iter().chain([&last]).map(|part| part.trim_start()) {
        if !joined.ends_with(['{', '[']) && !part.starts_with(['}', ']']) {
            joined.push(' ');
        }
        joined.push_str(part);
    }
    joined
}

/// An output without redundant progress.
fn without_progress(lines: &[String]) -> Vec<String> {
    let done: Vec<&String> = lines.iter().filter(|line| is_progress(line)).collect();
    if done.len() < LEAST_CHANGES || done != planned(lines).iter().collect::<Vec<_>>() {
        return lines.to_vec();
    }
    let summary = format!("! {}{AS_PLANNED}", done.len());
    let mut shown: Vec<String> = lines.to_vec();
    let first = shown.iter().position(|line| is_progress(line)).unwrap_or_default();
    shown[first] = summary;
    shown.retain(|line| !is_progress(line));
    shown
}

fn is_progress(line: &str) -> bool {
    const VERBS: [&str; 4] = ["! created ", "! deleted ", "! replaced ", "! updated "];
    VERBS.iter().any(|verb| line.starts_with(verb))
}

/// The progress of all changes in a plan, sorted.
fn planned(lines: &[String]) -> Vec<String> {
    let mut planned: Vec<String> = lines.iter().filter_map(|line| progress(line)).collect();
    planned.sort();
    planned
}

/// The progress of a change, by its line in the plan.
fn progress(line: &str) -> Option<String> {
    let (sign, change) = line.strip_prefix("  ")?.split_once(' ')?;
    let verb = match sign {
        "+" => "created",
        "-" => "deleted",
        "±" => "replaced",
        "~" => "updated",
        _ => return None,
    };
    let mut cells = change.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
    let (kind, name) = (cells.next()?, cells.next()?);
    // The policy of a controller role has its own name.
    let policy = cells.next().and_then(|cell| cell.split([' ', ':']).next());
    let policy = policy.filter(|policy| kind == "role policy" && policy.contains('-'));
    let name = policy.map_or(name.to_owned(), |policy| format!("{name}/{policy}"));
    Some(format!("! {verb} {kind} {name} Ns"))
}

/// Rows with an output, its form the first time, and its form the second time.
#[test]
fn what_is_shown_stands_for_one_output() {
    let plan = "  + queue  a  1d\n  ~ role policy  r  p-1: read\n  - rule  x → y  z\n\n3 changes.";
    let progress = "! created queue a Ns\n! deleted rule x → y Ns\n! updated role policy r/p-1 Ns";
    let planned = format!("{plan}\n! 3 changes, each as planned");
    let other = format!("{plan}\n{}", progress.replace("queue a", "queue b"));
    let fewer = format!("{plan}\n! created queue a Ns\n! deleted rule x → y Ns");
    let lines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\nexit 1";
    let document = "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}";
    let long = document.replace("{}", &format!("\"{}\"", "x".repeat(WIDTH)));
    let joined = long.replace("[\n    1,\n    2\n  ]", "[1, 2]");
    for (output, first, second) in [
        (format!("{plan}\n{progress}\nexit 0"), planned.as_str(), planned.as_str()),
        (other.clone(), &other, &other),
        (fewer.clone(), &fewer, &fewer),
        (lines.to_owned(), lines, "one\n⋮ 6 lines as above\nexit 1"),
        (document.to_owned(), r#"{"a": [1, 2], "b": {}}"#, r#"{"a": [1, 2], "b": {}}"#),
        (long.clone(), &joined, &joined),
    ] {
        // A scenario that is a reference itself.
        let mut shown = Shown::nothing_of(REFERENCES[0]);
        assert_eq!(shown.show(&output, false), first);
        assert_eq!(shown.show(&output, false), second);
    }
    for changed in ["one", "three", "seven"] {
        let mut shown = Shown::nothing_of(REFERENCES[0]);
        shown.show(lines, false);
        let changed = lines.replace(changed, "other");
        assert!(shown.show(&changed, false).contains("other"), "{changed}");
    }
}
