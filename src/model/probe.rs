//! A probe of the bus or of a cluster, and its result.

use std::collections::BTreeMap;
use std::time::Duration;

use super::name::{ClusterName, QueueName};

/// How long all probes of a hub may take.
pub const PROBE_LIMIT: Duration = Duration::from_secs(150);
/// How long a probe of the bus may take: new rules take effect within a minute, and then the function starts and retries.
pub const BUS_LIMIT: Duration = Duration::from_secs(120);
/// The pause before a probe of the bus is sent again: a new rule misses the first events.
pub const RESEND: Duration = Duration::from_secs(10);

/// The most messages of one receive (SQS API reference, `ReceiveMessage`).
pub const RECEIVED_AT_ONCE: usize = 10;

/// What one receive shows in a queue: each message by its id, and whether it is a probe of kibus. SQS may give copies of one
/// message in one answer (S28).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look(pub BTreeMap<String, bool>);

/// A probe and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The cluster that was probed; `None` for the bus itself.
    pub cluster: Option<ClusterName>,
    /// The queue that the probe was sent to.
    pub queue: QueueName,
    /// How long it took.
    pub took: Duration,
    /// How often it was sent.
    pub sent: u32,
    /// Its result.
    pub result: ProbeResult,
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// It arrived in the probe queue.
    Delivered,
    /// It did not arrive in time.
    Lost,
    /// The router did not deliver it; its reason.
    NotDelivered(String),
    /// A consumer received it.
    Read,
    /// No consumer received it.
    NotRead,
    /// The result is unknown; why.
    Unknown(String),
}
