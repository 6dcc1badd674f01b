//! Inline policies of IAM roles.

use super::role::unseen;
use super::write::{Update, Writing};
use super::{AwsCloud, document, still_absent};
use crate::cloud::{Fault, Read};
use crate::model::{PolicyName, ResourceId, RoleName, RolePolicy, calls::iam};

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

/// IAM may not find a new role yet, and a condition may not see its boundary yet.
async fn put(cloud: &Writing<'_>, policy: &RolePolicy) -> Result<(), Fault> {
    let RolePolicy { role, name, document } = policy;
    let call = cloud.iam.put_role_policy().role_name(role).policy_name(name).policy_document(document.compact());
    let answer = cloud.seen(PUT, unseen(cloud, role), || call.clone().send());
    answer.await.map(drop)
}

pub(super) async fn delete(cloud: &Writing<'_>, role: &RoleName, name: &PolicyName) -> Result<(), Fault> {
    let call = cloud.iam.delete_role_policy().role_name(role).policy_name(name);
    let send = || call.clone().send();
    cloud.remove(iam::DELETE_ROLE_POLICY, send).await.map(drop)
}
