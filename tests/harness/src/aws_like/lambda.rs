//! Behaviors of Lambda's functions, versions and invocations.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};

use super::At;
use super::Behavior::{self, L4, L5, L6, L7, L10, L12, L14, L17, L18, L19, L22};
use super::iam::role_id;
use super::memory::Event::{FunctionCreated, FunctionDeleted, FunctionUpdated, RoleCreated};
use super::reply::Reply;

#[derive(Default)]
pub(super) struct Lambda {
    functions: Mutex<HashMap<String, Function>>,
    /// One-time events of functions: the function's key and a name for the event.
    happened: Mutex<BTreeSet<(String, &'static str)>>,
}

/// What is known about a function or version that was configured through the proxy.
#[derive(Clone, Default)]
struct Function {
    role: String,
    /// The unique id of the role when it was set.
    role_id: Option<String>,
    has_variables: bool,
    /// The role is new to the function, and no invocation has used it yet.
    is_untried: bool,
    /// When the first invocation with the new role was tried.
    tried: Option<Instant>,
}

const CANNOT: &str = "The operation cannot be performed at this time.";
const PENDING: &str =
    "The operation cannot be performed at this time. The function is currently in the following state: Pending";
const NOT_READY: &str = "Lambda is initializing your function. It will be ready to invoke shortly.";
const NO_KMS: &str = "Lambda was unable to decrypt the environment variables because KMS access was denied. Please check the function's KMS key settings. KMS Exception: AccessDeniedException KMS Message: User: arn:aws:sts::111122223333:assumed-role/router/router is not authorized to perform: kms:Decrypt on the resource associated with this ciphertext because no resource-based policy allows the kms:Decrypt action";

impl Lambda {
    /// The roles of the functions in the account and Region of this call.
    pub(super) fn roles(&self, at: &At<'_>) -> BTreeSet<String> {
        let functions = self.functions.lock().unwrap();
        let of_place = functions.iter().filter(|(key, _)| key.starts_with(&at.call.key("")));
        of_place.map(|(_, function)| function.role.clone()).collect()
    }

    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let (method, path) = at.call.path();
        match (method, path.as_slice()) {
            ("GET", ["functions", name]) => {
                let configuration = json!({"FunctionName": name, "State": "Deleting"});
                at.strikes_since(L14, at.last(FunctionDeleted, &at.call.key(name)))
                    .then(|| Reply::success(&json!({ "Configuration": configuration })))
            }
            ("PUT", ["functions", name, "configuration" | "code"]) | ("POST", ["functions", name, "policy"]) => {
                self.busy(at, name)
            }
            ("POST", ["functions", name, "versions"]) => match self.busy(at, name) {
                None => other_code(at, name).await,
                busy => busy,
            },
            ("PUT", ["functions", name, "aliases", alias]) if at.is_any_on(&[L12, L22]) => {
                let before = at.get_lambda(&format!("functions/{name}/aliases/{alias}")).await;
                let refused = other_revision(at, &before);
                let weights = before["RoutingConfig"]["AdditionalVersionWeights"].as_object();
                if refused.is_none() && at.is_on(L12) && weights.is_some_and(|weights| !weights.is_empty()) {
                    at.keep_showing(L12, &at.call.key(&format!("{name}:{alias}")), before["RoutingConfig"].clone());
                }
                refused
            }
            ("POST", ["functions", name, "invocations"]) => self.invoke(at, name).await,
            _ => None,
        }
    }

    /// The refusal of a change of a busy function.
    fn busy(&self, at: &At<'_>, name: &str) -> Option<Reply> {
        let key = at.call.key(name);
        let conflict = |message: &str| Some(at.refuse(409, "ResourceConflictException", message));
        if self.is_first(at, L7, &key, "change") {
            return Some(at.refuse(409, "CodeArtifactUserPendingException", NOT_READY));
        }
        if at.strikes_since(L6, at.last(FunctionCreated, &key)) {
            return conflict(PENDING);
        }
        if at.strikes_since(L6, at.last(FunctionUpdated, &key)) {
            return conflict(&format!("{CANNOT} An update is in progress for resource: {name}"));
        }
        let updates = at.call.operation.starts_with("PUT");
        if updates && self.is_first(at, L6, &key, "concurrent update") {
            return conflict("The function could not be updated due to a concurrent update operation.");
        }
        None
    }

    /// Whether a behavior strikes the first call of a kind to a function.
    fn is_first(&self, at: &At<'_>, behavior: Behavior, key: &str, kind: &'static str) -> bool {
        at.is_on(behavior) && at.strikes_if(behavior, self.happened.lock().unwrap().insert((key.to_owned(), kind)))
    }

    async fn invoke(&self, at: &At<'_>, name: &str) -> Option<Reply> {
        if at.is_on(L17) && at.strikes_if(L17, reserves_nothing(at, name).await) {
            let mut throttled = at.refuse(429, "TooManyRequestsException", "Rate Exceeded.");
            let mut body = throttled.json();
            body["Reason"] = "ReservedFunctionConcurrentInvocationLimitExceeded".into();
            throttled.set_json(&body);
            return Some(throttled);
        }
        let key = at.call.key(name);
        if self.is_first(at, L7, &key, "invocation") {
            return Some(at.refuse(409, "CodeArtifactUserPendingException", NOT_READY));
        }
        if self.is_first(at, L7, &key, "second invocation") {
            return Some(at.refuse(502, "ResourceNotReadyException", NOT_READY));
        }
        let key = at.call.key(&version(at, name).await);
        if at.strikes_since(L6, at.last(FunctionCreated, &key)) {
            return Some(at.refuse(409, "ResourceConflictException", PENDING));
        }
        let function = self.first_try(at, &key)?;
        if at.strikes_since(L18, function.tried) {
            let message = "The role defined for the function cannot be assumed by Lambda.";
            return Some(match function.has_variables {
                true => at.refuse(502, "KMSAccessDeniedException", NO_KMS),
                false => at.refuse(403, "AccessDeniedException", message),
            });
        }
        let is_sealed = function.has_variables && function.role_id.is_some() && at.is_on(L19);
        (is_sealed && at.strikes_if(L19, role_id(at, &function.role).await != function.role_id))
            .then(|| at.refuse(502, "KMSAccessDeniedException", NO_KMS))
    }

    /// The function or version with this key, for which this is an invocation.
    fn first_try(&self, at: &At<'_>, key: &str) -> Option<Function> {
        let mut functions = self.functions.lock().unwrap();
        let function = functions.get_mut(key)?;
        if function.is_untried && at.is_on(L18) {
            function.is_untried = false;
            function.tried = Some(Instant::now());
        }
        Some(function.clone())
    }

    pub(super) async fn after(&self, at: &At<'_>, reply: &mut Reply) {
        let (method, path) = at.call.path();
        match (method, path.as_slice()) {
            ("POST", ["functions"]) => {
                let body = reply.json();
                let name = body["FunctionName"].as_str().unwrap_or_default();
                at.note(FunctionCreated, &at.call.key(name), &[L4, L5, L6]);
                self.configured(at, &body).await;
            }
            ("PUT", ["functions", name, "configuration" | "code"]) => {
                at.note(FunctionUpdated, &at.call.key(name), &[L5, L6]);
                let mut body = reply.json();
                self.configured(at, &body).await;
                unfinished(at, &mut body);
                reply.set_json(&body);
            }
            ("DELETE", ["functions", name]) if at.call.text("Qualifier").is_none() => {
                at.note(FunctionDeleted, &at.call.key(name), &[L14]);
            }
            ("POST", ["functions", name, "versions"]) => self.published(at, name, &reply.json()),
            ("GET", ["functions", name] | ["functions", name, "configuration"]) => late_state(at, name, reply),
            ("GET", ["functions", name, "aliases", alias]) => {
                if let Some(weights) = at.still_shown(L12, &at.call.key(&format!("{name}:{alias}"))) {
                    let mut body = reply.json();
                    body["RoutingConfig"] = weights;
                    reply.set_json(&body);
                }
            }
            _ => {}
        }
    }

    /// Records the role and the variables of a function after a change.
    async fn configured(&self, at: &At<'_>, body: &Value) {
        let text = |member: &str| body[member].as_str().unwrap_or_default().to_owned();
        let (name, role) = (text("FunctionName"), text("Role"));
        let id = role_id(at, &role).await;
        let mut functions = self.functions.lock().unwrap();
        let function = functions.entry(at.call.key(&name)).or_default();
        function.has_variables = has_variables(body);
        // An equal ARN changes nothing, even if another role has it now.
        let is_new = at.call.operation.starts_with("POST");
        if is_new || function.role != role {
            function.is_untried = at.last(RoleCreated, &at.call.role_key(&role)).is_some();
            (function.role, function.role_id, function.tried) = (role, id, None);
        }
    }

    /// A version keeps the role and the sealed variables that it was published with.
    fn published(&self, at: &At<'_>, name: &str, body: &Value) {
        let version = body["Version"].as_str().unwrap_or_default();
        let key = at.call.key(&format!("{name}:{version}"));
        let mut functions = self.functions.lock().unwrap();
        // Without a change since, this is an old version.
        if let Some(function) = functions.get(&at.call.key(name)).filter(|_| !functions.contains_key(&key)).cloned() {
            at.note(FunctionCreated, &key, &[L5, L6]);
            functions.insert(key, function);
        }
    }
}

/// The function or the version that is invoked, as `name` or `name:version`.
async fn version(at: &At<'_>, name: &str) -> String {
    match at.call.text("Qualifier") {
        None | Some("$LATEST") => name.to_owned(),
        Some(number) if number.parse::<u64>().is_ok() => format!("{name}:{number}"),
        Some(alias) => {
            let alias = at.get_lambda(&format!("functions/{name}/aliases/{alias}")).await;
            format!("{name}:{}", alias["FunctionVersion"].as_str().unwrap_or_default())
        }
    }
}

fn late_state(at: &At<'_>, name: &str, reply: &mut Reply) {
    let mut body = reply.json();
    let configuration = match body.get_mut("Configuration") {
        Some(configuration) => configuration,
        None => &mut body,
    };
    let version = configuration["Version"].as_str().filter(|version| *version != "$LATEST");
    let name = version.map_or_else(|| name.to_owned(), |version| format!("{name}:{version}"));
    let key = at.call.key(&name);
    if at.strikes_since(L5, at.last(FunctionCreated, &key)) {
        configuration["State"] = json!("Pending");
        configuration["StateReason"] = json!("The function is being created.");
        configuration["StateReasonCode"] = json!("Creating");
    } else if at.strikes_since(L5, at.last(FunctionUpdated, &key)) {
        configuration["LastUpdateStatus"] = json!("InProgress");
    } else {
        return;
    }
    unfinished(at, configuration);
    reply.set_json(&body);
}

/// Whether a call or an answer sets variables.
pub(super) fn has_variables(body: &Value) -> bool {
    body["Environment"]["Variables"].as_object().is_some_and(|variables| !variables.is_empty())
}

/// The revision of a function before its creation or its update is finished.
fn unfinished(at: &At<'_>, configuration: &mut Value) {
    if at.is_on(L22) {
        let last = configuration["RevisionId"].as_str().unwrap_or_default();
        configuration["RevisionId"] = json!(last.chars().rev().collect::<String>());
    }
}

/// Whether a function has no concurrency, which is how a function is stopped.
async fn reserves_nothing(at: &At<'_>, name: &str) -> bool {
    at.get_lambda(&format!("functions/{name}")).await["Concurrency"]["ReservedConcurrentExecutions"] == 0
}

/// The refusal to publish if the code or revision differs from the one in the call.
async fn other_code(at: &At<'_>, name: &str) -> Option<Reply> {
    let function = at.get_lambda(&format!("functions/{name}")).await;
    let function = &function["Configuration"];
    let current = function["CodeSha256"].as_str().unwrap_or_default();
    let named = at.call.text("CodeSha256").filter(|named| at.strikes_if(L10, *named != current));
    let Some(named) = named else {
        return other_revision(at, function);
    };
    let message = format!(
        "CodeSHA256 ({named}) is different from current CodeSHA256 in $LATEST ({current}). Please try again with the CodeSHA256 in $LATEST."
    );
    Some(at.refuse(400, "InvalidParameterValueException", &message))
}

/// The refusal to change a function if the revision differs from the one in the call.
fn other_revision(at: &At<'_>, latest: &Value) -> Option<Reply> {
    let named = at.call.text("RevisionId")?;
    let message = "The Revision Id provided does not match the latest Revision Id. Call the GetFunction/GetAlias API to retrieve the latest Revision Id";
    at.strikes_if(L22, latest["RevisionId"] != named).then(|| at.refuse(412, "PreconditionFailedException", message))
}
