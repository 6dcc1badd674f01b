//! The concurrency that Lambda gives an account in a Region.

use super::AwsCloud;
use super::error::OrFault;
use crate::cloud::Fault;

impl AwsCloud {
    /// How many concurrent invocations of the account and Region are set aside for no function; nothing if the answer
    /// does not say.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub async fn unreserved_concurrency(&self) -> Result<Option<u32>, Fault> {
        let answer = self.lambda.get_account_settings().send().await;
        let limit = answer.or_fault("lambda:GetAccountSettings")?.account_limit;
        Ok(limit
            .and_then(|limit| limit.unreserved_concurrent_executions)
            .and_then(|number| number.try_into().ok()))
    }
}
