//! Behaviors of IAM.

use std::time::Instant;

use super::Behavior::{I3, L1};
use super::reply::Reply;
use super::{At, Moments};

#[derive(Default)]
pub(super) struct Iam {
    created: Moments,
}

impl Iam {
    /// When the role with this key was created, if through the proxy.
    pub(super) fn created(&self, key: &str) -> Option<Instant> {
        self.created.of(key)
    }

    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let role = at.call.text("RoleName")?;
        let key = at.call.key(role);
        match at.call.operation.as_str() {
            "CreateRole" => {
                if role_id(at, role).await.is_none() {
                    self.created.note(key);
                    at.begin(&[I3, L1]);
                }
                None
            }
            "DeleteRole" => None,
            _ if at.strikes_since(I3, self.created.of(&key)) => {
                let message = format!("The role with name {role} cannot be found.");
                Some(Reply::iam_error(404, "NoSuchEntity", &message))
            }
            _ => None,
        }
    }
}

/// The unique id of a role, if it exists.
pub(super) async fn role_id(at: &At<'_>, role: &str) -> Option<String> {
    let role = role.rsplit('/').next().unwrap_or_default();
    let answer = at
        .ask_iam(&format!("Action=GetRole&Version=2010-05-08&RoleName={role}"))
        .await;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let id = text.split_once("<RoleId>")?.1.split_once("</RoleId>")?.0;
    Some(id.to_owned())
}
