//! Behaviors of EC2.

use super::At;
use super::Behavior::{I1, T4};
use super::bucket::Buckets;
use super::call::Caller;
use super::reply::Reply;

pub(super) struct Ec2 {
    describe_tags: Buckets,
}

impl Default for Ec2 {
    fn default() -> Self {
        // On AWS typically 100 and 20.
        Self {
            describe_tags: Buckets::new(1, 3),
        }
    }
}

impl Ec2 {
    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        if at.call.operation != "DescribeTags" {
            return None;
        }
        if at.call.caller == Caller::Function && at.like.0.iam.denies_function(at) {
            at.strike(I1);
            let message = "You are not authorized to perform this operation.";
            return Some(Reply::ec2_error(403, "UnauthorizedOperation", message));
        }
        (at.is_on(T4) && !self.describe_tags.take(&at.call.key(""))).then(|| {
            at.strike(T4);
            Reply::ec2_error(503, "RequestLimitExceeded", "Request limit exceeded.")
        })
    }
}
