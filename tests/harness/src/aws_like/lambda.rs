//! Behaviors of Lambda's functions, versions and invocations.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};

use super::Behavior::{L1, L2, L4, L5, L6, L7, L10, L12, L14, L17, L18, L19, L22};
use super::iam::role_id;
use super::reply::Reply;
use super::{At, Moments};

#[derive(Default)]
pub(super) struct Lambda {
    functions: Mutex<HashMap<String, Function>>,
    /// Functions and versions.
    created: Moments,
    updated: Moments,
    deleted: Moments,
    /// By alias: the weights before they were cleared, and when that was.
    cleared: Mutex<HashMap<String, (Value, Instant)>>,
    /// What happens once to a function: its key and a name of the event.
    happened: Mutex<BTreeSet<(String, &'static str)>>,
}

/// What is known of a function, or a version of one, that was configured through the proxy.
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
    /// The roles of the functions in the account and Region of this call.
    pub(super) fn roles(&self, at: &At<'_>) -> BTreeSet<String> {
        let functions = self.functions.lock().unwrap();
        let of_place = functions.iter().filter(|(key, _)| key.starts_with(&place(at)));
        of_place.map(|(_, function)| function.role.clone()).collect()
    }

    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let (method, path) = at.call.path();
        match (method, path.as_slice()) {
            ("POST", ["functions"]) => self.still_deleting(at).or_else(|| refused_role(at)),
            ("GET", ["functions", name]) => self.not_found(at, name).or_else(|| self.deleting(at, name)),
            ("GET", ["functions", name, ..]) => self.not_found(at, name),
            ("PUT", ["functions", name, "configuration"]) => self.busy(at, name).or_else(|| refused_role(at)),
            ("PUT", ["functions", name, "code"]) | ("POST", ["functions", name, "policy"]) => self.busy(at, name),
            ("POST", ["functions", name, "versions"]) => match self.busy(at, name) {
                None => other_code(at, name).await,
                busy => busy,
            },
            ("PUT", ["functions", name, "aliases", alias]) => {
                let before = at.get_lambda(&format!("functions/{name}/aliases/{alias}")).await.json();
                let refused = other_revision(at, &before);
                if refused.is_none() {
                    self.remember_weights(at, name, alias, &before);
                }
                refused
            }
            ("POST", ["functions", name, "invocations"]) => self.invoke(at, name).await,
            _ => None,
        }
    }

    fn not_found(&self, at: &At<'_>, name: &str) -> Option<Reply> {
        at.strikes_since(L4, self.created.of(&at.call.key(name))).then(|| {
            let message = format!("Function not found: {}", arn(at, name));
            Reply::error(404, "ResourceNotFoundException", &message)
        })
    }

    /// A function that is being deleted.
    fn deleting(&self, at: &At<'_>, name: &str) -> Option<Reply> {
        at.strikes_since(L14, self.deleted.of(&at.call.key(name))).then(|| {
            let configuration = json!({"FunctionName": name, "FunctionArn": arn(at, name), "State": "Deleting"});
            Reply::success(&json!({ "Configuration": configuration }))
        })
    }

    /// The refusal of the name of a function that is being deleted.
    fn still_deleting(&self, at: &At<'_>) -> Option<Reply> {
        let name = at.call.text("FunctionName")?;
        at.strikes_since(L14, self.deleted.of(&at.call.key(name))).then(|| {
            let message = "The operation cannot be performed at this time. The function is currently in the following state: Deleting";
            Reply::error(409, "ResourceConflictException", message)
        })
    }

    /// The refusal of a change of a busy function.
    fn busy(&self, at: &At<'_>, name: &str) -> Option<Reply> {
        let key = at.call.key(name);
        let conflict = |message: &str| Some(Reply::error(409, "ResourceConflictException", message));
        if self.is_first(at, &key, "change") {
            return Some(Reply::error(409, "CodeArtifactUserPendingException", NOT_READY));
        }
        let why = "The operation cannot be performed at this time.";
        if at.strikes_since(L6, self.created.of(&key)) {
            return conflict(&format!("{why} The function is currently in the following state: Pending"));
        }
        if at.strikes_since(L6, self.updated.of(&key)) {
            return conflict(&format!("{why} An update is in progress for resource: {}", arn(at, name)));
        }
        let updates = at.call.operation.starts_with("PUT");
        if updates && at.is_on(L6) && self.happened.lock().unwrap().insert((key, "concurrent update")) {
            at.strike(L6);
            return conflict("The function could not be updated due to a concurrent update operation.");
        }
        None
    }

    /// Whether a function is not ready for the first call of this kind.
    fn is_first(&self, at: &At<'_>, key: &str, kind: &'static str) -> bool {
        let strikes = at.is_on(L7) && self.happened.lock().unwrap().insert((key.to_owned(), kind));
        if strikes {
            at.strike(L7);
        }
        strikes
    }

    async fn invoke(&self, at: &At<'_>, name: &str) -> Option<Reply> {
        if at.is_on(L17) && reserves_nothing(at, name).await {
            at.strike(L17);
            return Some(Reply::throttled("ReservedFunctionConcurrentInvocationLimitExceeded"));
        }
        let version = self.version(at, name).await;
        let key = at.call.key(&version);
        if self.is_first(at, &at.call.key(name), "invocation") {
            return Some(Reply::error(409, "CodeArtifactUserPendingException", NOT_READY));
        }
        if self.is_first(at, &at.call.key(name), "second invocation") {
            return Some(Reply::error(502, "ResourceNotReadyException", NOT_READY));
        }
        if at.strikes_since(L6, self.created.of(&key)) {
            let message = "The operation cannot be performed at this time. The function is currently in the following state: Pending";
            return Some(Reply::error(409, "ResourceConflictException", message));
        }
        let function = self.first_try(at, &key)?;
        if at.strikes_since(L18, function.tried) {
            return Some(if function.has_variables { no_kms() } else { not_assumable(403, "AccessDeniedException") });
        }
        let is_sealed = function.has_variables && function.role_id.is_some() && at.is_on(L19);
        if is_sealed && role_id(at, &function.role).await != function.role_id {
            at.strike(L19);
            return Some(no_kms());
        }
        None
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

    /// The function or the version that is invoked, as `name` or `name:version`.
    async fn version(&self, at: &At<'_>, name: &str) -> String {
        match at.call.text("Qualifier") {
            None | Some("$LATEST") => name.to_owned(),
            Some(number) if number.parse::<u64>().is_ok() => format!("{name}:{number}"),
            Some(alias) => {
                let alias = at.get_lambda(&format!("functions/{name}/aliases/{alias}")).await.json();
                format!("{name}:{}", alias["FunctionVersion"].as_str().unwrap_or_default())
            }
        }
    }

    pub(super) async fn after(&self, at: &At<'_>, reply: &mut Reply) {
        if !reply.status.is_success() {
            return;
        }
        let (method, path) = at.call.path();
        match (method, path.as_slice()) {
            ("POST", ["functions"]) => {
                let body = reply.json();
                self.created.note(at.call.key(body["FunctionName"].as_str().unwrap_or_default()));
                at.begin(&[L4, L5, L6]);
                self.configured(at, &body).await;
            }
            ("PUT", ["functions", name, "configuration" | "code"]) => {
                self.updated.note(at.call.key(name));
                at.begin(&[L5, L6]);
                let mut body = reply.json();
                self.configured(at, &body).await;
                unfinished(at, &mut body);
                reply.set_json(&body);
            }
            ("DELETE", ["functions", name]) if at.call.text("Qualifier").is_none() => {
                self.deleted.note(at.call.key(name));
                at.begin(&[L14]);
            }
            ("POST", ["functions", name, "versions"]) => self.published(at, name, &reply.json()),
            ("GET", ["functions", name] | ["functions", name, "configuration"]) => self.late_state(at, name, reply),
            ("GET", ["functions", name, "aliases", alias]) => self.late_weights(at, name, alias, reply),
            _ => {}
        }
    }

    /// Notes the weights of an alias that this call may clear.
    fn remember_weights(&self, at: &At<'_>, name: &str, alias: &str, before: &Value) {
        let weights = &before["RoutingConfig"]["AdditionalVersionWeights"];
        if at.is_on(L12) && weights.as_object().is_some_and(|weights| !weights.is_empty()) {
            at.begin(&[L12]);
            let key = at.call.key(&format!("{name}:{alias}"));
            let cleared = (before["RoutingConfig"].clone(), Instant::now());
            self.cleared.lock().unwrap().insert(key, cleared);
        }
    }

    fn late_weights(&self, at: &At<'_>, name: &str, alias: &str, reply: &mut Reply) {
        let cleared = self.cleared.lock().unwrap();
        let mut body = reply.json();
        if let Some((weights, since)) = cleared.get(&at.call.key(&format!("{name}:{alias}")))
            && at.strikes_since(L12, Some(*since))
        {
            body["RoutingConfig"] = weights.clone();
            reply.set_json(&body);
        }
    }

    /// Notes the role and the variables of a function after a change.
    async fn configured(&self, at: &At<'_>, body: &Value) {
        let text = |member: &str| body[member].as_str().unwrap_or_default().to_owned();
        let (name, role) = (text("FunctionName"), text("Role"));
        let id = role_id(at, &role).await;
        let mut functions = self.functions.lock().unwrap();
        let function = functions.entry(at.call.key(&name)).or_default();
        let variables = body["Environment"]["Variables"].as_object();
        function.has_variables = variables.is_some_and(|variables| !variables.is_empty());
        // An equal ARN changes nothing, even if another role has it now.
        let is_new = at.call.operation.starts_with("POST");
        if is_new || function.role != role {
            function.is_untried = at.like.0.iam.created(&at.call.role_key(&role)).is_some();
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
            self.created.note(key.clone());
            at.begin(&[L5, L6]);
            functions.insert(key, function);
        }
    }

    fn late_state(&self, at: &At<'_>, name: &str, reply: &mut Reply) {
        let mut body = reply.json();
        let configuration = match body.get_mut("Configuration") {
            Some(configuration) => configuration,
            None => &mut body,
        };
        let version = configuration["Version"].as_str().filter(|version| *version != "$LATEST");
        let name = version.map_or_else(|| name.to_owned(), |version| format!("{name}:{version}"));
        let key = at.call.key(&name);
        if at.strikes_since(L5, self.created.of(&key)) {
            configuration["State"] = json!("Pending");
            configuration["StateReason"] = json!("The function is being created.");
            configuration["StateReasonCode"] = json!("Creating");
        } else if at.strikes_since(L5, self.updated.of(&key)) {
            configuration["LastUpdateStatus"] = json!("InProgress");
        } else {
            return;
        }
        unfinished(at, configuration);
        reply.set_json(&body);
    }
}

/// The revision of a function before its creation or its update is finished.
fn unfinished(at: &At<'_>, configuration: &mut Value) {
    if at.is_on(L22) {
        let last = configuration["RevisionId"].as_str().unwrap_or_default();
        configuration["RevisionId"] = json!(last.chars().rev().collect::<String>());
    }
}

/// Whether a function may run nothing, which is how a function is stopped.
async fn reserves_nothing(at: &At<'_>, name: &str) -> bool {
    let function = at.get_lambda(&format!("functions/{name}")).await.json();
    function["Concurrency"]["ReservedConcurrentExecutions"] == 0
}

const NOT_READY: &str = "Lambda is initializing your function. It will be ready to invoke shortly.";

/// What the keys of all functions in the account and Region of this call begin with.
fn place(at: &At<'_>) -> String {
    format!("{}/{}/", at.call.account, at.call.region)
}

fn arn(at: &At<'_>, name: &str) -> String {
    format!("arn:aws:lambda:{}:{}:function:{name}", at.call.region, at.call.account)
}

/// The refusal to publish other code or another revision than the call names.
async fn other_code(at: &At<'_>, name: &str) -> Option<Reply> {
    let function = at.get_lambda(&format!("functions/{name}")).await.json();
    let function = &function["Configuration"];
    let current = function["CodeSha256"].as_str().unwrap_or_default();
    let named = at.call.text("CodeSha256").filter(|named| *named != current && at.is_on(L10));
    let Some(named) = named else {
        return other_revision(at, function);
    };
    at.strike(L10);
    let message = format!(
        "CodeSHA256 ({named}) is different from current CodeSHA256 in $LATEST ({current}). Please try again with the CodeSHA256 in $LATEST."
    );
    Some(Reply::error(400, "InvalidParameterValueException", &message))
}

/// The refusal to change another revision than the call names.
fn other_revision(at: &At<'_>, latest: &Value) -> Option<Reply> {
    let named = at.call.text("RevisionId")?;
    (at.is_on(L22) && latest["RevisionId"] != named).then(|| {
        at.strike(L22);
        let message = "The Revision Id provided does not match the latest Revision Id. Call the GetFunction/GetAlias API to retrieve the latest Revision Id";
        Reply::error(412, "PreconditionFailedException", message)
    })
}

fn not_assumable(status: u16, code: &str) -> Reply {
    Reply::error(status, code, "The role defined for the function cannot be assumed by Lambda.")
}

fn no_kms() -> Reply {
    let message = "Lambda was unable to decrypt the environment variables because KMS access was denied. Please check the function's KMS key settings. KMS Exception: AccessDeniedException KMS Message: User: arn:aws:sts::111122223333:assumed-role/router/router is not authorized to perform: kms:Decrypt on the resource associated with this ciphertext because no resource-based policy allows the kms:Decrypt action";
    Reply::error(502, "KMSAccessDeniedException", message)
}

/// Lambda does not know a new role yet.
fn refused_role(at: &At<'_>) -> Option<Reply> {
    let role = at.call.text("Role")?;
    let created = at.like.0.iam.created(&at.call.role_key(role));
    if at.strikes_since(L1, created) {
        return Some(not_assumable(400, "InvalidParameterValueException"));
    }
    let variables = at.call.json["Environment"]["Variables"].as_object();
    let has_variables = variables.is_some_and(|variables| !variables.is_empty());
    (has_variables && at.strikes_since(L2, created)).then(|| {
        let message = format!(
            "Lambda was unable to configure access to your environment variables because the KMS key is invalid for CreateGrant. Please check your KMS key settings. KMS Exception: InvalidArnException KMS Message: ARN does not refer to a valid principal: {role}"
        );
        Reply::error(400, "InvalidParameterValueException", &message)
    })
}
