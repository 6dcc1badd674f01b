//! IAM roles.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_iam::types::Tag;

use super::AwsCloud;
use super::changes::{Changes, Update};
use super::document;
use super::error::{if_present, rejected};
use super::wait::{WaitReason, Waiting, accepted, found};
use crate::cloud::Fault;
use crate::model::name::RoleName;
use crate::model::resource::{Role, RoleField};

/// The roles that this run has given a permissions boundary. Changes of IAM are eventually consistent (IAM user guide,
/// "Troubleshoot IAM"), so a condition on `iam:PermissionsBoundary` may still deny the next call.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounded(Arc<Mutex<BTreeSet<RoleName>>>);

impl Bounded {
    fn note(&self, role: &Role) {
        if role.permissions_boundary.is_some() {
            let mut roles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            roles.insert(role.name.clone());
        }
    }

    /// Why AWS may deny or not find what is about this role, for now.
    pub(super) fn unseen(&self, role: &RoleName) -> &'static [WaitReason] {
        let roles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if roles.contains(role) {
            &[WaitReason::RoleUnknown, WaitReason::BoundaryUnknown]
        } else {
            &[WaitReason::RoleUnknown]
        }
    }
}

pub(super) async fn read(cloud: &AwsCloud, name: &RoleName) -> Result<Option<Role>, Fault> {
    let call = cloud.iam.get_role().role_name(name.as_str());
    let Some(answer) = if_present(cloud.call("iam:GetRole", || call.clone().send()).await)? else {
        return Ok(None);
    };
    let odd = |what: &str, value: &str| {
        rejected(
            "iam:GetRole",
            format!("role `{name}` has a {what} that kibus does not support: `{value}`"),
        )
    };
    let role = answer
        .role
        .ok_or_else(|| rejected("iam:GetRole", "the answer holds no role"))?;
    let boundary = role
        .permissions_boundary
        .and_then(|boundary| boundary.permissions_boundary_arn);
    Ok(Some(Role {
        name: name.clone(),
        path: role.path.parse().map_err(|_| odd("path", &role.path))?,
        trust: document::read_encoded(&role.assume_role_policy_document.unwrap_or_default()),
        permissions_boundary: boundary
            .map(|arn| arn.parse().map_err(|_| odd("permissions boundary", &arn)))
            .transpose()?,
        tags: role
            .tags
            .unwrap_or_default()
            .into_iter()
            .map(|tag| (tag.key, tag.value))
            .collect(),
    }))
}

pub(super) async fn create(cloud: &AwsCloud, role: &Role, waiting: Waiting<'_>) -> Result<(), Fault> {
    let Role {
        name,
        path,
        trust,
        permissions_boundary,
        tags,
    } = role;
    cloud.bounded.note(role);
    let tags = tags
        .0
        .iter()
        .map(|(key, value)| tag(key, value))
        .collect::<Result<Vec<_>, _>>()?;
    accepted("iam:CreateRole", waiting, || {
        let call = cloud
            .iam
            .create_role()
            .role_name(name.as_str())
            .path(path.as_str())
            .assume_role_policy_document(trust.compact())
            .set_permissions_boundary(permissions_boundary.as_ref().map(ToString::to_string))
            .set_tags(Some(tags.clone()));
        async move { cloud.call("iam:CreateRole", || call.clone().send()).await }
    })
    .await?;
    Ok(())
}

pub(super) async fn update(
    cloud: &AwsCloud,
    Update { to: role, fields, .. }: Update<'_, Role>,
    waiting: Waiting<'_>,
) -> Result<(), Fault> {
    let name = role.name.as_str();
    let Changes { fields, tags } = Changes::among("iam:UpdateAssumeRolePolicy", fields)?;
    for field in fields {
        match field {
            // Cannot change in place: a plan replaces the role.
            RoleField::Path => {}
            RoleField::Trust => {
                let action = "iam:UpdateAssumeRolePolicy";
                found(action, WaitReason::RoleUnknown, waiting, || {
                    let call = cloud.iam.update_assume_role_policy().role_name(name);
                    let call = call.policy_document(role.trust.compact());
                    async move { cloud.call(action, || call.clone().send()).await }
                })
                .await?;
            }
            RoleField::PermissionsBoundary => bound(cloud, role, waiting).await?,
        }
    }
    if !tags.remove.is_empty() {
        let action = "iam:UntagRole";
        found(action, WaitReason::RoleUnknown, waiting, || {
            let call = cloud.iam.untag_role().role_name(name);
            let call = call.set_tag_keys(Some(tags.remove.clone()));
            async move { cloud.call(action, || call.clone().send()).await }
        })
        .await?;
    }
    if !tags.set.is_empty() {
        let set = tags
            .set
            .iter()
            .map(|(key, value)| tag(key, value))
            .collect::<Result<Vec<_>, _>>()?;
        let action = "iam:TagRole";
        found(action, WaitReason::RoleUnknown, waiting, || {
            let call = cloud.iam.tag_role().role_name(name).set_tags(Some(set.clone()));
            async move { cloud.call(action, || call.clone().send()).await }
        })
        .await?;
    }
    Ok(())
}

async fn bound(cloud: &AwsCloud, role: &Role, waiting: Waiting<'_>) -> Result<(), Fault> {
    let name = role.name.as_str();
    cloud.bounded.note(role);
    match &role.permissions_boundary {
        Some(boundary) => {
            let action = "iam:PutRolePermissionsBoundary";
            found(action, WaitReason::RoleUnknown, waiting, || {
                let call = cloud.iam.put_role_permissions_boundary().role_name(name);
                let call = call.permissions_boundary(boundary.as_str());
                async move { cloud.call(action, || call.clone().send()).await.map(drop) }
            })
            .await
        }
        None => {
            let action = "iam:DeleteRolePermissionsBoundary";
            found(action, WaitReason::RoleUnknown, waiting, || {
                let call = cloud.iam.delete_role_permissions_boundary().role_name(name);
                async move { cloud.call(action, || call.clone().send()).await.map(drop) }
            })
            .await
        }
    }
}

/// Its inline policies must be deleted first.
pub(super) async fn delete(cloud: &AwsCloud, name: &RoleName, waiting: Waiting<'_>) -> Result<(), Fault> {
    let answer = accepted("iam:DeleteRole", waiting, || {
        let call = cloud.iam.delete_role().role_name(name.as_str());
        async move { cloud.call("iam:DeleteRole", || call.clone().send()).await }
    });
    if_present(answer.await).map(drop)
}

fn tag(key: &str, value: &str) -> Result<Tag, Fault> {
    let tag = Tag::builder().key(key).value(value).build();
    tag.map_err(|e| rejected("iam:TagRole", e.to_string()))
}
