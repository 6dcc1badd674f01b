//! Tables: aligned columns without borders.

use console::measure_text_width;

/// To which side a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// What stands between two columns.
const BETWEEN: usize = 3;
/// Cells wider than this do not push the columns after them to the right: the row goes on below them.
const WIDEST: usize = 48;

/// Rows of cells. Cells may be painted; whoever fills one with text from outside escapes it first.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns and no rows yet.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = Align>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, a heading like any other. Cells beyond the columns stand to the left; missing ones are empty.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The lines of the table, each indented by `indent` columns, without a newline at the end.
    #[must_use]
    pub fn render(&self, indent: usize) -> String {
        let widths = self.widths();
        let lines: Vec<String> = self.rows.iter().map(|row| self.lines(row, &widths, indent)).collect();
        lines.join("\n")
    }

    /// How many columns of the terminal the table takes, but for rows with a cell of unusual width.
    #[must_use]
    pub fn width(&self, indent: usize) -> usize {
        let widths = self.widths();
        indent + widths.iter().sum::<usize>() + BETWEEN * widths.len().saturating_sub(1)
    }

    fn widths(&self) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let widths = cells.map(|cell| measure_text_width(cell));
            widths.filter(|width| *width <= WIDEST).max().unwrap_or(0)
        };
        (0..count).map(width).collect()
    }

    fn lines(&self, row: &[String], widths: &[usize], indent: usize) -> String {
        let mut lines: Vec<String> = Vec::new();
        let mut line = String::new();
        let mut place = indent;
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            // The cell before was wider than its column.
            if column > 0 && measure_text_width(&line) > place - BETWEEN {
                lines.push(std::mem::take(&mut line));
            }
            line.push_str(&gap(&line, place));
            if self.columns.get(column) == Some(&Align::Right) {
                line.push_str(&gap(cell, *width));
            }
            line.push_str(cell);
            place += width + BETWEEN;
        }
        lines.push(line);
        lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
    }
}

/// The spaces that bring a cell to a width.
pub(super) fn gap(cell: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(measure_text_width(cell)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::paint::Paint;

    #[test]
    fn columns_align_by_what_is_seen() {
        let mut table = Table::new([Align::Left, Align::Right, Align::Left]);
        table.row(["cluster", "waiting", "controller role"]);
        table.row(["base".to_owned(), Paint::new(true).red("12"), "r".to_owned()]);
        table.row(["tënant-1", "0"]);
        assert_eq!(
            console::strip_ansi_codes(&table.render(2)),
            "  cluster    waiting   controller role\n  base            12   r\n  tënant-1         0"
        );
    }

    #[test]
    fn a_cell_of_unusual_width_stands_alone() {
        let mut table = Table::new([Align::Left, Align::Right, Align::Left]);
        let long = "c".repeat(WIDEST + 1);
        table.row(["cluster", "waiting", "role"]);
        table.row([&long, "0", "r"]);
        assert_eq!(
            table.render(2),
            format!("  cluster   waiting   role\n  {long}\n                  0   r")
        );
        assert_eq!(table.width(2), 26);
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(Table::new([Align::Left]).render(2), "");
    }
}
