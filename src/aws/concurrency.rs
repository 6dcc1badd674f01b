//! The concurrency of an account in a Region.

use super::AwsCloud;
use super::error::OrFault;
use crate::cloud::Fault;

/// The concurrent invocations that no function has reserved; `None` if the answer leaves it out.
pub(super) async fn unreserved(cloud: &AwsCloud) -> Result<Option<u32>, Fault> {
    let answer = cloud.lambda.get_account_settings().send().await;
    let limit = answer.or_fault("lambda:GetAccountSettings")?.account_limit;
    Ok(limit
        .and_then(|limit| limit.unreserved_concurrent_executions)
        .and_then(|number| number.try_into().ok()))
}
