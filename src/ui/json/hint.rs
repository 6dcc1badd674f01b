//! A next step, as the document has it.

use super::object::objects;
use crate::error::Hint;

objects! {
    /// A next step.
    HintObject<'a>(Hint { text, command } in &'a Hint) {
        text: &'a str = text,
        command: Option<&'a str> = command.as_deref(),
    }
}
