//! Behaviors of Parameter Store.
//!
//! The emulator itself counts versions, refuses tags beside `Overwrite`, lists only the next level of a path, and names absent parameters
//! in `InvalidParameters`. It takes any value, any number of names, any `MaxResults` and any token, reuses a name at once, and gives a
//! token only if something is left.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::sync::{OwnedMutexGuard, TryLockError};

use super::Behavior::{self, N1, N2, N3, N4, N5, N7, N8};
use super::call::Call;
use super::reply::Reply;
use super::{At, Moments};

/// The longest value of the standard tier, in characters.
const LONGEST: usize = 4_096;
/// How many names a call takes, and how many parameters a page has at most.
const MOST: usize = 10;

#[derive(Default)]
pub(super) struct Parameters {
    deleted: Moments,
    /// What reads showed before a write that is being made.
    writing: Mutex<HashMap<String, Option<Value>>>,
    /// What reads showed before the last write, and when that was.
    before: Mutex<HashMap<String, (Option<Value>, Instant)>>,
    /// Held by updates that have no answer yet.
    updates: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl Parameters {
    /// An update holds its parameter until it is answered, or until its caller hangs up. A second one is refused meanwhile.
    pub(super) fn hold(&self, at: &At<'_>) -> Result<Option<OwnedMutexGuard<()>>, TryLockError> {
        let name = match (at.call.service.as_str(), at.call.operation.as_str()) {
            ("ssm", "PutParameter") => at.call.text("Name"),
            ("ssm", "AddTagsToResource" | "RemoveTagsFromResource") => at.call.text("ResourceId"),
            _ => None,
        };
        let Some(name) = name.filter(|_| at.is_on(N2)) else {
            return Ok(None);
        };
        let update = self.updates.lock().unwrap().entry(at.call.key(name)).or_default().clone();
        update.try_lock_owned().map(Some).inspect_err(|_| at.strike(N2))
    }

    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        if let Some((behavior, why)) = invalid(at.call).filter(|(behavior, _)| at.is_on(*behavior)) {
            at.strike(behavior);
            return Some(Reply::error(400, "ValidationException", why));
        }
        match at.call.operation.as_str() {
            "GetParameter" => Some(match self.late(at, at.call.text("Name")?)? {
                Some(shown) => Reply::success(&json!({ "Parameter": shown })),
                None => Reply::error(400, "ParameterNotFound", ""),
            }),
            "GetParametersByPath" => self.page(at).await,
            "PutParameter" => {
                let creates = at.call.json["Overwrite"] != true;
                let key = at.call.key(at.call.text("Name")?);
                if creates && at.strikes_since(N3, self.deleted.of(&key)) {
                    let why = "The parameter already exists. To overwrite this value, set the overwrite option in the \
                               request to true.";
                    return Some(Reply::error(400, "ParameterAlreadyExists", why));
                }
                self.note(at).await;
                None
            }
            "DeleteParameter" | "DeleteParameters" => {
                self.note(at).await;
                None
            }
            _ => None,
        }
    }

    /// Notes what reads show, before a write that will be late.
    async fn note(&self, at: &At<'_>) {
        if !at.is_on(N4) {
            return;
        }
        let names = names(at.call);
        let found = at.ask("ssm", "GetParameters", &json!({ "Names": names })).await.json();
        let mut writing = self.writing.lock().unwrap();
        for name in names {
            let shown = found["Parameters"].as_array().into_iter().flatten().find(|shown| shown["Name"] == name);
            writing.insert(at.call.key(name), shown.cloned());
        }
    }

    /// What reads still show of a parameter, perhaps nothing, if its last write is late.
    fn late(&self, at: &At<'_>, name: &str) -> Option<Option<Value>> {
        let before = self.before.lock().unwrap();
        let (shown, since) = before.get(&at.call.key(name))?;
        at.strikes_since(N4, Some(*since)).then(|| shown.clone())
    }

    /// A page of a list, which may be late (N4) or long (N5), or begin with an empty page (N8). Its token is the number of parameters
    /// on the pages before the next one.
    async fn page(&self, at: &At<'_>) -> Option<Reply> {
        if ![N4, N5, N8].iter().any(|behavior| at.is_on(*behavior)) {
            return None;
        }
        let all = self.late_list(at, all_pages(at).await?);
        let token = at.call.text("NextToken");
        let Ok(from) = token.map_or(Ok(0), str::parse::<usize>) else {
            return Some(Reply::error(400, "InvalidNextToken", "The specified token isn't valid."));
        };
        let (most, cause) = if token.is_none() && at.is_on(N8) { (0, N8) } else { (most(at.call), N5) };
        let mut page = json!({ "Parameters": all.iter().skip(from).take(most).collect::<Vec<_>>() });
        if cause == N8 || from + most < all.len() {
            page["NextToken"] = (from + most).to_string().into();
            if at.is_on(cause) {
                at.strike(cause);
            }
        }
        Some(Reply::success(&page))
    }

    /// A list lacks what is new, and has what was just deleted.
    fn late_list(&self, at: &At<'_>, mut list: Vec<Value>) -> Vec<Value> {
        let place = at.call.key("");
        for (key, (shown, since)) in self.before.lock().unwrap().iter() {
            let name = key.strip_prefix(&place).filter(|name| is_listed(at.call, name));
            let Some(name) = name.filter(|_| at.is_late(N4, Some(*since))) else {
                continue;
            };
            let found = list.iter().position(|found| found["Name"] == name);
            let found = found.map(|found| list.remove(found));
            if found != *shown {
                at.strike(N4);
            }
            list.extend(shown.clone());
        }
        list.sort_by(|one, other| one["Name"].as_str().cmp(&other["Name"].as_str()));
        list
    }

    pub(super) fn after(&self, at: &At<'_>, reply: &mut Reply) {
        if !reply.status.is_success() {
            return;
        }
        match at.call.operation.as_str() {
            "PutParameter" | "DeleteParameter" | "DeleteParameters" => self.written(at, &reply.json()),
            "GetParameters" => self.late_answer(at, reply),
            _ => {}
        }
    }

    /// From now on, reads are late for some time, and the names of deleted parameters are not free.
    fn written(&self, at: &At<'_>, answer: &Value) {
        at.begin(&[N3, N4]);
        let absent = answer["InvalidParameters"].as_array();
        for name in names(at.call).into_iter().filter(|name| absent.is_none_or(|all| !all.contains(&json!(name)))) {
            let key = at.call.key(name);
            if at.call.operation != "PutParameter" {
                self.deleted.note(key.clone());
            }
            let Some(shown) = self.writing.lock().unwrap().remove(&key) else {
                continue;
            };
            let mut before = self.before.lock().unwrap();
            // What is shown is older than a change that is late itself.
            let late = before.get(&key).filter(|(_, since)| at.is_late(N4, Some(*since)));
            let shown = late.map_or(shown, |(shown, _)| shown.clone());
            before.insert(key, (shown, Instant::now()));
        }
    }

    /// Several parameters, each as it was before its last write.
    fn late_answer(&self, at: &At<'_>, reply: &mut Reply) {
        let mut body = reply.json();
        for name in names(at.call) {
            let Some(shown) = self.late(at, name) else {
                continue;
            };
            for list in ["Parameters", "InvalidParameters"] {
                body[list].as_array_mut().unwrap().retain(|one| one["Name"] != name && one != name);
            }
            let (list, one) = shown.map_or(("InvalidParameters", name.into()), |shown| ("Parameters", shown));
            body[list].as_array_mut().unwrap().push(one);
        }
        reply.set_json(&body);
    }
}

/// The refusal of an update of a parameter that another one holds.
pub(super) fn busy() -> Reply {
    let why = "There are concurrent updates for a resource that supports one update at a time.";
    Reply::error(400, "TooManyUpdates", why)
}

/// What the emulator lists, without pages; nothing if it refuses.
async fn all_pages(at: &At<'_>) -> Option<Vec<Value>> {
    let mut call = at.call.json.clone();
    (call["MaxResults"], call["NextToken"]) = (MOST.into(), Value::Null);
    let mut all = Vec::new();
    loop {
        let mut page = at.ask("ssm", "GetParametersByPath", &call).await.json();
        all.append(page["Parameters"].as_array_mut()?);
        call["NextToken"] = page["NextToken"].take();
        if call["NextToken"].is_null() {
            return Some(all);
        }
    }
}

/// The parameters that a call names.
fn names(call: &Call) -> Vec<&str> {
    let several = call.json["Names"].as_array().into_iter().flatten();
    call.text("Name").into_iter().chain(several.filter_map(Value::as_str)).collect()
}

/// Whether a list has a parameter of this name: without `Recursive`, only the next level has.
fn is_listed(call: &Call, name: &str) -> bool {
    let path = call.text("Path").unwrap_or_default().trim_end_matches('/');
    let below = name.strip_prefix(path).and_then(|rest| rest.strip_prefix('/'));
    below.is_some_and(|rest| call.json["Recursive"] == true || !rest.contains('/'))
}

/// How many parameters a page may have.
fn most(call: &Call) -> usize {
    let most = call.json["MaxResults"].as_u64().and_then(|most| usize::try_from(most).ok());
    most.unwrap_or(MOST)
}

/// Why Parameter Store refuses a call, whatever its state.
fn invalid(call: &Call) -> Option<(Behavior, &'static str)> {
    match call.operation.as_str() {
        "PutParameter" => invalid_put(&call.json).map(|why| (N1, why)),
        "GetParameters" | "DeleteParameters" if !(1..=MOST).contains(&names(call).len()) => {
            Some((N7, "1 validation error detected: 'names' must have between 1 and 10 members."))
        }
        "GetParametersByPath" if !(1..=MOST).contains(&most(call)) => {
            Some((N5, "1 validation error detected: 'maxResults' must be between 1 and 10."))
        }
        _ => None,
    }
}

/// Why Parameter Store refuses a write, whatever the state of the parameter.
fn invalid_put(put: &Value) -> Option<&'static str> {
    let value = put["Value"].as_str().unwrap_or_default();
    let has_tags = put["Tags"].as_array().is_some_and(|tags| !tags.is_empty());
    if has_tags && put["Overwrite"] == true {
        Some("Invalid request: tags and overwrite can't be used together.")
    } else if value.is_empty() {
        Some("1 validation error detected: 'value' must have at least 1 character.")
    } else if value.chars().count() > LONGEST {
        Some("Standard tier parameters support a maximum parameter value of 4096 characters.")
    } else if value.contains("{{") {
        Some("Parameter value can't nest another parameter. Do not use \"{{}}\" in the value.")
    } else {
        None
    }
}
