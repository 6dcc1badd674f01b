//! IAM roles.

use aws_sdk_iam::types::Tag;

use super::document;
use super::error::{if_present, rejected};
use super::wait::WaitReason;
use super::write::{Changes, Update, Writing};
use super::{AwsCloud, locked};
use crate::cloud::Fault;
use crate::model::{Role, RoleField, RoleName, Tags, calls::iam};

/// A role that this run has created may not be found yet.
const NEW: &[WaitReason] = &[WaitReason::RoleUnknown];

/// Remembers a role that receives a permissions boundary. Changes of IAM are eventually consistent (IAM user guide, "Troubleshoot
/// IAM"), so a condition on `iam:PermissionsBoundary` may still deny the next call.
fn note_boundary(cloud: &AwsCloud, role: &Role) {
    if role.permissions_boundary.is_some() {
        locked(&cloud.bounded).insert(role.name.clone());
    }
}

/// Why AWS may deny or not yet find anything about this role.
pub(super) fn unseen(cloud: &AwsCloud, role: &RoleName) -> &'static [WaitReason] {
    if locked(&cloud.bounded).contains(role) { &[WaitReason::RoleUnknown, WaitReason::BoundaryUnknown] } else { NEW }
}

pub(super) async fn read(cloud: &AwsCloud, name: &RoleName) -> Result<Option<Role>, Fault> {
    let action = iam::GET_ROLE;
    let call = cloud.iam.get_role().role_name(name);
    let Some(answer) = if_present(cloud.call(action, || call.clone().send()).await)? else {
        return Ok(None);
    };
    let odd = |what: &str, value: &str| {
        let message = format!("role `{name}` has a {what} that kibus does not support: `{value}`");
        rejected(action, message)
    };
    let none = || rejected(action, "the answer holds no role");
    let role = answer.role.ok_or_else(none)?;
    let tags = role.tags.unwrap_or_default().into_iter();
    let boundary = role.permissions_boundary.and_then(|b| b.permissions_boundary_arn);
    Ok(Some(Role {
        name: name.clone(),
        path: role.path.parse().map_err(|_| odd("path", &role.path))?,
        trust: document::read_encoded(&role.assume_role_policy_document.unwrap_or_default()),
        permissions_boundary: boundary
            .map(|arn| arn.parse().map_err(|_| odd("permissions boundary", &arn)))
            .transpose()?,
        tags: tags.map(|tag| (tag.key, tag.value)).collect(),
    }))
}

pub(super) async fn create(cloud: &Writing<'_>, role: &Role) -> Result<(), Fault> {
    let Role { name, path, trust, permissions_boundary, tags } = role;
    note_boundary(cloud, role);
    let call = cloud
        .iam
        .create_role()
        .role_name(name)
        .path(path)
        .assume_role_policy_document(trust.compact())
        .set_permissions_boundary(permissions_boundary.as_ref().map(String::from))
        .set_tags(Some(sdk_tags(tags)?));
    let send = || call.clone().send();
    cloud.write(iam::CREATE_ROLE, send).await
}

pub(super) async fn update(cloud: &Writing<'_>, update: Update<'_, Role>) -> Result<(), Fault> {
    let role = update.to;
    let name = &role.name;
    let Changes { fields, tags } = Changes::among(iam::UPDATE_ASSUME_ROLE_POLICY, update.fields)?;
    for field in fields {
        match field {
            // It cannot change in place: a plan replaces the role.
            RoleField::Path => {}
            RoleField::Trust => {
                let call = cloud.iam.update_assume_role_policy().role_name(name).policy_document(role.trust.compact());
                let send = || call.clone().send();
                cloud.seen(iam::UPDATE_ASSUME_ROLE_POLICY, NEW, send).await?;
            }
            RoleField::PermissionsBoundary => bound(cloud, role).await?,
        }
    }
    let untag = cloud.iam.untag_role().role_name(name).set_tag_keys(Some(tags.remove.clone()));
    let tag = cloud.iam.tag_role().role_name(name).set_tags(Some(sdk_tags(&tags.set)?));
    tags.write(
        cloud.seen(iam::UNTAG_ROLE, NEW, || untag.clone().send()),
        cloud.seen(iam::TAG_ROLE, NEW, || tag.clone().send()),
    )
    .await
}

async fn bound(cloud: &Writing<'_>, role: &Role) -> Result<(), Fault> {
    note_boundary(cloud, role);
    let (iam, name) = (&cloud.iam, &role.name);
    let Some(boundary) = &role.permissions_boundary else {
        let action = iam::DELETE_ROLE_PERMISSIONS_BOUNDARY;
        let send = || iam.delete_role_permissions_boundary().role_name(name).send();
        return cloud.seen(action, NEW, send).await.map(drop);
    };
    let (action, call) = (iam::PUT_ROLE_PERMISSIONS_BOUNDARY, iam.put_role_permissions_boundary());
    let call = call.role_name(name).permissions_boundary(boundary);
    let send = || call.clone().send();
    cloud.seen(action, NEW, send).await.map(drop)
}

/// Its inline policies must be deleted first.
pub(super) async fn delete(cloud: &Writing<'_>, name: &RoleName) -> Result<(), Fault> {
    let send = || cloud.iam.delete_role().role_name(name).send();
    cloud.remove(iam::DELETE_ROLE, send).await.map(drop)
}

fn sdk_tags(tags: &Tags) -> Result<Vec<Tag>, Fault> {
    let tag = |(key, value): (&String, &String)| Tag::builder().key(key).value(value).build();
    let tags = tags.0.iter().map(tag).collect::<Result<_, _>>();
    tags.map_err(|e| rejected(iam::TAG_ROLE, e.to_string()))
}
