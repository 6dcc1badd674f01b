//! A line of the router's log: the outcome of an event, or of its instances that share a decision, a cluster, a node
//! pool and a type. The router writes it, and the command line reads it.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};

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

/// The members are in the same order as in the router documentation. Lines of older routers lack the urgency, the node
/// pool, the type, the time and the delay, and do not cover deliveries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RouterLine<'a> {
    #[serde(borrow)]
    pub level: Cow<'a, str>,
    /// [`DELIVERED`], [`DROPPED`], [`RETRIED`], or another message of the router about instances.
    #[serde(borrow)]
    pub message: Cow<'a, str>,
    pub reason: Option<Cow<'a, str>>,
    /// The slug of the signal; `None` for anything that is not an event.
    pub signal: Option<Cow<'a, str>>,
    pub urgency: Option<Cow<'a, str>>,
    /// The new state of the instance.
    pub state: Option<Cow<'a, str>>,
    /// Empty if none is known, like the node pool.
    #[serde(borrow)]
    pub cluster: Cow<'a, str>,
    #[serde(borrow)]
    pub nodepool: Cow<'a, str>,
    #[serde(rename = "type")]
    pub instance_type: Option<Cow<'a, str>>,
    /// Not all of them, if there are many.
    pub instances: Vec<Cow<'a, str>>,
    /// How many messages or entities the line is about.
    #[serde(deserialize_with = "counted")]
    pub items: usize,
    /// The time in the event, in RFC 3339.
    pub time: Option<Cow<'a, str>>,
    /// Milliseconds from that time to the delivery.
    pub delay: Option<i64>,
    /// `None` for a message that did not come from a queue.
    pub receives: Option<u32>,
    #[serde(borrow)]
    pub message_id: Cow<'a, str>,
    #[serde(borrow)]
    pub request: Cow<'a, str>,
}

/// The maximum number of items in a line. A batch of the router has fewer; others may write lines that claim more.
const MOST_ITEMS: usize = 100_000;

fn counted<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    Ok(usize::deserialize(from)?.min(MOST_ITEMS))
}

impl<'a> RouterLine<'a> {
    /// Parses a line; `None` if it is not a line that the router writes about events.
    pub fn read(text: &'a str) -> Option<Self> {
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
        assert_eq!((line.message.as_ref(), line.receives, line.delay), (DROPPED, Some(2), None));
        for other in ["START RequestId: 1", "{}", "[]", r#"{"message": 1}"#, "null"] {
            assert_eq!(RouterLine::read(other), None, "{other}");
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let line = RouterLine {
            message: DELIVERED.into(),
            cluster: "a\u{1b}\"".into(),
            instance_type: Some("m5.large".into()),
            delay: Some(-3),
            ..RouterLine::default()
        };
        let text = serde_json::to_string(&line).unwrap();
        assert!(text.contains(r#""type":"m5.large""#), "{text}");
        assert_eq!(RouterLine::read(&text), Some(line));
    }
}
