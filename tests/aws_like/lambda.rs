//! Behaviors of Lambda.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::Value;

use super::At;
use super::Behavior::{L1, L18, M5};
use super::iam::role_id;
use super::reply::Reply;

#[derive(Default)]
pub(super) struct Lambda {
    functions: Mutex<HashMap<String, Function>>,
}

/// What is known of a function that was configured through the proxy.
#[derive(Clone, Default)]
struct Function {
    role: String,
    /// The unique id of the role when it was set.
    role_id: Option<String>,
    has_variables: bool,
    /// The role is new to the function, and no invocation has been tried with it.
    is_untried: bool,
    /// When the first invocation with the new role was tried.
    tried: Option<Instant>,
}

impl Lambda {
    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let call = at.call;
        match call.path() {
            ("POST", path) if path == ["functions"] => refused_role(at),
            ("PUT", path) if matches!(path.as_slice(), ["functions", _, "configuration"]) => refused_role(at),
            ("POST", path) if matches!(path.as_slice(), ["functions", _, "invocations"]) => self.invoke(at, path[1]),
            _ => None,
        }
    }

    /// The first invocations with a new role.
    fn invoke(&self, at: &At<'_>, name: &str) -> Option<Reply> {
        let mut functions = self.functions.lock().unwrap();
        let function = functions.get_mut(&at.call.key(name))?;
        if function.is_untried && at.is_on(L18) {
            function.is_untried = false;
            function.tried = Some(Instant::now());
        }
        at.strikes_since(L18, function.tried).then(|| {
            if function.has_variables {
                let message = "Lambda was unable to decrypt the environment variables because KMS access was denied. Please check the function's KMS key settings.";
                Reply::error(502, "KMSAccessDeniedException", message)
            } else {
                let message = "The role defined for the function cannot be assumed by Lambda.";
                Reply::error(403, "AccessDeniedException", message)
            }
        })
    }

    pub(super) async fn after(&self, at: &At<'_>, reply: &mut Reply) {
        if !reply.status.is_success() {
            return;
        }
        match at.call.path() {
            ("POST", path) if path == ["functions"] => self.configured(at, reply).await,
            ("PUT", path) if matches!(path.as_slice(), ["functions", _, "configuration"]) => {
                self.configured(at, reply).await;
            }
            (_, path) if path.first() == Some(&"event-source-mappings") && at.is_on(M5) => {
                let mut body = reply.json();
                if without(&mut body, "LastProcessingResult") {
                    at.strike(M5);
                    reply.set_json(&body);
                }
            }
            _ => {}
        }
    }

    /// Notes the role and the variables of a function after a change.
    async fn configured(&self, at: &At<'_>, reply: &Reply) {
        let body = reply.json();
        let text = |member: &str| body[member].as_str().unwrap_or_default().to_owned();
        let (name, role) = (text("FunctionName"), text("Role"));
        let id = role_id(at, &role).await;
        let mut functions = self.functions.lock().unwrap();
        let function = functions.entry(at.call.key(&name)).or_default();
        let variables = body["Environment"]["Variables"].as_object();
        function.has_variables = variables.is_some_and(|variables| !variables.is_empty());
        // The same ARN again changes nothing, even if another role has it now.
        if function.role != role {
            function.is_untried = at.like.0.iam.created(&at.call.role_key(&role)).is_some();
            (function.role, function.role_id, function.tried) = (role, id, None);
        }
    }
}

/// Lambda does not know a new role yet.
fn refused_role(at: &At<'_>) -> Option<Reply> {
    let key = at.call.role_key(at.call.text("Role")?);
    at.strikes_since(L1, at.like.0.iam.created(&key)).then(|| {
        let message = "The role defined for the function cannot be assumed by Lambda.";
        Reply::error(400, "InvalidParameterValueException", message)
    })
}

/// Removes a member anywhere; says whether there was one.
fn without(value: &mut Value, member: &str) -> bool {
    match value {
        Value::Object(members) => {
            let here = members.remove(member).is_some();
            let below = members
                .values_mut()
                .filter_map(|value| without(value, member).then_some(()));
            below.count() > 0 || here
        }
        Value::Array(items) => {
            let below = items
                .iter_mut()
                .filter_map(|value| without(value, member).then_some(()));
            below.count() > 0
        }
        _ => false,
    }
}
