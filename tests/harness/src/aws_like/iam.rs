//! Behaviors of IAM.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::Value;

use super::Behavior::{I1, I2, I3, I4, L1, L2};
use super::call::decoded;
use super::reply::Reply;
use super::{At, Denials, Moments};

#[derive(Default)]
pub(super) struct Iam {
    created: Moments,
    /// Calls that a condition on a new boundary still denies.
    bounded: Denials,
    /// When a policy was last deleted from a role.
    unpoliced: Moments,
    /// Roles with a new policy, and when a function first used one of its permissions.
    new_policies: Mutex<HashMap<String, Option<Instant>>>,
}

impl Iam {
    /// When the role with this key was created, if through the proxy.
    pub(super) fn created(&self, key: &str) -> Option<Instant> {
        self.created.of(key)
    }

    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let role = at.call.text("RoleName")?;
        let key = at.call.key(role);
        let operation = at.call.operation.as_str();
        match operation {
            "CreateRole" if self.names_new_role(at) => return Some(invalid_principal()),
            "CreateRole" => {
                if at.call.text("PermissionsBoundary").is_some() {
                    self.bounded.begin(at, &key);
                }
                if role_id(at, role).await.is_none() {
                    self.created.note(key);
                    at.begin(&[I2, I3, L1, L2]);
                }
                return None;
            }
            "DeleteRole" => {
                return at.strikes_since(I4, self.unpoliced.of(&key)).then(|| {
                    let message = "Cannot delete entity, must delete policies first.";
                    Reply::iam_error(409, "DeleteConflict", message)
                });
            }
            _ => {}
        }
        if at.strikes_since(I3, self.created.of(&key)) {
            let message = format!("The role with name {role} cannot be found.");
            return Some(Reply::iam_error(404, "NoSuchEntity", &message));
        }
        match operation {
            "UpdateAssumeRolePolicy" if self.names_new_role(at) => return Some(invalid_principal()),
            "PutRolePermissionsBoundary" => self.bounded.begin(at, &key),
            "PutRolePolicy" if self.bounded.strikes(at, &key) => {
                let who = format!("User: arn:aws:iam::{}:user/operator", at.call.account);
                let why = "because no identity-based policy allows the iam:PutRolePolicy action";
                let message =
                    format!("{who} is not authorized to perform: iam:PutRolePolicy on resource: role {role} {why}");
                return Some(Reply::iam_error(403, "AccessDenied", &message));
            }
            "PutRolePolicy" => {
                let policy = at.call.text("PolicyName").unwrap_or_default();
                let question = format!("Action=GetRolePolicy&RoleName={role}&PolicyName={policy}");
                if !at.ask_iam(question).await.status.is_success() {
                    self.new_policies.lock().unwrap().insert(key, None);
                }
            }
            "DeleteRolePolicy" => {
                self.unpoliced.note(key);
                at.begin(&[I4]);
            }
            _ => {}
        }
        None
    }

    /// Whether a trust policy names a role that is new.
    fn names_new_role(&self, at: &At<'_>) -> bool {
        let document = at.call.text("AssumeRolePolicyDocument").or_else(|| at.call.text("PolicyDocument"));
        let arns = document.unwrap_or_default().split('"').filter(|text| text.contains(":role/"));
        arns.into_iter().any(|arn| at.strikes_since(I2, self.created.of(&at.call.role_key(arn))))
    }

    /// Whether the permissions of a function of this account are too new: for a while from the first that it uses.
    pub(super) fn denies_function(&self, at: &At<'_>) -> bool {
        let mut new = self.new_policies.lock().unwrap();
        let roles = at.like.0.lambda.roles(at);
        at.is_on(I1)
            && roles.iter().any(|role| {
                let used = new.get_mut(&at.call.role_key(role));
                used.is_some_and(|used| used.get_or_insert_with(Instant::now).elapsed() < I1.time())
            })
    }
}

fn invalid_principal() -> Reply {
    Reply::iam_error(400, "MalformedPolicyDocument", "Invalid principal in policy")
}

/// The unique id of a role, if it exists.
pub(super) async fn role_id(at: &At<'_>, role: &str) -> Option<String> {
    let role = role.rsplit('/').next().unwrap_or_default();
    let answer = at.ask_iam(format!("Action=GetRole&RoleName={role}")).await;
    elements(&answer, "RoleId").pop()
}

/// The statements of a role's inline policies.
pub(super) async fn statements(at: &At<'_>, role: &str) -> Vec<Value> {
    let role = role.rsplit('/').next().unwrap_or_default();
    let names = at.ask_iam(format!("Action=ListRolePolicies&RoleName={role}")).await;
    let mut statements = Vec::new();
    for name in elements(&names, "member") {
        let policy = at.ask_iam(format!("Action=GetRolePolicy&RoleName={role}&PolicyName={name}")).await;
        for document in elements(&policy, "PolicyDocument") {
            let document: Value = serde_json::from_str(&decoded(&document)).unwrap_or_default();
            statements.extend(document["Statement"].as_array().cloned().unwrap_or_default());
        }
    }
    statements
}

/// The texts of all elements of this name.
fn elements(reply: &Reply, name: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(&reply.body);
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let parts = text.split(&begin).skip(1).filter_map(|part| part.split_once(&end));
    parts.map(|(text, _)| text.to_owned()).collect()
}
