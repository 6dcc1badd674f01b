//! Values as text. All functions are pure and return a whole text.

mod dead_letters;
mod discover;
mod drill;
mod events;
#[cfg(test)]
mod hostile;
mod layout;
mod message;
mod plan;
mod status;
#[cfg(test)]
pub(crate) mod tests;

pub use dead_letters::{dead_letters, treated, treatment};
pub use discover::discovery;
pub use drill::{drill_left, drill_plan, drill_step};
pub use events::{event_rows, events};
pub use layout::{Style, Table, block, capitalized, escape, sentences};
pub(super) use layout::{at_the_edge, json_text, name};
pub(super) use message::{error, hint, warning};
pub use message::{findings, passed};
use plan::heading;
pub use plan::plan;
pub use status::{buses, status};
