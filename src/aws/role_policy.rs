//! Inline policies of IAM roles.

use super::AwsCloud;
use super::document;
use super::error::{OrFault, if_present};
use super::wait::{Tried, WaitReason, Waiting, accepted, settled};
use crate::cloud::{Fault, FaultKind};
use crate::model::name::{PolicyName, RoleName};
use crate::model::resource::{ResourceId, RolePolicy};

const PUT: &str = "iam:PutRolePolicy";

pub(super) async fn read(cloud: &AwsCloud, role: &RoleName, name: &PolicyName) -> Result<Option<RolePolicy>, Fault> {
    let call = cloud
        .iam
        .get_role_policy()
        .role_name(role.as_str())
        .policy_name(name.as_str());
    let answer = if_present(call.send().await.or_fault("iam:GetRolePolicy"))?;
    Ok(answer.map(|answer| RolePolicy {
        role: role.clone(),
        name: name.clone(),
        document: document::read_encoded(&answer.policy_document),
    }))
}

/// IAM may not find a role yet that is new too.
pub(super) async fn create(cloud: &AwsCloud, policy: &RolePolicy, waiting: Waiting<'_>) -> Result<(), Fault> {
    let id = ResourceId::RolePolicy(policy.role.clone(), policy.name.clone());
    cloud.still_absent(PUT, &id).await?;
    settled(PUT, waiting, || async move {
        match put(cloud, policy).await {
            Err(fault) if fault.kind == FaultKind::Gone => Ok(Tried::NotYet(WaitReason::RoleUnknown)),
            answer => answer.map(Tried::Done),
        }
    })
    .await
}

pub(super) async fn update(cloud: &AwsCloud, policy: &RolePolicy, waiting: Waiting<'_>) -> Result<(), Fault> {
    accepted(PUT, waiting, || put(cloud, policy)).await
}

pub(super) async fn delete(cloud: &AwsCloud, role: &RoleName, name: &PolicyName) -> Result<(), Fault> {
    let call = cloud
        .iam
        .delete_role_policy()
        .role_name(role.as_str())
        .policy_name(name.as_str());
    if_present(call.send().await.or_fault("iam:DeleteRolePolicy")).map(drop)
}

async fn put(cloud: &AwsCloud, policy: &RolePolicy) -> Result<(), Fault> {
    let RolePolicy { role, name, document } = policy;
    let call = cloud.iam.put_role_policy().role_name(role.as_str());
    let call = call.policy_name(name.as_str()).policy_document(document.compact());
    call.send().await.or_fault(PUT).map(drop)
}
