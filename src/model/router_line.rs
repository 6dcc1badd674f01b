//! A line of the router's log about what became of an event, or of the instances in it that share an end. The router writes it, and
//! `kibus events` reads it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::name::{all, names};

/// The message of a delivery.
pub const DELIVERED: &str = "delivered";
/// The message of a drop.
pub const DROPPED: &str = "dropped";
/// The message of a return to the hub queue.
pub const RETRIED: &str = "retried";

names! {
    /// The name of a Karpenter NodePool: a Kubernetes name.
    NodePoolName: "node pool name",
        "1 to 253 lower-case letters, digits, `-` and `.`",
        |s| !s.is_empty() && s.len() <= 253 && s.starts_with(|c: char| c.is_ascii_alphanumeric()) && all(s, "-.");
}

/// A word that the router takes from a table.
type Word = Cow<'static, str>;

/// Lines of older routers lack the urgency, the node pool, the type, the time and the delay, and have none of deliveries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RouterLine {
    pub level: Word,
    /// [`DELIVERED`], [`DROPPED`], [`RETRIED`], or what else the router reports of instances.
    pub message: Word,
    /// Null for a delivery.
    pub reason: Option<Word>,
    /// The slug of the signal; null for what is no event.
    pub signal: Option<Word>,
    pub urgency: Option<Word>,
    /// Empty if none is known.
    pub cluster: String,
    /// Empty if none is known.
    pub nodepool: String,
    #[serde(rename = "type")]
    pub instance_type: Option<String>,
    /// The first ten.
    pub instances: Vec<String>,
    /// All instances that share this end, or 1 for an event about none.
    pub items: usize,
    /// The time in the event, in RFC 3339.
    pub time: Option<String>,
    /// Milliseconds from then to the delivery.
    pub delay: Option<i64>,
    pub receives: u32,
    pub message_id: String,
    pub request: String,
    /// The new state of the instance, if the event has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl RouterLine {
    /// Reads a line; `None` if it is none that the router writes about events.
    pub fn read(text: &str) -> Option<Self> {
        let line: Self = serde_json::from_str(text).ok()?;
        (!line.message.is_empty()).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_an_older_router_is_read() {
        let old = r#"{"cluster":"","instances":["i-1"],"items":1,"level":"warn","message":"dropped","message_id":"m",
            "reason":"no tags seen","receives":2,"request":"r","signal":null}"#;
        let line = RouterLine::read(old).unwrap();
        assert_eq!((line.message.as_ref(), line.receives, line.delay), (DROPPED, 2, None));
        for other in ["START RequestId: 1", "{}", "[]", r#"{"message": 1}"#, "null"] {
            assert_eq!(RouterLine::read(other), None, "{other}");
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let line = RouterLine {
            message: DELIVERED.into(),
            instance_type: Some("m5.large".to_owned()),
            delay: Some(-3),
            ..RouterLine::default()
        };
        let text = serde_json::to_string(&line).unwrap();
        assert!(
            text.contains(r#""type":"m5.large""#) && !text.contains("state"),
            "{text}"
        );
        assert_eq!(RouterLine::read(&text), Some(line));
    }
}
