//! Test tables as text: one row per line, with `|` between the cells.

/// The cells of each row, without the spaces around them.
pub(crate) fn rows<const N: usize>(table: &str) -> Vec<[&str; N]> {
    let mut rows = Vec::new();
    for line in table.lines().filter(|line| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        rows.push(cells.try_into().unwrap_or_else(|cells| panic!("not {N} cells: {cells:?}")));
    }
    rows
}

/// The cell, or `None` if it is `-`.
pub(crate) fn cell(text: &str) -> Option<&str> {
    (text != "-").then_some(text)
}
