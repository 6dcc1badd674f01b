//! `docs/reliability.md` has one row for each behavior of AWS that kibus depends on, and each row names a test that exists
//! or says why there is none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The document's tables: the letter of the ids, and how many there are.
const TABLES: [(char, u32); 14] = [
    ('S', 30),
    ('E', 13),
    ('L', 22),
    ('M', 14),
    ('I', 12),
    ('G', 6),
    ('T', 7),
    ('W', 5),
    ('A', 8),
    ('F', 4),
    ('H', 13),
    ('R', 10),
    ('P', 13),
    ('N', 8),
];

/// A row of the document.
struct Row {
    id: String,
    cells: Vec<String>,
}

impl Row {
    /// Whether the row has a part that no source proves.
    fn is_likely(&self) -> bool {
        self.cells[1].contains("likely")
    }

    /// What is wrong with the row's last cell.
    fn problems(&self) -> Vec<String> {
        let cell = &self.cells[3];
        let tests: Vec<&str> = cell.split('`').skip(1).step_by(2).filter(|name| name.contains("::")).collect();
        let mut problems: Vec<_> = tests
            .iter()
            .filter(|name| !is_test(name))
            .map(|name| format!("{}: `{name}` is not a test", self.id))
            .collect();
        let has_reason = cell.strip_prefix("None: ").is_some_and(|reason| reason.len() > 10);
        if tests.is_empty() && !has_reason {
            problems.push(format!("{}: neither a test nor a reason", self.id));
        }
        problems
    }
}

#[test]
fn every_behavior_of_aws_has_one_row() {
    let expected: Vec<String> = TABLES
        .into_iter()
        .flat_map(|(letter, count)| (1..=count).map(move |number| format!("{letter}{number}")))
        .collect();
    let ids: Vec<_> = rows().into_iter().map(|row| row.id).collect();
    assert_eq!(ids, expected);
}

#[test]
fn every_row_names_a_test_that_exists_or_a_reason() {
    let problems: Vec<_> = rows().iter().flat_map(Row::problems).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_name_of_no_test_is_found() {
    let row = |cell: &str| Row { id: "S1".to_owned(), cells: ["", "", "", cell].map(str::to_owned).to_vec() };
    for (cell, problems) in [
        ("`reliability::every_behavior_of_aws_has_one_row`", &[] as &[&str]),
        ("`scenario::eventual_consistency`", &[]),
        (
            "`kibus::router::laws::conserved_and_isolated`",
            &["S1: `kibus::router::laws::conserved_and_isolated` is not a test"],
        ),
        ("`scenario::absent`", &["S1: `scenario::absent` is not a test"]),
        // A function, and no test.
        ("`reliability::rows`", &["S1: `reliability::rows` is not a test"]),
        ("see the router", &["S1: neither a test nor a reason"]),
        ("None: ", &["S1: neither a test nor a reason"]),
        ("None: kibus makes no such call", &[]),
    ] {
        assert_eq!(row(cell).problems(), problems, "{cell}");
    }
}

/// The ids of the rows with a part that no source proves, in the order of the document.
pub(crate) fn likely_rows() -> Vec<String> {
    let likely = rows().into_iter().filter(Row::is_likely);
    likely.map(|row| row.id).collect()
}

fn rows() -> Vec<Row> {
    let document = include_str!("../docs/reliability.md");
    let letters: BTreeSet<char> = TABLES.iter().map(|table| table.0).collect();
    let row = |line: &str| {
        let cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").map(str::to_owned);
        let cells: Vec<_> = cells.collect();
        let (id, rest) = cells.split_first()?;
        let number = id.strip_prefix(|letter| letters.contains(&letter))?;
        number.parse::<u32>().ok()?;
        assert_eq!(rest.len(), 4, "{id} has another number of cells");
        Some(Row { id: id.clone(), cells: rest.to_vec() })
    };
    document.lines().filter_map(row).collect()
}

/// Whether `module::name` is a test: a function below `src` or `tests` with a test's attribute, or a scenario.
fn is_test(path: &str) -> bool {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (modules, name) = path.rsplit_once("::").unwrap_or_default();
    if modules == "scenario" {
        return package.join("tests/scenarios").join(format!("{name}.txt")).exists();
    }
    ["src", "tests"].iter().any(|root| {
        let source = source(&package.join(root), modules).and_then(|file| std::fs::read_to_string(file).ok());
        source.is_some_and(|source| has_test(&source, name))
    })
}

/// The file of a module, or of the module around it that has a file.
fn source(root: &Path, modules: &str) -> Option<PathBuf> {
    let mut modules: Vec<&str> = modules.split("::").collect();
    loop {
        let path = root.join(modules.join("/"));
        let file = path.with_extension("rs");
        if file.exists() {
            return Some(file);
        }
        // Only a module for tests is inside its parent's file.
        modules.pop_if(|module| *module == "tests")?;
    }
}

fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim_start).collect();
    let function = format!("fn {name}(");
    let at = lines.iter().position(|line| line.trim_start_matches("async ").starts_with(&function));
    at.is_some_and(|at| {
        let above = lines[..at].iter().rev();
        above.take_while(|line| line.starts_with("#[") || line.starts_with("//")).any(|line| line.contains("test"))
    })
}
