//! The router's settings: its bus and the prefix of its cluster queues, in the handler string of the function.
//!
//! A custom runtime ignores the handler, and Lambda passes it to the process as `_HANDLER`. Environment variables could
//! carry the same, but Lambda encrypts them with a grant to the role's unique id, so a function with variables does not
//! start once its role was deleted and created again.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::model::name::{BusName, NameError, QueuePrefix};
use crate::model::resource::FunctionSettings;

/// The environment variable in which Lambda passes the handler to the process.
pub const HANDLER_VARIABLE: &str = "_HANDLER";

/// The variables that had the same settings in kibus 0.1.0.
const VARIABLES_0_1: [&str; 2] = ["KIBUS_BUS", "KIBUS_QUEUE_PREFIX"];

/// The settings of a router, as text `<bus>/<prefix>`. The prefix may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterHandler {
    pub bus: BusName,
    /// The prefix of the cluster queues.
    pub prefix: QueuePrefix,
}

impl RouterHandler {
    /// The settings of a function or a version; `None` if it has none that a router can read. A router of kibus 0.1.0
    /// has them in its environment variables.
    #[must_use]
    pub fn of(settings: &FunctionSettings) -> Option<Self> {
        Self::read(&settings.handler, &settings.environment)
    }

    /// The settings in a handler, else in the environment variables of kibus 0.1.0.
    #[must_use]
    pub fn read(handler: &str, environment: &BTreeMap<String, String>) -> Option<Self> {
        let [bus, prefix] = VARIABLES_0_1.map(|name| environment.get(name));
        handler.parse().ok().or_else(|| {
            Some(Self {
                bus: bus?.parse().ok()?,
                prefix: prefix?.parse().ok()?,
            })
        })
    }

    /// Whether a field of a function, by its path, is part of these settings.
    #[must_use]
    pub fn is_in(path: &str) -> bool {
        let variable = path.strip_prefix("environment.");
        path == "handler" || variable.is_some_and(|name| VARIABLES_0_1.contains(&name))
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
    fn settings_are_in_the_handler_or_in_the_variables_of_0_1_0() {
        let both = &[("KIBUS_BUS", "old"), ("KIBUS_QUEUE_PREFIX", "")][..];
        for (text, variables, expected) in [
            ("kibus/karpenter-", &[][..], Some(handler("kibus", "karpenter-"))),
            ("kibus/", &[], Some(handler("kibus", ""))),
            ("kibus/karpenter-", both, Some(handler("kibus", "karpenter-"))),
            ("bootstrap", both, Some(handler("old", ""))),
            ("bootstrap", &both[..1], None),
            ("bootstrap", &[], None),
            ("Kibus/x", &[], None),
            ("kibus/a/b", &[], None),
            ("", &[], None),
        ] {
            let variables = variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let read = RouterHandler::read(text, &variables.collect());
            assert_eq!(read, expected, "{text}");
        }
    }
}
