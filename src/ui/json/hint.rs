//! A next step, as the document has it.

use super::object::objects;
use crate::error::Hint;

objects! {
    /// A next step.
    HintObject<'a>(Hint { text, command } in &'a Hint, options in &str) {
        text: &'a str = text,
        command: Option<String> = command.as_ref().map(|command| command.line(options)),
    }
}
