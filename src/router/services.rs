//! What the router asks of EC2 and SQS, and what they may answer. The laws of routing are tested against every
//! possible answer, which no local service can be made to give.

use std::collections::HashMap;

use super::batch::Message;
use super::call_counts::CallCounts;
use super::decision::RetryReason;
use super::instance::InstanceId;
use crate::model::name::QueueName;
use crate::model::tags::Tags;

/// Why a call has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallFailure {
    /// The same call may succeed soon.
    Again(RetryReason),
    /// AWS says that the router may not do this.
    Denied,
    /// AWS says that there is no such queue.
    Absent,
    /// The request as a whole is too large.
    TooLong,
    /// AWS does not accept the request and will not accept it later.
    Refused,
}

/// The tags of instances, which EC2 knows.
pub(super) trait InstanceTags: Send + Sync + 'static {
    /// The tags of those of up to 200 instances that have any. Counts every call that this takes.
    fn tags_of(
        &self,
        ids: &[InstanceId],
        calls: &CallCounts,
    ) -> impl Future<Output = Result<HashMap<InstanceId, Tags>, CallFailure>> + Send;
}

/// The queues of SQS.
pub(super) trait Queues: Send + Sync + 'static {
    /// Sends up to ten messages to a queue. Gives one result for each message, in order.
    fn send(
        &self,
        queue: &QueueName,
        bodies: &[&str],
    ) -> impl Future<Output = Result<Vec<Result<(), CallFailure>>, CallFailure>> + Send;

    /// The tags of a queue.
    fn tags(&self, queue: &QueueName) -> impl Future<Output = Result<Tags, CallFailure>> + Send;

    /// Receives up to ten messages of a queue without waiting, and hides them for this number of seconds.
    fn receive(&self, queue: &QueueName, hidden: u32)
    -> impl Future<Output = Result<Vec<Message>, CallFailure>> + Send;

    /// Deletes up to ten messages of a queue, by their receipt handles. Gives how many of them are deleted.
    fn delete(&self, queue: &QueueName, receipts: &[&str]) -> impl Future<Output = Result<usize, CallFailure>> + Send;

    /// Hides up to ten messages of a queue for a number of seconds each, by their receipt handles.
    fn hide(&self, queue: &QueueName, receipts: &[(&str, u32)])
    -> impl Future<Output = Result<(), CallFailure>> + Send;
}
