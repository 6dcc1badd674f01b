//! The inline policies of a role: together they share one size limit.

use std::collections::BTreeSet;

use super::AwsCloud;
use super::document::decoded;
use super::error::if_present;
use super::pages;
use crate::cloud::Fault;
use crate::model::inline_policy::InlinePolicy;
use crate::model::name::RoleName;

/// The names of all of them; `None` if there is no such role.
pub(super) async fn names(cloud: &AwsCloud, role: &RoleName) -> Result<Option<BTreeSet<String>>, Fault> {
    let call = cloud.iam.list_role_policies().role_name(role.as_str()).max_items(1000);
    let page = |marker| {
        let call = call.clone().set_marker(marker);
        async { call.send().await.map(|page| (Some(page.policy_names), page.marker)) }
    };
    let names = if_present(pages::all(cloud, "iam:ListRolePolicies", page).await)?;
    Ok(names.map(|names| names.into_iter().collect()))
}

/// One of them, managed by kibus or not; `None` if it does not exist.
pub(super) async fn read(cloud: &AwsCloud, role: &RoleName, name: &str) -> Result<Option<InlinePolicy>, Fault> {
    let call = cloud.iam.get_role_policy().role_name(role.as_str()).policy_name(name);
    let answer = if_present(cloud.call("iam:GetRolePolicy", || call.clone().send()).await)?;
    Ok(answer.map(|answer| InlinePolicy {
        name: name.to_owned(),
        text: decoded(&answer.policy_document),
    }))
}
