//! Behaviors of CloudWatch Logs.

use super::At;
use super::Behavior::G1;
use super::bucket::Buckets;
use super::reply::Reply;

pub(super) struct Logs {
    calls: Buckets,
}

impl Default for Logs {
    fn default() -> Self {
        // On AWS 5 each second.
        Self {
            calls: Buckets::new(1, 1),
        }
    }
}

impl Logs {
    pub(super) fn before(&self, at: &At<'_>) -> Option<Reply> {
        let throttled = [
            "CreateLogGroup",
            "DeleteLogGroup",
            "DescribeLogGroups",
            "FilterLogEvents",
        ];
        let operation = at.call.operation.as_str();
        let is_throttled = at.is_on(G1) && throttled.contains(&operation) && !self.calls.take(&at.call.key(operation));
        is_throttled.then(|| {
            at.strike(G1);
            Reply::error(400, "ThrottlingException", "Rate exceeded")
        })
    }
}
