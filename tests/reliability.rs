//! `tests/aws-behavior.md` has one row for each behavior of AWS that kibus depends on, and `docs/reliability.md` a line for each promise.
//! Each names a test that exists, or a row says why there is none.

use std::path::Path;

/// The document's tables: the letter of the ids, and how many there are.
const TABLES: &str = "S30 E13 L22 M14 I12 G6 T7 W5 A8 F4 H13 R10 P13 N8";

/// The id of each row of the document, and its other cells.
fn rows() -> Vec<(&'static str, [&'static str; 4])> {
    let row = |line: &'static str| {
        let (id, cells) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
        let number = id.strip_prefix(|letter: char| letter.is_ascii_uppercase())?;
        number.parse::<u32>().ok()?;
        let cells: Vec<_> = cells.split(" | ").collect();
        Some((id, cells.try_into().unwrap_or_else(|_| panic!("{id} has another number of cells"))))
    };
    include_str!("aws-behavior.md").lines().filter_map(row).collect()
}

/// The ids of rows with an unproven part, in the order of the document.
pub(crate) fn likely_rows() -> Vec<&'static str> {
    rows().into_iter().filter(|(_, cells)| cells[1].contains("likely")).map(|(id, _)| id).collect()
}

#[test]
fn every_behavior_of_aws_has_one_row() {
    let ids = TABLES.split(' ').flat_map(|table| {
        let (letter, count) = table.split_at(1);
        (1..=count.parse::<u32>().unwrap()).map(move |number| format!("{letter}{number}"))
    });
    assert_eq!(rows().iter().map(|(id, _)| *id).collect::<Vec<_>>(), ids.collect::<Vec<_>>());
}

#[test]
fn every_row_names_a_test_that_exists_or_a_reason() {
    let problems: Vec<_> = rows().iter().flat_map(|(id, cells)| problems(id, cells[3])).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_promise_names_a_test_that_exists() {
    let page = include_str!("../docs/reliability.md");
    let promises: Vec<_> = page.split("\n\n## ").skip(1).flat_map(|section| section.split("\n- ").skip(1)).collect();
    assert!(promises.len() > 20);
    let problems: Vec<_> = promises.iter().flat_map(|promise| problems(promise, promise)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_name_of_no_test_is_found() {
    for (cell, expected) in [
        ("`reliability::every_behavior_of_aws_has_one_row`", &[] as &[&str]),
        ("`scenario::eventual_consistency`", &[]),
        ("`kibus::router::laws::conserved`", &["S1: `kibus::router::laws::conserved` is not a test"]),
        ("`scenario::absent`", &["S1: `scenario::absent` is not a test"]),
        // A function, and no test.
        ("`reliability::rows`", &["S1: `reliability::rows` is not a test"]),
        ("see the router", &["S1: neither a test nor a reason"]),
        ("None: ", &["S1: neither a test nor a reason"]),
        ("None: kibus makes no such call", &[]),
    ] {
        assert_eq!(problems("S1", cell), expected, "{cell}");
    }
}

/// The problems of the last cell of a row.
fn problems(id: &str, cell: &str) -> Vec<String> {
    let tests = cell.split('`').skip(1).step_by(2).filter(|name| name.contains("::"));
    let has_reason = cell.strip_prefix("None: ").is_some_and(|reason| reason.len() > 10);
    if tests.clone().next().is_none() && !has_reason {
        return vec![format!("{id}: neither a test nor a reason")];
    }
    tests.filter(|name| !is_test(name)).map(|name| format!("{id}: `{name}` is not a test")).collect()
}

/// Whether `module::name` is a test: a function below `src` or `tests` with a test's attribute, or a scenario.
fn is_test(path: &str) -> bool {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (module, name) = path.rsplit_once("::").unwrap_or_default();
    if module == "scenario" {
        return package.join(format!("tests/scenarios/{name}.txt")).exists();
    }
    let has_test = |module: &str| {
        ["src", "tests"].iter().any(|root| {
            let file = package.join(root).join(module.replace("::", "/")).with_extension("rs");
            let source = std::fs::read_to_string(file).unwrap_or_default();
            let above = source.split_once(&format!("fn {name}(")).map_or("", |(above, _)| above);
            // Its attributes and comments.
            above.rsplit("\n\n").next().is_some_and(|item| item.contains("test]") || item.contains("::test("))
        })
    };
    // Only a module for tests is inside its parent's file.
    has_test(module) || module.strip_suffix("::tests").is_some_and(has_test)
}
