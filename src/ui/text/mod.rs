//! Values as text. All functions are pure and return a whole text.

mod columns;
mod dead_letters;
mod discover;
mod document;
mod error;
mod escape;
mod findings;
mod fold;
mod group;
#[cfg(test)]
mod hostile;
mod name;
mod next_step;
mod plan;
mod preflight;
mod queue_setting;
mod status;
#[cfg(test)]
pub(crate) mod tests;
mod value;

pub use dead_letters::{dead_letters, treated, treatment};
pub use discover::discovery;
pub use error::{block, sentences};
pub(super) use error::{error, hint, warning};
pub use escape::escape;
pub(super) use escape::{at_the_edge, json_text};
pub use findings::findings;
pub(super) use name::name;
pub use next_step::how_to_check;
pub(super) use next_step::{found_roles, next_steps, release_queues};
pub use plan::{heading, plan};
pub use preflight::preflight;
pub use status::{buses, status};

use super::paint::Paint;

/// The smallest width to which text is folded.
const NARROW: usize = 24;

/// A text whose first letter is a capital.
pub fn capitalized(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// How to format a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether to use color.
    pub paint: Paint,
    /// The width of the terminal in columns; `None` without a terminal, where lines are not folded or shortened.
    pub width: Option<usize>,
    /// How many times `-v` was given. From 1 on, all fields and documents are shown in full.
    pub verbose: u8,
}

impl Style {
    /// The columns that text after this indentation has.
    fn room(self, indent: usize) -> usize {
        self.width
            .map_or(usize::MAX, |width| width.saturating_sub(indent).max(NARROW))
    }
}
