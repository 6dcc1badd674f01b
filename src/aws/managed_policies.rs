//! The managed policies that are attached to a role.

use std::collections::BTreeSet;

use super::AwsCloud;
use super::document::read_encoded;
use super::error::if_present;
use super::pages;
use crate::cloud::Fault;
use crate::model::document::Document;
use crate::model::name::RoleName;

/// The ARNs of all of them; `None` if there is no such role.
pub(super) async fn attached(cloud: &AwsCloud, role: &RoleName) -> Result<Option<BTreeSet<String>>, Fault> {
    let call = cloud
        .iam
        .list_attached_role_policies()
        .role_name(role.as_str())
        .max_items(1000);
    let page = |marker| {
        let call = call.clone().set_marker(marker);
        async { call.send().await.map(|page| (page.attached_policies, page.marker)) }
    };
    let attached = if_present(pages::all(cloud, "iam:ListAttachedRolePolicies", page).await)?;
    Ok(attached.map(|policies| policies.into_iter().filter_map(|policy| policy.policy_arn).collect()))
}

/// The default version of one of them; `None` if it does not exist.
pub(super) async fn read(cloud: &AwsCloud, arn: &str) -> Result<Option<Document>, Fault> {
    let call = cloud.iam.get_policy().policy_arn(arn);
    let policy =
        if_present(cloud.call("iam:GetPolicy", || call.clone().send()).await)?.and_then(|answer| answer.policy);
    let Some(version) = policy.and_then(|policy| policy.default_version_id) else {
        return Ok(None);
    };
    let call = cloud.iam.get_policy_version().policy_arn(arn).version_id(version);
    let answer = if_present(cloud.call("iam:GetPolicyVersion", || call.clone().send()).await)?;
    let document = answer.and_then(|answer| answer.policy_version?.document);
    Ok(document.as_deref().map(read_encoded))
}
