//! Building blocks of text: escaping text from outside, folding lines, and tables.

use std::borrow::Cow;

use console::{measure_text_width, truncate_str};
use serde_json::Value;

use crate::model::ResourceId;
use crate::ui::terminal::Paint;

/// The minimum width for folding text.
const NARROW: usize = 24;
/// The indentation of text below a lead.
const BELOW: usize = 6;

/// How to format a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub paint: Paint,
    /// The width of the terminal in columns; `None` without a terminal, in which case lines are not folded or shortened.
    pub width: Option<usize>,
    /// How many times `-v` was given. From 1 on, all fields and documents are shown in full.
    pub verbose: u8,
}

impl Style {
    /// The width for text after this indentation.
    pub(super) fn room(self, indent: usize) -> usize {
        self.width.map_or(usize::MAX, |width| width.saturating_sub(indent).max(NARROW))
    }
}

/// Replaces every character that would control the terminal with its escape, like `\u{1b}`. A name or a tag may contain such a character.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_except(text, &[], &[])
}

/// The escape sequences of [`Paint`].
const COLORS: &[&str] = &["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"];

/// Whole text on its way to a stream: every character that would control the terminal is escaped, except newlines, tabs and,
/// if `colors`, the colors of kibus. Text from outside is escaped where it is inserted, including newlines; this is a safety
/// net if that was forgotten.
pub(in crate::ui) fn at_the_edge(text: &str, colors: bool) -> Cow<'_, str> {
    escape_except(text, &['\n', '\t'], if colors { COLORS } else { &[] })
}

fn escape_except<'a>(text: &'a str, characters: &[char], sequences: &[&str]) -> Cow<'a, str> {
    let stays = |c| !is_control(c) || characters.contains(&c);
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let sequence = sequences.iter().find(|sequence| rest.starts_with(**sequence));
        let taken = sequence.map_or(c.len_utf8(), |sequence| sequence.len());
        if sequence.is_some() || stays(c) {
            safe.push_str(&rest[..taken]);
        } else {
            safe.extend(c.escape_default());
        }
        rest = &rest[taken..];
    }
    Cow::Owned(safe)
}

/// A JSON document as text, on one line or indented. Characters that control a terminal are escaped as in JSON, so its
/// values stay the same.
pub(in crate::ui) fn json_text(document: &Value, on_one_line: bool) -> String {
    let text = if on_one_line { document.to_string() } else { format!("{document:#}") };
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && is_control(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Control and format characters, which are invisible or change the direction of text (Unicode Annex 9), separators of lines
/// and paragraphs, and what Unicode has not assigned: everything that the `Debug` of a text escapes, except spaces.
fn is_control(c: char) -> bool {
    if c.is_ascii() {
        return c.is_control();
    }
    // Not at the beginning of the text, where `Debug` escapes combining marks too.
    let is_escaped = String::from_iter(['a', c]).escape_debug().nth(1) == Some('\\');
    let is_space = c.is_whitespace() && !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}');
    is_escaped && !is_space
}

/// Breaks text at spaces into lines of at most `width` columns. A longer word gets its own line. Text in backticks is
/// for copying, and is not broken if it fits on a line.
pub(super) fn fold(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for word in words(text, width) {
        let columns = measure_text_width(word);
        match lines.last_mut() {
            Some(line) if used + 1 + columns <= width => {
                line.push(' ');
                line.push_str(word);
                used += 1 + columns;
            }
            _ => {
                lines.push(word.to_owned());
                used = columns;
            }
        }
    }
    lines
}

/// The parts between which text can be broken.
fn words(text: &str, width: usize) -> Vec<&str> {
    let (mut words, mut start, mut open, mut quoted) = (Vec::new(), 0, false, false);
    for (at, char) in text.char_indices() {
        match char {
            '`' => {
                open = !open;
                let end = text[at + 1..].find('`').filter(|_| open);
                quoted = end.is_some_and(|end| measure_text_width(&text[at..=at + end]) < width);
            }
            ' ' if !quoted => {
                words.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    words
}

/// A lead, and text that is folded next to it from this column on. If there is no room, or less than two spaces between
/// them, a terminal shows the text below the lead.
pub(super) fn hanging(lead: &str, column: usize, text: &str, style: Style) -> Vec<String> {
    let begin = format!("{lead}{}  ", gap(lead, column.saturating_sub(2)));
    let has_room = |width| measure_text_width(&begin) == column && column + NARROW <= width;
    let is_beside = style.width.is_none_or(has_room);
    let indent = " ".repeat(if is_beside { column } else { BELOW });
    let lines = fold(text, style.room(indent.len())).into_iter().enumerate();
    let mut lines: Vec<String> = lines
        .map(|(at, line)| if at == 0 && is_beside { format!("{begin}{line}") } else { format!("{indent}{line}") })
        .collect();
    if !is_beside {
        lines.insert(0, lead.to_owned());
    }
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    lines.retain(|line| !line.is_empty());
    lines
}

/// Sentences, folded. Indented lines are for copying and are not folded.
pub fn sentences(text: &str, style: Style) -> String {
    let lines = text
        .lines()
        .flat_map(|line| if line.starts_with(' ') { vec![line.to_owned()] } else { fold(line, style.room(0)) });
    lines.collect::<Vec<_>>().join("\n")
}

/// [`sentences`] as a block that is indented by two.
pub fn block(text: &str, style: Style) -> String {
    let width = style.width.map(|width| width.saturating_sub(2));
    let text = sentences(text, Style { width, ..style });
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// A document or a command to copy.
pub(super) fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("    {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A text with its first letter capitalized.
pub fn capitalized(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// Text that fits between `indent` and the right edge of the terminal; longer text ends with `…`.
pub(super) fn shortened(text: &str, width: Option<usize>, indent: usize) -> String {
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent));
    truncate_str(text, room, "…").into_owned()
}

/// The display name of a resource.
pub(in crate::ui) fn name(id: &ResourceId) -> String {
    id.name().replace(" -> ", " → ")
}

/// The spaces between two columns.
const GAP: usize = 3;
/// The width below which a column is not shortened.
const MIN_COLUMN: usize = 8;

/// Rows of cells, in aligned columns without borders. Cells can be painted. The caller escapes text from outside.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The columns with numbers.
    numbers: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table whose columns with these numbers, from 0, align right. The others align left.
    pub(super) fn with_numbers(numbers: impl Into<Vec<usize>>) -> Self {
        Self { numbers: numbers.into(), ..Self::default() }
    }

    /// Adds a row; a heading is a row too. Missing cells are empty.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The lines of the table, each indented by `indent` columns, without a final newline. If the lines are longer than
    /// `width`, the widest left-aligned columns are shortened and their cells end with `…`; the first column, which
    /// names the row, is shortened last.
    pub fn render(&self, indent: usize, width: Option<usize>) -> String {
        let mut widths = self.widths();
        let excess = width.map_or(0, |width| self.width(indent).saturating_sub(width));
        for _ in 0..excess {
            let is_wide = |at: &usize| !self.numbers.contains(at) && widths[*at] > MIN_COLUMN;
            let columns = (1..widths.len()).filter(is_wide);
            let Some(widest) = columns.max_by_key(|at| widths[*at]).or(Some(0).filter(is_wide)) else {
                break;
            };
            widths[widest] -= 1;
        }
        let lines: Vec<String> = self.rows.iter().map(|row| self.line(row, &widths, indent)).collect();
        lines.join("\n")
    }

    /// The width of the whole table, in terminal columns.
    pub(super) fn width(&self, indent: usize) -> usize {
        let widths = self.widths();
        indent + widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    fn widths(&self) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        (0..count).map(|column| cells(column).map(|cell| measure_text_width(cell)).max().unwrap_or(0)).collect()
    }

    fn line(&self, row: &[String], widths: &[usize], indent: usize) -> String {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            let cell = truncate_str(cell, *width, "…");
            if self.numbers.contains(&column) {
                format!("{}{cell}", gap(&cell, *width))
            } else {
                format!("{cell}{}", gap(&cell, *width))
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
mod tests;
