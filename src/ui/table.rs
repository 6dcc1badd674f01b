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
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..count)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| measure_text_width(cell)).max().unwrap_or(0)
            })
            .collect();
        let lines: Vec<String> = self.rows.iter().map(|row| self.line(row, &widths, indent)).collect();
        lines.join("\n")
    }

    fn line(&self, row: &[String], widths: &[usize], indent: usize) -> String {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(column, (cell, width))| match self.columns.get(column) {
                Some(Align::Right) => format!("{}{cell}", gap(cell, *width)),
                Some(Align::Left) | None => format!("{cell}{}", gap(cell, *width)),
            })
            .collect();
        format!("{}{}", " ".repeat(indent), cells.join("   "))
            .trim_end()
            .to_owned()
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
    fn nothing_is_nothing() {
        assert_eq!(Table::new([Align::Left]).render(2), "");
    }
}
