//! The columns of a plan: sign, kind, name, and a text about the resource.

use console::{measure_text_width, truncate_str};

use super::Style;
use super::escape::escape;
use super::fold::fold;
use super::name::short_name;
use crate::plan::Plan;
use crate::ui::table::gap;

/// The widest name column. Longer names reach into the next column.
pub(super) const NAME_COLUMN: usize = 48;
/// The smallest width to which text is folded.
pub(super) const NARROW: usize = 24;
/// The indentation of text below a row.
const BELOW: usize = 6;

/// The widths of the columns for kinds and names.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    kind: usize,
    name: usize,
}

impl Columns {
    pub(super) fn of(plan: &Plan, style: Style) -> Self {
        let ids = || plan.changes.iter().map(|change| &change.id).chain(&plan.unknown);
        let kind = ids().map(|id| id.label().chars().count()).max().unwrap_or(0);
        let room = style
            .width
            .map_or(NAME_COLUMN, |width| width.saturating_sub(4 + kind + 2));
        let names = ids().map(|id| short_name(id).chars().count());
        let name = names.filter(|width| *width <= NAME_COLUMN).max().unwrap_or(0);
        Self {
            kind,
            name: name.min(room),
        }
    }

    /// The column at which the text about a resource begins.
    fn last(self) -> usize {
        4 + self.kind + 2 + self.name + 2
    }

    /// A sign, a kind, a name, and a text beside it or, if it does not fit there, below it. On a terminal, a long name is
    /// shortened.
    pub(super) fn row(self, sign: &str, kind: &str, name: &str, about: &str, style: Style) -> Vec<String> {
        let name = shortened(&escape(name), style.width, 4 + self.kind + 2);
        let begin = format!("  {sign} {kind}{}  {name}", gap(kind, self.kind));
        let line = |about: &str| {
            format!("{begin}{}  {about}", gap(&name, self.name))
                .trim_end()
                .to_owned()
        };
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
            lines.push(begin);
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
