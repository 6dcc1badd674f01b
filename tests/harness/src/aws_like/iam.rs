//! Behaviors of IAM.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use super::At;
use super::Behavior::{I1, I2, I3, I4, L1, L2};
use super::memory::Event::{RoleCreated, RoleUnpoliced};
use super::reply::Reply;

/// Roles with a new policy, and when a function first used one of its permissions.
#[derive(Default)]
pub(super) struct Iam(Mutex<HashMap<String, Option<Instant>>>);

impl Iam {
    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let role = at.call.subject()?;
        let key = at.call.key(role);
        match at.call.operation.as_str() {
            "CreateRole" | "UpdateAssumeRolePolicy" if names_new_role(at) => {
                return Some(at.refuse(400, "MalformedPolicyDocument", "Invalid principal in policy"));
            }
            "CreateRole" => {
                if at.call.text("PermissionsBoundary").is_some() {
                    at.deny(&key);
                }
                if role_id(at, role).await.is_none() {
                    at.note(RoleCreated, &key, &[I2, I3, L1, L2]);
                }
            }
            "PutRolePermissionsBoundary" => at.deny(&key),
            "PutRolePolicy" if at.is_denied(&key) => {
                let who = format!("User: arn:aws:iam::{}:user/operator", at.call.account);
                let why = "because no identity-based policy allows the iam:PutRolePolicy action";
                let message =
                    format!("{who} is not authorized to perform: iam:PutRolePolicy on resource: role {role} {why}");
                return Some(at.refuse(403, "AccessDenied", &message));
            }
            "PutRolePolicy" => {
                let policy = at.call.text("PolicyName").unwrap_or_default();
                let question = format!("Action=GetRolePolicy&RoleName={role}&PolicyName={policy}");
                if !at.ask_iam(question).await.status.is_success() {
                    self.0.lock().unwrap().insert(key, None);
                }
            }
            "DeleteRolePolicy" => at.note(RoleUnpoliced, &key, &[I4]),
            _ => {}
        }
        None
    }

    /// Whether the permissions of a function of this account are too new: for a while after it first uses one.
    pub(super) fn denies_function(&self, at: &At<'_>) -> bool {
        let mut new = self.0.lock().unwrap();
        let is_denied = at.like.0.lambda.roles(at).iter().any(|role| {
            let used = new.get_mut(&at.call.role_key(role)).filter(|_| at.is_on(I1));
            used.is_some_and(|used| used.get_or_insert_with(Instant::now).elapsed() < I1.time())
        });
        at.strikes_if(I1, is_denied)
    }
}

/// Whether a trust policy names a role that is new.
fn names_new_role(at: &At<'_>) -> bool {
    let document = at.call.text("AssumeRolePolicyDocument").or_else(|| at.call.text("PolicyDocument"));
    let mut arns = document.unwrap_or_default().split('"').filter(|text| text.contains(":role/"));
    arns.any(|arn| at.strikes_since(I2, at.last(RoleCreated, &at.call.role_key(arn))))
}

/// The unique id of a role, if it exists.
pub(super) async fn role_id(at: &At<'_>, role: &str) -> Option<String> {
    let role = role.rsplit('/').next().unwrap_or_default();
    let answer = at.ask_iam(format!("Action=GetRole&RoleName={role}")).await;
    elements(&answer, "RoleId").pop()
}

/// The texts of all elements of this name.
pub(super) fn elements(reply: &Reply, name: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(&reply.body);
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let parts = text.split(&begin).skip(1).filter_map(|part| part.split_once(&end));
    parts.map(|(text, _)| text.to_owned()).collect()
}
