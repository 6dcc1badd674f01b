//! All inline policies of a role: together they share one size limit.

use futures_util::{StreamExt, TryStreamExt, stream};

use super::AwsCloud;
use super::document::decoded;
use super::error::{OrFault, if_present};
use crate::cloud::Fault;
use crate::model::inline_policy::InlinePolicy;
use crate::model::name::RoleName;

/// How many policies of one role are read at once: IAM throttles sooner than other services.
const AT_ONCE: usize = 8;

impl AwsCloud {
    /// All inline policies of a role, managed by kibus or not; none if there is no such role.
    ///
    /// # Errors
    /// When they cannot be listed or read.
    pub async fn inline_policies(&self, role: &RoleName) -> Result<Vec<InlinePolicy>, Fault> {
        let call = self.iam.list_role_policies().role_name(role.as_str()).max_items(1000);
        let mut answers = call.into_paginator().items().send();
        let mut names = Vec::new();
        while let Some(name) = answers.next().await {
            match if_present(name.or_fault("iam:ListRolePolicies"))? {
                Some(name) => names.push(name),
                None => return Ok(Vec::new()),
            }
        }
        let policies = stream::iter(names)
            .map(|name| async move {
                let call = self.iam.get_role_policy().role_name(role.as_str()).policy_name(&name);
                let answer = if_present(call.send().await.or_fault("iam:GetRolePolicy"))?;
                Ok(answer.map(|answer| InlinePolicy {
                    name,
                    text: decoded(&answer.policy_document),
                }))
            })
            .buffered(AT_ONCE);
        // A policy deleted between the two calls uses no space anymore.
        policies
            .try_filter_map(|policy| async { Ok(policy) })
            .try_collect()
            .await
    }
}
