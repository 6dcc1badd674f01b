//! What is asked of the account and not of a resource that is planned.

use std::collections::BTreeSet;

use super::AwsCloud;
use super::document::decoded;
use super::error::{Answer, if_present};
use crate::cloud::Fault;
use crate::model::inline_policy::InlinePolicy;
use crate::model::name::RoleName;

impl AwsCloud {
    pub(super) async fn list_inline_policies(&self, role: &RoleName) -> Result<Option<BTreeSet<String>>, Fault> {
        let call = self.iam.list_role_policies().role_name(role.as_str());
        let mut answers = call.into_paginator().items().send();
        let mut names = BTreeSet::new();
        while let Some(name) = answers.next().await {
            match if_present(name.answer("iam:ListRolePolicies"))? {
                Some(name) => names.insert(name),
                None => return Ok(None),
            };
        }
        Ok(Some(names))
    }

    pub(super) async fn get_inline_policy(&self, role: &RoleName, name: &str) -> Result<Option<InlinePolicy>, Fault> {
        let call = self.iam.get_role_policy().role_name(role.as_str()).policy_name(name);
        let answer = if_present(call.send().await.answer("iam:GetRolePolicy"))?;
        Ok(answer.map(|answer| InlinePolicy {
            name: name.to_owned(),
            text: decoded(&answer.policy_document),
        }))
    }

    pub(super) async fn account_concurrency(&self) -> Result<Option<u32>, Fault> {
        let answer = self.lambda.get_account_settings().send().await;
        let limit = answer.answer("lambda:GetAccountSettings")?.account_limit;
        Ok(limit
            .and_then(|limit| limit.unreserved_concurrent_executions)
            .and_then(|number| number.try_into().ok()))
    }
}
