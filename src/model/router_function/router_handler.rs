//! The router's settings: its bus and the prefix of its cluster queues, in the handler string of the function.
//!
//! A custom runtime ignores the handler, and Lambda passes it to the process as `_HANDLER`. Environment variables could
//! carry the same, but Lambda encrypts them with a grant to the role's unique id, so a function with variables does not
//! start once its role was deleted and created again.

use std::fmt;
use std::str::FromStr;

use crate::model::name::{BusName, NameError, QueuePrefix};
use crate::model::resource::FunctionSettings;

/// The environment variable in which Lambda passes the handler to the process.
pub const HANDLER_VARIABLE: &str = "_HANDLER";

/// The settings of a router, as text `<bus>/<prefix>`. The prefix may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterHandler {
    pub bus: BusName,
    /// The prefix of the cluster queues.
    pub prefix: QueuePrefix,
}

impl RouterHandler {
    /// The settings of a function or a version; `None` if it has none that a router can read.
    pub fn of(settings: &FunctionSettings) -> Option<Self> {
        settings.handler.parse().ok()
    }
}

impl fmt::Display for RouterHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.bus, self.prefix)
    }
}

impl FromStr for RouterHandler {
    type Err = NameError;

    fn from_str(s: &str) -> Result<Self, NameError> {
        let refuse = || NameError::new("handler of a router", s, "`<bus>/<prefix of the cluster queues>`");
        let (bus, prefix) = s.split_once('/').ok_or_else(refuse)?;
        Ok(Self {
            bus: bus.parse()?,
            prefix: prefix.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler(bus: &str, prefix: &str) -> RouterHandler {
        RouterHandler {
            bus: bus.parse().unwrap(),
            prefix: prefix.parse().unwrap(),
        }
    }

    /// The longest names fit into what Lambda accepts as a handler: 128 characters without white space (Lambda API
    /// reference, `CreateFunction`).
    #[test]
    fn every_bus_and_prefix_fits_into_a_handler() {
        for (bus, prefix) in [("kibus", "karpenter-"), ("a", ""), (&"b".repeat(20), &"x_".repeat(20))] {
            let text = handler(bus, prefix).to_string();
            assert!(text.len() <= 128 && !text.contains(char::is_whitespace), "{text}");
            assert_eq!(text.parse(), Ok(handler(bus, prefix)));
        }
        assert!("b".repeat(21).parse::<BusName>().is_err(), "a longer bus has no test");
        assert!(
            "x".repeat(41).parse::<QueuePrefix>().is_err(),
            "a longer prefix has no test"
        );
    }

    #[test]
    fn only_a_bus_and_a_prefix_are_settings() {
        for (text, expected) in [
            ("kibus/karpenter-", Some(handler("kibus", "karpenter-"))),
            ("kibus/", Some(handler("kibus", ""))),
            ("bootstrap", None),
            ("Kibus/x", None),
            ("kibus/a/b", None),
            ("", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }
}
