//! Values as text. Pure: every function gives a whole text, which the tests read.

mod columns;
mod document;
mod error;
mod escape;
mod findings;
mod fold;
mod group;
mod plan;
mod status;
mod summary;
#[cfg(test)]
pub(crate) mod tests;
mod value;

pub use error::{error, sentences, warning};
pub use escape::escape;
pub use findings::findings;
pub use fold::fold;
pub use group::by_count;
pub use plan::{counts, heading, plan};
pub use status::status;
pub use summary::{kind, name, summary};
pub use value::{bytes, days, seconds, value};

use super::paint::Paint;

/// How a text is to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// With colour or without.
    pub paint: Paint,
    /// How many columns there are; nothing where lines are not read on a terminal and so are never folded.
    pub width: Option<usize>,
    /// How much to show; from 1 on every field and document in full.
    pub verbose: u8,
}
