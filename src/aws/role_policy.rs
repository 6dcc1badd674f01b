//! Inline policies of IAM roles.

use super::changes::Update;
use super::error::if_present;
use super::wait::Waiting;
use super::{AwsCloud, document, still_absent};
use crate::cloud::Fault;
use crate::model::name::RoleName;
use crate::model::resource::calls::iam;
use crate::model::resource::{PolicyName, ResourceId, RolePolicy};

const PUT: &str = iam::PUT_ROLE_POLICY;

pub(super) async fn read(cloud: &AwsCloud, role: &RoleName, name: &PolicyName) -> Result<Option<RolePolicy>, Fault> {
    let call = cloud.iam.get_role_policy().role_name(role).policy_name(name);
    let answer = if_present(cloud.call(iam::GET_ROLE_POLICY, || call.clone().send()).await)?;
    Ok(answer.map(|answer| RolePolicy {
        role: role.clone(),
        name: name.clone(),
        document: document::read_encoded(&answer.policy_document),
    }))
}

pub(super) async fn create(cloud: &AwsCloud, policy: &RolePolicy, waiting: Waiting<'_>) -> Result<(), Fault> {
    let id = ResourceId::RolePolicy(policy.role.clone(), policy.name.clone());
    still_absent(cloud, PUT, &id).await?;
    put(cloud, policy, waiting).await
}

pub(super) async fn update(
    cloud: &AwsCloud,
    Update { to, .. }: Update<'_, RolePolicy>,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    put(cloud, to, waiting).await
}

/// IAM may not find a role yet that is new too, nor a condition its boundary.
async fn put(cloud: &AwsCloud, policy: &RolePolicy, waiting: Waiting<'_>) -> Result<(), Fault> {
    let RolePolicy { role, name, document } = policy;
    let call = cloud.iam.put_role_policy().role_name(role).policy_name(name);
    let call = call.policy_document(document.compact());
    let answer = cloud.seen(PUT, cloud.bounded.unseen(role), waiting, || call.clone().send());
    answer.await.map(drop)
}

pub(super) async fn delete(
    cloud: &AwsCloud,
    role: &RoleName,
    name: &PolicyName,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    let call = cloud.iam.delete_role_policy().role_name(role).policy_name(name);
    let answer = cloud.accepted(iam::DELETE_ROLE_POLICY, waiting, || call.clone().send());
    if_present(answer.await).map(drop)
}
