//! Behaviors of Parameter Store.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Value, json};

use super::Behavior::{N1, N3, N4};
use super::reply::Reply;
use super::{At, Moments};

/// The longest value of the standard tier, in characters.
const LONGEST: usize = 4_096;

#[derive(Default)]
pub(super) struct Parameters {
    deleted: Moments,
    /// What reads showed before a write that is being made.
    writing: Mutex<HashMap<String, Option<Value>>>,
    /// What reads showed before the last write, and when that was.
    before: Mutex<HashMap<String, (Option<Value>, Instant)>>,
}

impl Parameters {
    pub(super) async fn before(&self, at: &At<'_>) -> Option<Reply> {
        let name = at.call.text("Name")?;
        let key = at.call.key(name);
        match at.call.operation.as_str() {
            "GetParameter" => {
                let before = self.before.lock().unwrap();
                let (shown, since) = before.get(&key)?;
                at.strikes_since(N4, Some(*since)).then(|| match shown {
                    Some(shown) => Reply::success(shown),
                    None => Reply::error(400, "ParameterNotFound", ""),
                })
            }
            "PutParameter" => {
                if let Some(why) = invalid(&at.call.json).filter(|_| at.is_on(N1)) {
                    at.strike(N1);
                    return Some(Reply::error(400, "ValidationException", why));
                }
                let creates = at.call.json["Overwrite"] != true;
                if creates && at.strikes_since(N3, self.deleted.of(&key)) {
                    let why = "The parameter already exists. To overwrite this value, set the overwrite option in the \
                               request to true.";
                    return Some(Reply::error(400, "ParameterAlreadyExists", why));
                }
                self.note(at, key, name).await;
                None
            }
            "DeleteParameter" => {
                self.note(at, key, name).await;
                None
            }
            _ => None,
        }
    }

    /// Notes what reads show, before a write.
    async fn note(&self, at: &At<'_>, key: String, name: &str) {
        let found = at.ask("ssm", "GetParameter", &json!({ "Name": name })).await;
        let shown = found.status.is_success().then(|| found.json());
        self.writing.lock().unwrap().insert(key, shown);
    }

    pub(super) fn after(&self, at: &At<'_>, reply: &mut Reply) {
        if !reply.status.is_success() {
            return;
        }
        match at.call.operation.as_str() {
            operation @ ("PutParameter" | "DeleteParameter") => {
                let key = at.call.key(at.call.text("Name").unwrap_or_default());
                if operation == "DeleteParameter" {
                    self.deleted.note(key.clone());
                }
                at.begin(&[N3, N4]);
                let shown = self.writing.lock().unwrap().remove(&key).flatten();
                let mut before = self.before.lock().unwrap();
                // What is shown is older than a change that is late itself.
                let late = before.get(&key).filter(|(_, since)| at.is_late(N4, Some(*since)));
                let shown = late.map_or(shown, |(shown, _)| shown.clone());
                before.insert(key, (shown, Instant::now()));
            }
            "GetParametersByPath" => self.late_list(at, reply),
            _ => {}
        }
    }

    /// A list lacks what is new, and has what was just deleted.
    fn late_list(&self, at: &At<'_>, reply: &mut Reply) {
        let mut body = reply.json();
        let Some(list) = body["Parameters"].as_array_mut() else {
            return;
        };
        let (path, place) = (at.call.text("Path").unwrap_or_default(), at.call.key(""));
        for (key, (shown, since)) in self.before.lock().unwrap().iter() {
            let name = key.strip_prefix(&place).filter(|name| name.starts_with(path));
            let Some(name) = name.filter(|_| at.is_late(N4, Some(*since))) else {
                continue;
            };
            let count = list.len();
            list.retain(|found| found["Name"] != name);
            list.extend(shown.iter().map(|shown| shown["Parameter"].clone()));
            if list.len() != count {
                at.strike(N4);
            }
        }
        reply.set_json(&body);
    }
}

/// Why Parameter Store refuses a write, whatever the state of the parameter.
fn invalid(put: &Value) -> Option<&'static str> {
    let value = put["Value"].as_str().unwrap_or_default();
    let has_tags = put["Tags"].as_array().is_some_and(|tags| !tags.is_empty());
    if has_tags && put["Overwrite"] == true {
        Some("Invalid request: tags and overwrite can't be used together.")
    } else if value.chars().count() > LONGEST {
        Some("Standard tier parameters support a maximum parameter value of 4096 characters.")
    } else if value.contains("{{") {
        Some("Parameter value can't nest another parameter. Do not use \"{{}}\" in the value.")
    } else {
        None
    }
}
