//! Values as text. All functions are pure and return a whole text.

mod columns;
mod dead_letters;
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
mod queue_setting;
mod second_source;
mod status;
#[cfg(test)]
pub(crate) mod tests;
mod value;

pub use dead_letters::{dead_letters, treated, treatment};
pub use error::{error, sentences, warning};
pub(super) use escape::at_the_edge;
pub use escape::{escape, json_text};
pub use findings::findings;
pub use fold::fold;
pub use group::by_count;
pub use name::name;
pub use next_step::{WIDTH, how_to_check, indented, next_steps, release_queues};
pub use plan::{counts, heading, plan};
pub use second_source::second_sources;
pub use status::{buses, status};
pub use value::value;

use super::paint::Paint;

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
