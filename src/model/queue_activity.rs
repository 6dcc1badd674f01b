//! What happened on a queue in the last day.

/// Counts of a queue over the last day, from the metrics that SQS reports to CloudWatch while a queue is active: for up to six
/// hours after a call or a message (SQS developer guide, "Monitoring queues using CloudWatch"). Without any data, there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueActivity {
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that were received.
    pub received: u64,
    /// Receives that returned nothing.
    pub empty_receives: u64,
    /// Messages that were deleted.
    pub deleted: u64,
    /// Hours with so many empty receives that something polled the queue without pause.
    pub polled_hours: u64,
}
