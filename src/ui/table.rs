//! Tables: aligned columns without borders.

use std::collections::BTreeSet;

use console::{measure_text_width, truncate_str};

/// The spaces between two columns.
const GAP: usize = 3;
/// The width below which a column is not shortened.
const MIN_COLUMN: usize = 8;

/// Rows of cells. Cells may be painted. The caller escapes text from outside.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The columns that hold numbers.
    numbers: Vec<usize>,
    /// The columns that hold names to tell apart.
    names: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table whose columns with these numbers, from 0, align right. The others align left.
    pub(super) fn with_numbers(numbers: impl Into<Vec<usize>>) -> Self {
        Self {
            numbers: numbers.into(),
            ..Self::default()
        }
    }

    /// The same with names in these columns, of which no two different ones are shortened to the same text.
    pub(super) fn and_names(self, names: impl Into<Vec<usize>>) -> Self {
        let names = names.into();
        Self { names, ..self }
    }

    /// Adds a row; a heading is a row too. Missing cells are empty.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The lines of the table, each indented by `indent` columns, without a final newline. If the lines are longer than
    /// `width`, the widest left-aligned columns are shortened, and their cells end with `…`.
    pub fn render(&self, indent: usize, width: Option<usize>) -> String {
        let mut widths = self.widths();
        let excess = width.map_or(0, |width| self.width(indent).saturating_sub(width));
        for _ in 0..excess {
            let is_wide = |at: &usize| {
                let is_wide = !self.numbers.contains(at) && widths[*at] > MIN_COLUMN;
                is_wide && (!self.names.contains(at) || self.differs(*at, widths[*at] - 1))
            };
            let columns = (0..widths.len()).filter(is_wide);
            let Some(widest) = columns.max_by_key(|at| widths[*at]) else {
                break;
            };
            widths[widest] -= 1;
        }
        let lines: Vec<String> = self.rows.iter().map(|row| self.line(row, &widths, indent)).collect();
        lines.join("\n")
    }

    /// Whether the cells of a column that differ also differ at this width.
    fn differs(&self, column: usize, width: usize) -> bool {
        let cells: BTreeSet<&String> = self.rows.iter().filter_map(|row| row.get(column)).collect();
        let cut: BTreeSet<_> = cells.iter().map(|cell| truncate_str(cell, width, "…")).collect();
        cut.len() == cells.len()
    }

    /// How many columns of the terminal the whole table needs.
    pub(super) fn width(&self, indent: usize) -> usize {
        let widths = self.widths();
        indent + widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    fn widths(&self) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        (0..count)
            .map(|column| cells(column).map(|cell| measure_text_width(cell)).max().unwrap_or(0))
            .collect()
    }

    fn line(&self, row: &[String], widths: &[usize], indent: usize) -> String {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            let cell = truncate_str(cell, *width, "…");
            match self.numbers.contains(&column) {
                true => gap(&cell, *width) + &cell,
                false => format!("{cell}{}", gap(&cell, *width)),
            }
        });
        let line = " ".repeat(indent) + &cells.collect::<Vec<_>>().join(&" ".repeat(GAP));
        line.trim_end().to_owned()
    }
}

/// The spaces that pad a cell to a width.
pub(super) fn gap(cell: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(measure_text_width(cell)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::paint::Paint;

    #[test]
    fn columns_align_by_visible_width() {
        let mut table = Table::with_numbers([1]);
        table.row(["cluster", "waiting", "controller role"]);
        table.row(["base".to_owned(), Paint::new(true).red("12"), "r".to_owned()]);
        table.row(["tënant-1", "0"]);
        assert_eq!(
            console::strip_ansi_codes(&table.render(2, None)),
            "  cluster    waiting   controller role\n  base            12   r\n  tënant-1         0"
        );
    }

    #[test]
    fn long_cells_are_shortened_to_fit_and_numbers_stay_whole() {
        let mut table = Table::with_numbers([1]);
        table.row(["cluster", "waiting", "controller role"]);
        table.row(["a-cluster-with-a-long-name", "123456789", "KarpenterServiceAccount-a"]);
        table.row(["base".to_owned(), "0".to_owned(), Paint::new(true).dim(&"r".repeat(60))]);
        assert_eq!(
            console::strip_ansi_codes(&table.render(2, Some(50))),
            "  cluster               waiting   controller role\n  \
             a-cluster-with-a…   123456789   KarpenterServic…\n  \
             base                        0   rrrrrrrrrrrrrrr…"
        );
        for width in 40..120 {
            for line in table.render(2, Some(width)).lines() {
                assert!(measure_text_width(line) <= width, "{width}: {line}");
            }
        }
        assert!(
            table.render(2, None).contains("a-cluster-with-a-long-name"),
            "no terminal"
        );
    }

    #[test]
    fn no_two_names_are_cut_to_the_same_text() {
        let names = ["team-one-production-eu-west-1", "team-one-production-eu-west-2", "base"];
        let mut table = Table::default().and_names([0]);
        for name in names {
            table.row([name, "and some longer words about it"]);
        }
        let text = table.render(2, Some(40));
        for (line, name) in text.lines().zip(names) {
            assert!(line.contains(name) && line.ends_with('…'), "{text}");
        }
    }

    #[test]
    fn an_empty_table_has_no_lines() {
        assert_eq!(Table::default().render(2, None), "");
    }
}
