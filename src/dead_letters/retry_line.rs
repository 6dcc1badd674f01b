//! The router's log about messages that it returned to their queue.

use serde_json::Value;

/// A line of the router's log about a message that returned to its queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryLine {
    pub id: String,
    pub reason: String,
    /// The cluster, if it was known.
    pub cluster: Option<String>,
}

impl RetryLine {
    /// Reads a line; `None` if it is about something else.
    pub fn read(line: &str) -> Option<Self> {
        let line: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        (line["message"] == "retried").then_some(())?;
        Some(Self {
            id: text("message_id")?,
            reason: text("reason")?,
            cluster: text("cluster").filter(|cluster| !cluster.is_empty()),
        })
    }
}
