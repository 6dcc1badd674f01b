//! The managed policies that are attached to a role.

use std::collections::BTreeSet;

use super::AwsCloud;
use super::document::read_encoded;
use super::error::{OrFault, if_present};
use super::pages;
use crate::cloud::Fault;
use crate::model::document::Document;
use crate::model::name::RoleName;

/// The ARNs of all of them; `None` if there is no such role.
pub(super) async fn attached(cloud: &AwsCloud, role: &RoleName) -> Result<Option<BTreeSet<String>>, Fault> {
    let call = cloud.iam.list_attached_role_policies().role_name(role.as_str());
    let pages = call
        .max_items(1000)
        .into_paginator()
        .stop_on_duplicate_token(false)
        .send();
    let attached = pages::all("iam:ListAttachedRolePolicies", pages, |page| page.attached_policies);
    let attached = if_present(attached.await)?;
    Ok(attached.map(|policies| policies.into_iter().filter_map(|policy| policy.policy_arn).collect()))
}

/// The default version of one of them; `None` if it does not exist.
pub(super) async fn read(cloud: &AwsCloud, arn: &str) -> Result<Option<Document>, Fault> {
    let call = cloud.iam.get_policy().policy_arn(arn).send();
    let policy = if_present(call.await.or_fault("iam:GetPolicy"))?.and_then(|answer| answer.policy);
    let Some(version) = policy.and_then(|policy| policy.default_version_id) else {
        return Ok(None);
    };
    let call = cloud.iam.get_policy_version().policy_arn(arn).version_id(version);
    let answer = if_present(call.send().await.or_fault("iam:GetPolicyVersion"))?;
    let document = answer.and_then(|answer| answer.policy_version?.document);
    Ok(document.as_deref().map(read_encoded))
}
