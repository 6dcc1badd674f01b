//! The columns of a plan: sign, kind, name, and a text about the resource.

use console::{measure_text_width, truncate_str};

use super::escape::escape;
use super::fold::fold;
use super::{NARROW, Style};
use crate::ui::table::gap;

/// The widest name column. Longer names reach into the next column.
pub(super) const NAME_COLUMN: usize = 48;
/// The indentation of text below a row.
const BELOW: usize = 6;

/// The widths of the columns for kinds and names.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    kind: usize,
    name: usize,
}

impl Columns {
    /// The columns for rows of these kinds and names.
    pub(super) fn of(rows: impl IntoIterator<Item = (&'static str, String)>, style: Style) -> Self {
        let (mut kinds, mut names) = (0, 0);
        for (kind, name) in rows {
            kinds = kinds.max(kind.chars().count());
            names = names.max(
                Some(name.chars().count())
                    .filter(|width| *width <= NAME_COLUMN)
                    .unwrap_or(0),
            );
        }
        let room = style
            .width
            .map_or(NAME_COLUMN, |width| width.saturating_sub(4 + kinds + 2));
        Self {
            kind: kinds,
            name: names.min(room),
        }
    }

    /// The column at which the text about a resource begins.
    fn last(self) -> usize {
        4 + self.kind + 2 + self.name + 2
    }

    /// A sign, a kind, a name, and a text beside it.
    pub(super) fn line(self, sign: &str, kind: &str, name: &str, about: &str) -> String {
        let line = format!(
            "  {sign} {kind}{}  {name}{}  {about}",
            gap(kind, self.kind),
            gap(name, self.name)
        );
        line.trim_end().to_owned()
    }

    /// The same with the text beside the name or, if it does not fit there, below it. On a terminal, a long name is
    /// shortened.
    pub(super) fn row(self, sign: &str, kind: &str, name: &str, about: &str, style: Style) -> Vec<String> {
        let name = shortened(&escape(name), style.width, 4 + self.kind + 2);
        let line = |about: &str| self.line(sign, kind, &name, about);
        let Some(width) = style.width else {
            return vec![line(about)];
        };
        let room = width.saturating_sub(self.last());
        let mut lines = Vec::new();
        if room >= NARROW && measure_text_width(&name) <= self.name {
            for (at, text) in fold(about, room).iter().enumerate() {
                let text = shortened(text, Some(room), 0);
                lines.push(match at {
                    0 => line(&text),
                    _ => " ".repeat(self.last()) + &text,
                });
            }
        } else {
            lines.push(line(""));
            let texts = fold(about, width.saturating_sub(BELOW))
                .into_iter()
                .filter(|text| !text.is_empty());
            lines.extend(texts.map(|text| " ".repeat(BELOW) + &shortened(&text, style.width, BELOW)));
        }
        lines
    }
}

/// Text that fits between `indent` and the right edge of the terminal; a longer one ends with `…`.
pub(super) fn shortened(text: &str, width: Option<usize>, indent: usize) -> String {
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent));
    truncate_str(text, room, "…").into_owned()
}
