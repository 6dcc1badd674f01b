//! The concurrency of an account in a Region.

use super::AwsCloud;
use crate::cloud::Fault;

/// The concurrent invocations that no function has reserved; `None` if the answer leaves it out.
pub(super) async fn unreserved(cloud: &AwsCloud) -> Result<Option<u32>, Fault> {
    let action = "lambda:GetAccountSettings";
    let answer = cloud
        .call(action, || cloud.lambda.get_account_settings().send())
        .await?;
    let limit = answer.account_limit;
    Ok(limit
        .and_then(|limit| limit.unreserved_concurrent_executions)
        .and_then(|number| number.try_into().ok()))
}
