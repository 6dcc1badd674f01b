//! Behaviors of EC2.

use super::At;
use super::Behavior::I1;
use super::call::Caller;
use super::reply::Reply;

pub(super) fn before(at: &At<'_>) -> Option<Reply> {
    let is_denied =
        at.call.operation == "DescribeTags" && at.call.caller == Caller::Function && at.like.0.iam.denies_function(at);
    is_denied.then(|| {
        at.strike(I1);
        let message = "You are not authorized to perform this operation.";
        Reply::ec2_error(403, "UnauthorizedOperation", message)
    })
}
