//! What the router asks of EC2 and SQS, and what they may answer. The laws of routing are tested against any
//! answer, which no local service can be made to give.

use std::collections::HashMap;

use super::Calls;
use super::instance::InstanceId;
use super::verdict::GiveBack;
use crate::model::name::QueueName;
use crate::model::tags::Tags;

/// Why a call has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The same call may succeed soon.
    Again(GiveBack),
    /// The router may not do this, or is told so.
    Denied,
    /// There is no such queue, or the router is told so.
    Absent,
    /// The request as a whole is too large.
    TooLong,
    /// Something in the request is not taken, and will not be.
    Refused,
}

/// What EC2 knows.
pub trait InstanceTags: Send + Sync + 'static {
    /// The tags of those of up to 200 instances that have any. Every call that this takes is counted.
    fn tags_of(
        &self,
        ids: &[InstanceId],
        calls: &Calls,
    ) -> impl Future<Output = Result<HashMap<InstanceId, Tags>, Fault>> + Send;
}

/// The queues of SQS.
pub trait Queues: Send + Sync + 'static {
    /// Sends up to ten messages to a queue, and says of each whether it is there, in order.
    fn send(
        &self,
        queue: &QueueName,
        bodies: &[&str],
    ) -> impl Future<Output = Result<Vec<Result<(), Fault>>, Fault>> + Send;

    /// The tags of a queue.
    fn tags(&self, queue: &QueueName) -> impl Future<Output = Result<Tags, Fault>> + Send;

    /// Makes up to ten messages of a queue visible again after so many seconds, each known by its receipt handle.
    fn hide(&self, queue: &QueueName, receipts: &[(&str, u32)]) -> impl Future<Output = Result<(), Fault>> + Send;
}
