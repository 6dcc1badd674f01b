//! Inline policies of IAM roles.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_iam::operation::get_account_authorization_details::GetAccountAuthorizationDetailsOutput;
use aws_sdk_iam::types::{EntityType, RoleDetail};

use super::document::decoded;
use super::role::unseen;
use super::write::{Update, Writing};
use super::{AwsCloud, document, still_absent};
use crate::cloud::{Fault, FaultKind, Read};
use crate::model::name::RoleName;
use crate::model::policy::InlinePolicy;
use crate::model::resource::calls::iam;
use crate::model::resource::{PolicyName, ResourceId, RolePolicy};

const PUT: &str = iam::PUT_ROLE_POLICY;

pub(super) async fn read(cloud: &AwsCloud, role: &RoleName, name: &PolicyName) -> Result<Option<RolePolicy>, Fault> {
    let policy = cloud.inline_policy(role, name.as_str()).await?;
    Ok(policy.map(|policy| RolePolicy {
        role: role.clone(),
        name: name.clone(),
        document: document::read(&policy.text),
    }))
}

pub(super) async fn create(cloud: &Writing<'_>, policy: &RolePolicy) -> Result<(), Fault> {
    let id = ResourceId::RolePolicy(policy.role.clone(), policy.name.clone());
    still_absent(cloud, PUT, &id).await?;
    put(cloud, policy).await
}

pub(super) async fn update(cloud: &Writing<'_>, update: Update<'_, RolePolicy>) -> Result<(), Fault> {
    put(cloud, update.to).await
}

/// IAM may not find a role yet that is new too, nor a condition its boundary.
async fn put(cloud: &Writing<'_>, policy: &RolePolicy) -> Result<(), Fault> {
    let RolePolicy { role, name, document } = policy;
    let call = cloud.iam.put_role_policy().role_name(role).policy_name(name);
    let call = call.policy_document(document.compact());
    let answer = cloud.seen(PUT, unseen(cloud, role), || call.clone().send());
    answer.await.map(drop)
}

pub(super) async fn delete(cloud: &Writing<'_>, role: &RoleName, name: &PolicyName) -> Result<(), Fault> {
    let call = cloud.iam.delete_role_policy().role_name(role).policy_name(name);
    let send = || call.clone().send();
    cloud.remove(iam::DELETE_ROLE_POLICY, send).await.map(drop)
}

/// How many roles a page has. With the longest trust policy and inline policies, percent-encoded, each has 60 kB, so an
/// answer has at most 18 MB.
const PAGE: i32 = 300;

/// Those of these roles that exist. One page of IAM's report about the account has hundreds of roles, and IAM counts the calls.
pub(super) async fn of_roles(
    cloud: &AwsCloud,
    roles: &BTreeSet<RoleName>,
) -> Result<BTreeMap<RoleName, Vec<InlinePolicy>>, Fault> {
    if let Some(fault) = cloud.roles_denied.get() {
        return Err(fault.clone());
    }
    let call = cloud.iam.get_account_authorization_details();
    let call = call.filter(EntityType::Role).max_items(PAGE);
    let page = |marker| call.clone().set_marker(marker).send();
    // The roles of others are not kept: an account can have thousands.
    let wanted = |page: GetAccountAuthorizationDetailsOutput| {
        let all = page.role_detail_list.unwrap_or_default().into_iter();
        (Some(all.filter_map(|role| details(role, roles)).collect()), page.marker)
    };
    let details: Result<Vec<_>, _> = cloud.pages(iam::GET_ACCOUNT_AUTHORIZATION_DETAILS, page, wanted).await;
    let details = details.inspect_err(|fault| {
        if let FaultKind::Denied { .. } = fault.kind {
            cloud.roles_denied.get_or_init(|| fault.clone());
        }
    })?;
    Ok(details.into_iter().collect())
}

fn details(role: RoleDetail, wanted: &BTreeSet<RoleName>) -> Option<(RoleName, Vec<InlinePolicy>)> {
    let name: RoleName = role.role_name?.parse().ok()?;
    if !wanted.contains(&name) {
        return None;
    }
    let inline = role.role_policy_list.unwrap_or_default().into_iter();
    let inline = inline.filter_map(|policy| {
        Some(InlinePolicy {
            name: policy.policy_name?,
            text: decoded(&policy.policy_document?),
        })
    });
    Some((name, inline.collect()))
}
