//! The concurrency of an account in a Region.

use super::AwsCloud;
use super::error::OrFault;
use crate::cloud::Fault;

impl AwsCloud {
    /// The concurrent invocations of the account and Region that no function has reserved; `None` if the answer leaves
    /// it out.
    ///
    /// # Errors
    /// When the call is refused or not answered.
    pub async fn unreserved_concurrency(&self) -> Result<Option<u32>, Fault> {
        let answer = self.lambda.get_account_settings().send().await;
        let limit = answer.or_fault("lambda:GetAccountSettings")?.account_limit;
        Ok(limit
            .and_then(|limit| limit.unreserved_concurrent_executions)
            .and_then(|number| number.try_into().ok()))
    }
}
