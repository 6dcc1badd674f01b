//! Behaviors of Parameter Store.
//!
//! The emulator itself counts versions, refuses tags beside `Overwrite`, lists only the next level of a path, and names absent parameters
//! in `InvalidParameters`. It takes any value, any number of names, any `MaxResults` and any token, reuses a name immediately, and
//! returns a token only if something is left.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::{OwnedMutexGuard, TryLockError};

use super::At;
use super::Behavior::{self, N1, N2, N3, N4, N5, N7, N8};
use super::memory::Event::ParameterDeleted;
use super::reply::Reply;
use crate::call::Call;

/// The longest value of the standard tier, in characters.
const LONGEST: usize = 4_096;
/// The maximum number of names per call, and of parameters per page.
const MOST: usize = 10;

/// Held by updates that have no answer yet.
#[derive(Default)]
pub(super) struct Parameters(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl Parameters {
    /// An update holds its parameter until it is answered, or until its caller hangs up. Until then, a second one is refused.
    pub(super) fn hold(&self, at: &At<'_>) -> Result<Option<OwnedMutexGuard<()>>, TryLockError> {
        let name = match (at.call.service.as_str(), at.call.operation.as_str()) {
            ("ssm", "PutParameter") => at.call.text("Name"),
            ("ssm", "AddTagsToResource" | "RemoveTagsFromResource") => at.call.text("ResourceId"),
            _ => None,
        };
        let Some(name) = name.filter(|_| at.is_on(N2)) else {
            return Ok(None);
        };
        let update = self.0.lock().unwrap().entry(at.call.key(name)).or_default().clone();
        update.try_lock_owned().map(Some).inspect_err(|_| at.strike(N2))
    }

    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        if let Some((behavior, why)) = invalid(at.call)
            && at.strikes_if(behavior, true)
        {
            return Some(at.refuse(400, "ValidationException", why));
        }
        match at.call.operation.as_str() {
            "GetParameter" => Some(match at.still_shown(N4, &at.call.key(at.call.text("Name")?))? {
                Value::Null => at.refuse(400, "ParameterNotFound", ""),
                shown => Reply::success(&json!({ "Parameter": shown })),
            }),
            "GetParametersByPath" => page(at).await,
            "PutParameter" | "DeleteParameter" | "DeleteParameters" if at.is_on(N4) => {
                let names = names(at.call);
                let found = at.ask("ssm", "GetParameters", &json!({ "Names": names })).await.json();
                for name in names {
                    let mut found = found["Parameters"].as_array().into_iter().flatten();
                    let shown = found.find(|shown| shown["Name"] == name).cloned().unwrap_or_default();
                    at.keep_showing(N4, &at.call.key(name), shown);
                }
                None
            }
            _ => None,
        }
    }

    pub(super) fn after(&self, at: &At<'_>, reply: &mut Reply) {
        let mut body = reply.json();
        match at.call.operation.as_str() {
            "DeleteParameter" | "DeleteParameters" => {
                let absent = body["InvalidParameters"].as_array();
                let is_absent = |name: &str| absent.is_some_and(|all| all.contains(&json!(name)));
                for name in names(at.call).into_iter().filter(|name| !is_absent(name)) {
                    at.note(ParameterDeleted, &at.call.key(name), &[N3]);
                }
            }
            "GetParameters" => {
                for name in names(at.call) {
                    let Some(shown) = at.still_shown(N4, &at.call.key(name)) else {
                        continue;
                    };
                    for list in ["Parameters", "InvalidParameters"] {
                        body[list].as_array_mut().unwrap().retain(|one| one["Name"] != name && one != name);
                    }
                    let (list, one) =
                        if shown.is_null() { ("InvalidParameters", name.into()) } else { ("Parameters", shown) };
                    body[list].as_array_mut().unwrap().push(one);
                }
                reply.set_json(&body);
            }
            _ => {}
        }
    }
}

/// The refusal of an update of a parameter that another one holds.
pub(super) fn busy(at: &At<'_>) -> Reply {
    let why = "There are concurrent updates for a resource that supports one update at a time.";
    at.refuse(400, "TooManyUpdates", why)
}

/// A page of a list, which may be late (N4) or long (N5), or begin with an empty page (N8). Its token is the number of parameters
/// on the pages before the next one.
async fn page(at: &At<'_>) -> Option<Reply> {
    if !at.is_any_on(&[N4, N5, N8]) {
        return None;
    }
    let all = late_list(at, all_pages(at).await?);
    let token = at.call.text("NextToken");
    let Ok(from) = token.map_or(Ok(0), str::parse::<usize>) else {
        return Some(at.refuse(400, "InvalidNextToken", "The specified token isn't valid."));
    };
    let (most, cause) = if token.is_none() && at.is_on(N8) { (0, N8) } else { (most(at.call), N5) };
    let mut page = json!({ "Parameters": all.iter().skip(from).take(most).collect::<Vec<_>>() });
    if cause == N8 || from + most < all.len() {
        page["NextToken"] = (from + most).to_string().into();
        at.strikes_if(cause, true);
    }
    Some(Reply::success(&page))
}

/// A list lacks new parameters, and still has those that were just deleted.
fn late_list(at: &At<'_>, mut list: Vec<Value>) -> Vec<Value> {
    for (name, shown) in at.all_still_shown(N4).into_iter().filter(|(name, _)| is_listed(at.call, name)) {
        let found = list.iter().position(|found| found["Name"] == name.as_str());
        let found = found.map(|found| list.remove(found)).unwrap_or_default();
        at.strikes_if(N4, found != shown);
        list.extend((!shown.is_null()).then_some(shown));
    }
    list.sort_by(|one, other| one["Name"].as_str().cmp(&other["Name"].as_str()));
    list
}

/// The emulator's list, without pages; nothing if it refuses.
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

/// The maximum number of parameters per page.
fn most(call: &Call) -> usize {
    let most = call.json["MaxResults"].as_u64().and_then(|most| usize::try_from(most).ok());
    most.unwrap_or(MOST)
}

/// Why Parameter Store refuses a call, regardless of its state.
fn invalid(call: &Call) -> Option<(Behavior, &'static str)> {
    let (put, value) = (&call.json, call.text("Value").unwrap_or_default());
    Some(match call.operation.as_str() {
        "PutParameter" if put["Tags"].as_array().is_some_and(|tags| !tags.is_empty()) && put["Overwrite"] == true => {
            (N1, "Invalid request: tags and overwrite can't be used together.")
        }
        "PutParameter" if value.is_empty() => {
            (N1, "1 validation error detected: 'value' must have at least 1 character.")
        }
        "PutParameter" if value.chars().count() > LONGEST => {
            (N1, "Standard tier parameters support a maximum parameter value of 4096 characters.")
        }
        "PutParameter" if value.contains("{{") => {
            (N1, "Parameter value can't nest another parameter. Do not use \"{{}}\" in the value.")
        }
        "GetParameters" | "DeleteParameters" if !(1..=MOST).contains(&names(call).len()) => {
            (N7, "1 validation error detected: 'names' must have between 1 and 10 members.")
        }
        "GetParametersByPath" if !(1..=MOST).contains(&most(call)) => {
            (N5, "1 validation error detected: 'maxResults' must be between 1 and 10.")
        }
        _ => return None,
    })
}
